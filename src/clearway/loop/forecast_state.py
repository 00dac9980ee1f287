"""How the state changes by forecasts, and the runs that are over, from which whoever forecasts learns."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any

from clearway.loop import sizing
from clearway.model import events as ev
from clearway.model.states import End
from clearway.ports.forecaster import Run, known_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from clearway.loop.entry import JobEntry
    from clearway.loop.state import WorldState

MOST_RUNS = 4096
"""So many runs are kept, and learnt from anew by a controller that takes over."""
WHOLE = frozenset({End.SUCCEEDED, End.FAILED})
"""Ends that a job came to by itself: it would not have run longer."""


class Runs:
    """The last runs that are over. `count`: how many there have ever been."""

    def __init__(self) -> None:
        """Begin with none."""
        self.kept: deque[Run] = deque(maxlen=MOST_RUNS)
        self.count = 0

    def add(self, run: Run) -> None:
        """Take note of one that has just ended."""
        self.kept.append(run)
        self.count += 1

    def behind(self, count: int) -> Iterable[Run]:
        """Return those that came after the first `count`, the oldest first, as far as they are kept."""
        first = max(len(self.kept) - (self.count - count), 0)
        return islice(self.kept, first, None)

    def put_back(self, runs: Iterable[Run], count: int) -> None:
        """Know these, the last of so many."""
        self.kept.extend(runs)
        self.count = count


def count_run(state: WorldState, entry: JobEntry, record: ev.AttemptEnded) -> None:
    """Take note of the run that an attempt was, with what earlier ones had kept."""
    ran_us = entry.run_us(record.at_us)
    if ran_us > 0:
        known = known_of(sizing.asked(entry), entry.submitted_us)
        said = state.view.forecasts.said.get(entry.id)
        took, whole, good = tuple(entry.took.values()), record.end in WHOLE, record.end is End.SUCCEEDED
        run = Run(known, entry.kept_us + ran_us, record.at_us, whole, said, took, good, entry.id, state.next_job - 1)
        state.runs.add(run)


def _forecasted(state: WorldState, record: ev.Forecasted) -> None:
    state.view.forecasts.said[record.job] = record.forecast


def _progressed(state: WorldState, record: ev.Progressed) -> None:
    """Expect an attempt to end by what it told, where the rules go by forecasts."""
    view = state.view
    view.forecasts.progressed[record.job] = record
    running = view.running.get(record.job)
    if view.forecasts.level and running is not None and not running.stopping:
        entry = state.jobs[record.job]
        view.ends.estimate(entry.id, view.forecasts.bound_us(entry.id, entry.spec))
        if view.reservations:
            view.ledger.gained.update(grant.node for grant in entry.held.values())
            view.promises_changed = True


APPLY: dict[type, Callable[[Any, Any], None]] = {ev.Forecasted: _forecasted, ev.Progressed: _progressed}
