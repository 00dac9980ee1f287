"""How good ETAs were: what would have been said of starts at moments of the past, from what was known then.

Nothing of what came later is known to whoever says: the world is as it was, and runs forward on drawn run times.
"""

from __future__ import annotations

from statistics import fmean, median
from typing import TYPE_CHECKING, NamedTuple

from clearway.model.events import Ended, Started
from clearway.model.states import State
from clearway.whatif.eta import SAMPLES, etas

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clearway.loop.entry import JobEntry
    from clearway.loop.world import World
    from clearway.model.events import Record
    from clearway.model.ids import JobId
    from clearway.model.outlook import Eta

MOST_ASKED = 20
"""Of so many waiting jobs is asked at a moment: spread evenly over all who wait, by how long they have."""


class Asked(NamedTuple):
    """What was said of the start of a job that waited at a moment; by its place in its queue, None: nothing has run."""

    at_us: int
    eta: Eta
    by_place_us: int | None


class Starts(NamedTuple):
    """How starts came out. Times in microseconds; `within` counts starts inside the interval that is to hold 80 %.

    `error_us` is the median distance of the median from the start, `place_error_us` that of a job's place in its queue
    times the mean run time, of the same asks; None where nothing was judged.
    """

    moments: int
    judged: int
    within: int
    error_us: int | None
    place_error_us: int | None
    wait_us: int | None


class StartsForeseen:
    """Asks about those who wait, at moments that whoever has the records chooses, and hears of what came."""

    def __init__(self, samples: int = SAMPLES) -> None:
        """Begin with nothing asked; an ETA is of so many samples."""
        self._samples = samples
        self._open: dict[JobId, list[Asked]] = {}
        self._judged: list[tuple[Asked, int]] = []
        self.moments = 0

    def ask(self, world: World, now_us: int, goes_on: Callable[[], bool]) -> None:
        """Ask about some of those who wait in line now. Nothing is asked once `goes_on` says no."""
        waiting = [e for e in world.jobs.values() if e.state is State.PENDING and e.cls is not None]
        waiting.sort(key=lambda entry: (entry.submitted_us, entry.id))
        some = waiting[:: max(-(-len(waiting) // MOST_ASKED), 1)]
        found = etas(world, [entry.id for entry in some], now_us, self._samples, goes_on) if some else {}
        if not found:
            return
        self.moments += 1
        runs = world.state.runs.kept
        mean_us = round(fmean(run.ran_us for run in runs)) if runs else None
        for entry in some:
            by_place = None if mean_us is None else _place(entry, waiting) * mean_us
            self._open.setdefault(entry.id, []).append(Asked(now_us, found[entry.id], by_place))

    def hear(self, record: Record) -> None:
        """Take note of what came."""
        if isinstance(record, Started):
            self._judged += [(asked, record.at_us) for asked in self._open.pop(record.job, ())]
        elif isinstance(record, Ended):
            self._open.pop(record.job, None)  # it was cancelled: nobody knows when it would have started

    def close(self, until_us: int) -> Starts:
        """Judge what was said. A job that waits still has not started when its interval ended before that."""
        late = [asked for every in self._open.values() for asked in every if _late(asked, until_us)]
        within = sum(_within(asked, start_us) for asked, start_us in self._judged)
        told = [(asked, at_us) for asked, at_us in self._judged if asked.eta.median_us is not None]
        placed = [(asked, at_us) for asked, at_us in told if asked.by_place_us is not None]
        return Starts(
            self.moments,
            len(self._judged) + len(late),
            within,
            _median([abs((asked.eta.median_us or 0) - at_us) for asked, at_us in placed]),
            _median([abs(asked.at_us + (asked.by_place_us or 0) - at_us) for asked, at_us in placed]),
            _median([at_us - asked.at_us for asked, at_us in placed]),
        )


def _place(entry: JobEntry, waiting: Sequence[JobEntry]) -> int:
    """Return the how manieth a job is in its queue."""
    mine = (entry.submitted_us, entry.id)
    return sum(1 for one in waiting if one.spec.queue == entry.spec.queue and (one.submitted_us, one.id) <= mine)


def _within(asked: Asked, start_us: int) -> bool:
    low, high = asked.eta.low_us, asked.eta.high_us
    return low is not None and low <= start_us and (high is None or start_us <= high)


def _late(asked: Asked, until_us: int) -> bool:
    return asked.eta.high_us is not None and asked.eta.high_us < until_us


def _median(values: list[int]) -> int | None:
    return round(median(values)) if values else None
