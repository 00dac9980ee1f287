"""What is worth a notice: moves of jobs, deadlines at risk, GPUs that idle while jobs wait, trouble of the controller.

A notice of a record has that record's number in its id, so that one which is told twice is seen to be the same.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from clearway.forecast import RunTimes
from clearway.model import events as ev
from clearway.model import policy_events as pe
from clearway.model.forecast import HALF
from clearway.model.job import WHOLE
from clearway.model.states import End, State
from clearway.model.values import SECOND_US
from clearway.observe.devices import split
from clearway.observe.moments import iso, said
from clearway.observe.odd import ODD, odd_jobs
from clearway.observe.policy_words import policy_told

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.control import Controller, JobRow
    from clearway.model.forecast import Forecast
    from clearway.model.ids import JobId
    from clearway.model.job import JobSpec
    from clearway.model.reasons import Reason
    from clearway.ports.journal import Journal
    from clearway.ports.observer import Heard

WASTE_AFTER_US = 1800 * SECOND_US
"""So long GPUs must have been idle while jobs wait, without a break, before that is told."""
_ENDS = {End.PREEMPTED: "preempted", End.EVICTED: "evicted", End.LOST: "lost", End.TIMED_OUT: "timed_out"}
_OVER = {State.SUCCEEDED: "succeeded", State.FAILED: "failed", State.CANCELLED: "cancelled"}


class OfJob(msgspec.Struct, frozen=True):
    """Which job a notice is about."""

    id: int
    name: str
    queue: str
    user: str


class Notice(msgspec.Struct, frozen=True):
    """One thing to be told, once or more often: `id` is the same each time."""

    id: str
    kind: str
    at: str
    title: str
    text: str
    job: OfJob | None = None


class _Due(NamedTuple):
    deadline_us: int
    estimate_us: int
    told: frozenset[str] = frozenset()
    said: Forecast | None = None

    def lasts_us(self, ran_us: int) -> int:
        """Return how long the job is expected to run that has run so long: as its user says, else as forecast."""
        if self.estimate_us or self.said is None:
            return self.estimate_us
        return self.said.given(ran_us, HALF) if ran_us else self.said.at(HALF)


class Noticing:
    """A watcher (`ports.Observer`): hands notices to `tell`; `look` is called now and then, from another thread.

    `done` is told up to which record all is handed over, and `since` says so of an earlier controller, None: of none.
    """

    def __init__(
        self, seed: str, journal: Journal, tell: Callable[[Notice], None], since: int | None,
        done: Callable[[int], None],
    ) -> None:  # fmt: skip
        """`seed` tells the ids of journals apart."""
        self._seed, self._journal, self._tell, self._since, self._done = seed, journal, tell, since, done
        self._lock = Lock()
        self._due: dict[JobId, _Due] = {}
        self._idle_since_us: int | None = None
        self._waste_told = False
        self._trouble = ""
        self._differences = 0
        self._odd: dict[tuple[JobId, int], frozenset[str]] = {}
        self._drifted = False
        self.controller: Controller | None = None
        self.ready: Callable[[], None] = _nothing

    def begin(self) -> None:
        """Know the deadlines of the jobs that there are."""
        world = self._driver.world
        with self._lock:
            for entry in world.jobs.values():
                self._expect(entry.id, entry.spec)
        self.ready()

    def hear(self, turn: Heard) -> None:
        """Hand over what follows from a turn, and first from those that nobody heard, of an earlier controller too."""
        number = turn.last - len(turn.records)
        if self._since is not None and self._since < number:
            for entry in self._journal.read(max(self._since, self._journal.floor())):
                if entry.number > number:
                    break
                self._take(entry.number, entry.record)
        for record in turn.records:
            number += 1
            self._take(number, record)
        self._since = turn.last
        self._done(turn.last)

    def look(self) -> None:
        """Hand over what follows from time alone."""
        with self._lock:
            due = list(self._due.items())
        for job, one in due:
            self._look_at(job, one)
        self._look_for_odd_jobs()
        self._look_for_drift()
        self._look_for_waste()
        self._look_for_trouble()

    @property
    def _driver(self) -> Controller:
        if self.controller is None:
            raise RuntimeError("the controller is not known yet")
        return self.controller

    # --- what records say ---

    def _take(self, number: int, record: ev.Record) -> None:
        match record:
            case ev.Submitted() | ev.Changed():
                with self._lock:
                    self._expect(record.job, record.spec)
            case ev.Forecasted():
                with self._lock:
                    if record.job in self._due:
                        self._due[record.job] = self._due[record.job]._replace(said=record.forecast)
            case ev.Started():
                self._of_job(number, record.at_us, "started", record.job, f"attempt {record.attempt}", record.cause)
            case ev.AttemptEnded() if record.end in _ENDS:
                what = f"attempt {record.attempt} ended"
                self._of_job(number, record.at_us, _ENDS[record.end], record.job, what, record.cause)
            case ev.Ended() if record.state in _OVER:
                with self._lock:
                    self._due.pop(record.job, None)
                self._of_job(number, record.at_us, _OVER[record.state], record.job, "", record.reason)
            case ev.IdleWarned():
                what = f"all its devices have done nothing since {iso(record.since_us, 'seconds')}"
                self._of_job(number, record.at_us, "idle", record.job, what, None)
            case ev.BudgetNoticed() | ev.BudgetUsedUp():
                up = isinstance(record, ev.BudgetUsedUp)
                title = f"budget {record.name} is used up" if up else f"budget {record.name} is nearly used up"
                text = (
                    "what counts for it does not start before its next period"
                    if up
                    else "the page Waste tells how it stands"
                )
                self._say(f"{number}", "budget", record.at_us, title, text)
            case ev.NodeLost():
                name = self._driver.board.node_names.get(record.node, f"node {record.node}")
                self._say(f"{number}", "trouble", record.at_us, f"node {name} is lost", "its lease ran out")
            case pe.Promoted() | pe.RolledBack() | pe.GuardEnded():
                by_guard = isinstance(record, pe.RolledBack) and record.worse is not None
                self._say(f"{number}", "trouble" if by_guard else "policy", record.at_us, *policy_told(record))
            case _:
                pass

    def _expect(self, job: JobId, spec: JobSpec) -> None:
        if spec.deadline_us is not None and spec.array is None:
            known = self._due.get(job, _Due(0, 0))
            self._due[job] = known._replace(deadline_us=spec.deadline_us, estimate_us=spec.estimate_us or 0)

    def _of_job(self, number: int, at_us: int, kind: str, job: JobId, what: str, cause: Reason | None) -> None:
        row = self._driver.board.jobs.get(job)
        if row is None:
            return  # of an array: told for the array as a whole
        words = "; ".join(part for part in (what, "" if cause is None else said(cause)) if part)
        self._say(f"{number}", kind, at_us, f"job {row.name} ({row.id}): {kind.replace('_', ' ')}", words, row)

    # --- what time says ---

    def _look_at(self, job: JobId, one: _Due) -> None:
        row, now_us = self._driver.board.jobs.get(job), self._driver.now_us()
        if row is None or row.over:
            return
        begins_us = row.started_us if row.started_us and row.state is not State.PENDING else row.promised_us or now_us
        begins_us = max(begins_us, now_us if row.state is State.PENDING else 0)
        ends_us = max(now_us, begins_us + one.lasts_us(max(now_us - begins_us, 0)))
        kind = "missed" if now_us > one.deadline_us else "at risk" if ends_us > one.deadline_us else ""
        if not kind or kind in one.told:
            return
        with self._lock:
            if job in self._due:
                self._due[job] = one._replace(told=one.told | {kind})
        title = f"job {row.name} ({row.id}): deadline {kind}"
        words = f"it is to be over by {iso(one.deadline_us, 'seconds')}"
        if kind == "at risk":
            words += f", and is expected to be at {iso(ends_us, 'seconds')}"
        self._say(f"deadline-{job}-{kind.replace(' ', '-')}", "deadline", now_us, title, words, row)

    def _look_for_odd_jobs(self) -> None:
        """Tell of each attempt once that it runs far too long, and once that it goes on no more."""
        world, now_us = self._driver.world, self._driver.now_us()
        rows = {(row.id, row.attempt): row for row in list(self._driver.board.jobs.values()) if row.grants}
        self._odd = {key: kinds for key, kinds in self._odd.items() if key in rows}
        for row, odd in odd_jobs(world, rows.values(), now_us):
            key = (row.id, row.attempt)
            told = self._odd.get(key, frozenset())
            if odd.kind not in told:
                self._odd[key] = told | {odd.kind}
                title = f"job {row.name} ({row.id}): {ODD[odd.kind]}"
                self._say(f"{odd.kind}-{row.id}-{row.attempt}", odd.kind, now_us, title, odd.text, row)

    def _look_for_drift(self) -> None:
        """Tell once that run times are no longer what they were; again only after they have been foreseen as before."""
        forecasting = self._driver.world.forecasting
        forecaster = None if forecasting is None else forecasting.forecaster
        if not isinstance(forecaster, RunTimes):
            return
        if forecaster.drifted and not self._drifted:
            now_us, self._drifted = self._driver.now_us(), True
            words = "the last fifty or so were held for less than half as likely as usual; newer runs take over"
            self._say(f"drift-{forecaster.runs}", "drift", now_us, "run times have drifted from their forecasts", words)
        elif forecaster.settled:
            self._drifted = False

    def _look_for_waste(self) -> None:
        board, now_us = self._driver.board, self._driver.now_us()
        idle = sum(split(row).idle for row in list(board.nodes.values())) // WHOLE
        waiting = sum(row.pending for row in list(board.queues.values()))
        if not idle or not waiting:
            self._idle_since_us, self._waste_told = None, False
            return
        self._idle_since_us = self._idle_since_us or now_us
        if now_us - self._idle_since_us >= WASTE_AFTER_US and not self._waste_told:
            self._waste_told = True
            minutes = (now_us - self._idle_since_us) // (60 * SECOND_US)
            words = f"{idle} GPUs have been idle for {minutes} minutes while {waiting} jobs wait"
            self._say(f"waste-{self._idle_since_us}", "waste", now_us, "GPUs are idle while jobs wait", words)

    def _look_for_trouble(self) -> None:
        health, audited, now_us = self._driver.health(), self._driver.audited, self._driver.now_us()
        trouble = health.text or ("" if health.state in ("up", "starting") else health.state)
        if trouble and trouble != self._trouble:
            self._say(f"trouble-{now_us}", "trouble", now_us, f"the controller is {health.state}", trouble)
        self._trouble = trouble
        found = sum(many for _, many in audited.found)
        if found > self._differences:
            title = "the controller found that its books differ, and repaired them"
            self._say(f"differences-{now_us}", "trouble", now_us, title, audited.last)
        self._differences = found

    def _say(self, key: str, kind: str, at_us: int, title: str, text: str, row: JobRow | None = None) -> None:
        of = None if row is None else OfJob(row.id, row.name, row.queue, row.user)
        self._tell(Notice(f"{self._seed}-{key}", kind, iso(at_us), title, text, of))


def _nothing() -> None:
    """Start nothing."""
