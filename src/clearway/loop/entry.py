"""What the loop knows of one job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.model.states import End, State

if TYPE_CHECKING:
    from clearway.core.swaps import Swaps
    from clearway.model.events import Grant, Stopping
    from clearway.model.ids import ClassId, JobId
    from clearway.model.job import JobSpec
    from clearway.model.needs import Need, Took
    from clearway.model.reasons import Reason

TaskKey = tuple[int, int]  # role, index

OWN_FAILURES = frozenset({End.FAILED, End.TIMED_OUT})
"""Ends that count against `max_retries`."""


class JobEntry:
    """A job that is not over, or one that just ended. Changed only by applying records."""

    __slots__ = (
        "after", "array", "attained", "attempt", "cls", "ended_us", "errors", "exit_codes", "first_started_us",
        "floor", "gate", "grants", "heir", "held", "holder", "id", "idle", "intent", "kept_us", "leaving", "losses",
        "lost_on", "needs", "not_before_us", "oom", "paused_us", "preempted_us", "rate", "rate_since_us", "reason",
        "reasons", "result", "retries", "served_us", "spec", "spent", "started_us", "state", "stood_still",
        "stood_still_us", "submitted_us", "swaps", "took", "up", "waiting_since_us", "warned", "yielded_to",
    )  # fmt: skip

    def __init__(self, number: JobId, spec: JobSpec, submitted_us: int, after: tuple[JobId, ...]) -> None:
        """Begin pending."""
        self.id, self.spec, self.submitted_us = number, spec, submitted_us
        self.after: set[JobId] = set(after)
        self.array: JobId | None = None  # the array that it is a job of
        self.state = State.PENDING
        self.attempt = 0
        self.retries = 0
        self.losses = 0
        self.not_before_us = 0
        self.preempted_us: int | None = None
        self.yielded_to: JobId | None = None
        self.swaps: Swaps = ()
        self.holder: str | None = None
        self.heir: tuple[int, str] = (spec.priority, spec.name)
        self.floor: tuple[int, str] | None = None
        self.gate = ""
        self.spent = self.rate = self.rate_since_us = 0
        self.attained = self.kept_us = self.served_us = 0
        self.waiting_since_us = submitted_us
        self.first_started_us: int | None = None
        self.ended_us: int | None = None
        self.reason: Reason | None = None
        self.reasons: tuple[Reason, ...] = ()
        self.cls: ClassId | None = None
        self.needs: tuple[Need, ...] = ()  # where it is thought to need other amounts than it asks for
        self.grants: tuple[Grant, ...] = ()
        self.held: dict[TaskKey, Grant] = {}
        self.begin(0, (), 0)

    def begin(self, attempt: int, grants: tuple[Grant, ...], at_us: int) -> None:
        """Begin an attempt with these grants."""
        self.attempt, self.grants, self.started_us = attempt, grants, at_us
        self.held = {(g.role, g.index): g for g in grants}
        self.up: set[TaskKey] = set()
        self.leaving: set[TaskKey] = set()
        self.exit_codes: dict[TaskKey, int | None] = {}
        self.errors: list[str] = []
        self.oom = False
        self.took: dict[int, Took] = {}  # by the number of its role
        self.result = ""
        self.intent: Stopping | None = None
        self.lost_on = ""
        self.paused_us: int | None = None
        self.idle: dict[TaskKey, int] = {}  # its tasks whose devices do nothing, and since when
        self.warned = False
        self.stood_still = False
        self.stood_still_us = 0

    def run_us(self, now_us: int) -> int:
        """Return how long the attempt has been running, without the time it stood still."""
        still = self.stood_still_us + (now_us - self.paused_us if self.paused_us is not None else 0)
        return now_us - self.started_us - still
