"""What is counted and timed of what happens, for Prometheus. docs/metrics.md says what each means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.model import events as ev
from clearway.model.flow_events import Reopened
from clearway.model.forecast import HALF
from clearway.model.states import End, State
from clearway.model.values import SECOND_US
from clearway.observe.pace import Pace
from clearway.observe.tallies import Count, Tallies, Times

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from prometheus_client import CollectorRegistry

    from clearway.control import Board
    from clearway.model.ids import JobId
    from clearway.ports.observer import Heard

MOST_NAMES = 200
"""So many queues or models have series of their own; those that come later are counted together as OTHERS."""
OTHERS = "(others)"
WAITS_S = (0.1, 1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 12 * 3600, 24 * 3600, 3 * 24 * 3600, 7 * 24 * 3600)
STEPS_S = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)
RATIOS = (0.1, 0.25, 0.5, 0.75, 0.9, 1, 1.1, 1.25, 1.5, 2, 4, 10)


class Names:
    """Bounds what users may name: the first MOST_NAMES are themselves, the others OTHERS."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def __call__(self, name: str) -> str:
        """Return the name under which something is counted."""
        if name in self._known:
            return name
        if len(self._known) >= MOST_NAMES:
            return OTHERS
        self._known.add(name)
        return name


class _Live:
    """What is known of a job that is not over."""

    __slots__ = ("estimate_us", "forecast_us", "queue", "since_us", "started_us")

    def __init__(self, queue: str, since_us: int, estimate_us: int | None = None) -> None:
        self.queue, self.since_us, self.estimate_us, self.started_us = queue, since_us, estimate_us, 0
        self.forecast_us = 0


class Meter:
    """Counts what it hears. A watcher (`ports.Observer`) for the thread of `Ears`."""

    def __init__(self, registry: CollectorRegistry, board: Board) -> None:
        """Register with `registry`; `board` says which jobs there are at the beginning."""
        self._board, self._queue = board, Names()
        self._jobs: dict[JobId, _Live] = {}
        self.pace = Pace()
        self._decide = _times("decision_seconds", "Taking a turn: what came in, what follows, what is decided", STEPS_S)
        self._commit = _times("commit_seconds", "Writing the records of a turn to the journal", STEPS_S)
        self._wait = _times("job_wait_seconds", "From submit or requeue to the start of an attempt", WAITS_S, "queue")
        self._ratio = _times("estimate_ratio", "Run time that led to success over what was foreseen", RATIOS, "source")
        self._cycles = _count("cycles", "Cycles that changed something")
        self._submitted = _count("jobs_submitted", "Jobs that entered", "queue")
        self._refused = _count("jobs_refused", "Jobs that were refused at the door")
        self._ended = _count("jobs_ended", "Jobs that are over", "queue", "state")
        self._attempts = _count("attempts_ended", "Attempts that are over", "end")
        self._preemptions = _count("preemptions", "Attempts stopped for another job's sake", "cause")
        self._lost = _count("nodes_lost", "Nodes whose lease ran out")
        tallies = (self._decide, self._commit, self._wait, self._ratio, self._cycles, self._submitted, self._refused)
        registry.register(Tallies(*tallies, self._ended, self._attempts, self._preemptions, self._lost))
        self._on: dict[type, Callable[[Any], None]] = {
            ev.Forecasted: self._forecasted,
            ev.Submitted: self._submitted_, ev.Refused: self._refused_, ev.Started: self._started,
            ev.Requeued: self._requeued, ev.Stopping: self._stopping, ev.AttemptEnded: self._attempt_ended,
            ev.Ended: self._ended_, ev.Changed: self._changed, ev.Planned: self._planned, ev.NodeLost: self._node_lost,
            Reopened: self._reopened,
        }  # fmt: skip

    def begin(self) -> None:
        """Know the jobs that there are."""
        for row in self._board.jobs.values():
            if not row.over and row.progress is None:
                live = self._jobs[row.id] = _Live(row.queue, row.stopped_us or row.submitted_us)
                live.started_us = row.started_us or 0

    def hear(self, turn: Heard) -> None:
        """Count a turn."""
        self._decide.add(turn.decide_us / SECOND_US)
        self.pace.hear(turn)
        self._commit.add(turn.commit_us / SECOND_US)
        for record in turn.records:
            known = self._on.get(type(record))
            if known is not None:
                known(record)

    # --- one method per kind of record ---

    def _submitted_(self, r: ev.Submitted) -> None:
        if r.spec.array is None:
            self._submitted.add(self._queue(r.spec.queue))
            since_us = r.since_us if r.array else r.at_us
            self._jobs[r.job] = _Live(r.spec.queue, since_us, r.spec.estimate_us)

    def _forecasted(self, r: ev.Forecasted) -> None:
        live = self._jobs.get(r.job)
        if live is not None:
            live.forecast_us = r.forecast.at(HALF)

    def _refused_(self, _: ev.Refused) -> None:
        self._refused.add()

    def _started(self, r: ev.Started) -> None:
        live = self._jobs.get(r.job)
        if live is not None:
            live.started_us = r.at_us
            self._wait.add((r.at_us - live.since_us) / SECOND_US, self._queue(live.queue))

    def _requeued(self, r: ev.Requeued) -> None:
        live = self._jobs.get(r.job)
        if live is not None:
            live.since_us = r.at_us

    def _stopping(self, r: ev.Stopping) -> None:
        if r.end is End.PREEMPTED:
            self._preemptions.add(str(r.cause.get("cause") or r.cause.code))

    def _attempt_ended(self, r: ev.AttemptEnded) -> None:
        self._attempts.add(r.end.value)
        live = self._jobs.get(r.job)
        if live is not None and live.estimate_us and r.end is End.SUCCEEDED:
            self._ratio.add((r.at_us - live.started_us) / live.estimate_us, "stated")
        if live is not None and live.forecast_us and r.end is End.SUCCEEDED:
            self._ratio.add((r.at_us - live.started_us) / live.forecast_us, "forecast")

    def _ended_(self, r: ev.Ended) -> None:
        live = self._jobs.pop(r.job, None)
        if live is not None:
            self._ended.add(self._queue(live.queue), State(r.state).value)

    def _changed(self, r: ev.Changed) -> None:
        if r.job in self._jobs:
            self._jobs[r.job].queue = r.spec.queue

    def _reopened(self, r: Reopened) -> None:
        self._jobs[r.job] = _Live(r.spec.queue, r.at_us, r.spec.estimate_us)

    def _planned(self, _: ev.Planned) -> None:
        self._cycles.add()

    def _node_lost(self, _: ev.NodeLost) -> None:
        self._lost.add()


def _count(name: str, meaning: str, *labels: str) -> Count:
    return Count(f"clearway_{name}", meaning, *labels)


def _times(name: str, meaning: str, bounds: tuple[float, ...], *labels: str) -> Times:
    return Times(f"clearway_{name}", meaning, bounds, *labels)
