"""How run times came out beside what was said of them, by the records of a journal, and what rivals would have said."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from clearway.forecast.rivals import Rivals
from clearway.model.events import AttemptEnded, Ended, Forecasted
from clearway.ports.forecaster import known_of

if TYPE_CHECKING:
    from clearway.forecast.rivals import Quantiles
    from clearway.loop.entry import JobEntry
    from clearway.loop.world import World
    from clearway.model.events import Record
    from clearway.model.ids import JobId
    from clearway.ports.forecaster import Run


class Foreseen(NamedTuple):
    """A run that is over, whose it was, and what rivals would have said when it was forecast."""

    run: Run
    tenant: str
    rivals: dict[str, Quantiles]


class ForeseenRuns:
    """A fold over records: the world moves on with it, and the runs are kept whose forecast was made since it began."""

    def __init__(self, world: World) -> None:
        """Begin with a world, whose last runs the rivals learn."""
        self.world = world
        self.runs: list[Foreseen] = []
        self._rivals = Rivals()
        self._said: dict[JobId, dict[str, Quantiles]] = {}
        for run in world.state.runs.kept:
            self._rivals.learn(run.known, run.ran_us)

    def apply(self, record: Record) -> None:
        """Take the next record."""
        state, before = self.world.state, self.world.state.runs.count
        entry = self.world.jobs.get(record.job) if isinstance(record, AttemptEnded | Forecasted) else None
        self.world.apply(record)
        if isinstance(record, Ended):
            self._said.pop(record.job, None)
        elif isinstance(record, Forecasted) and entry is not None:
            self._said[entry.id] = self._rivals.say(known_of(entry.spec, entry.submitted_us))
        elif entry is not None and state.runs.count > before:
            self._over(state.runs.kept[-1], entry)

    def _over(self, run: Run, entry: JobEntry) -> None:
        rivals = self._said.get(entry.id)
        if rivals is not None and run.said is not None:
            self.runs.append(Foreseen(run, entry.spec.tenant, rivals))
        if run.whole:
            self._rivals.learn(run.known, run.ran_us)
