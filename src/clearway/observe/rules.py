"""What a rule did without being asked, for the list of changes: whom it stopped and why, which policy it took back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway.model import events as ev
from clearway.model.policy_events import RolledBack
from clearway.model.reasons import Code
from clearway.model.values import SECOND_US
from clearway.observe.moments import iso, said

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.ports.observer import Heard

BY_RULE = {Code.IDLE_GPUS: "the idle rule", Code.BUDGET: "the rule of budgets"}
"""In whose name something is done for this cause."""


class Rules:
    """A watcher (`ports.Observer`): hands a line for each job that a rule stops to `tell`, which is given later."""

    def __init__(self) -> None:
        """Tell nobody yet."""
        self.tell: Callable[[dict[str, Any]], None] = _nobody

    def begin(self) -> None:
        """Nothing of the past is told again: it is in the list."""

    def hear(self, turn: Heard) -> None:
        """Tell of a turn."""
        for record in turn.records:
            if isinstance(record, ev.Stopping) and record.cause.code in BY_RULE:
                about = {"job": record.job, "attempt": record.attempt, "cause": said(record.cause)}
                self.tell(
                    {
                        "at": iso(record.at_us), "who": BY_RULE[record.cause.code], "role": "rule", "via": "controller",
                        "address": None, "method": "STOP", "path": f"/api/v1/jobs/id:{record.job}", "status": 200,
                        "about": about,
                    }
                )  # fmt: skip
            elif isinstance(record, RolledBack) and record.worse is not None:
                worse = record.worse
                about = {
                    "policy": record.name, "tenant": worse.tenant, "jobs": worse.jobs,
                    "wait_s": worse.wait_us / SECOND_US, "would_s": worse.would_us / SECOND_US,
                }  # fmt: skip
                self.tell(
                    {
                        "at": iso(record.at_us), "who": "the guard", "role": "rule", "via": "controller",
                        "address": None, "method": "ROLLBACK", "path": "/api/v1/policy", "status": 200, "about": about,
                    }
                )  # fmt: skip


def _nobody(_: dict[str, Any]) -> None:
    """Tell nobody."""
