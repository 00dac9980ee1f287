"""The past runs of jobs that are alike, as masses on the grid in two memories: one of all runs, one that fades."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from clearway.forecast.grid import BINS, REACH, ROWS, SPREAD, Masses

RECENT = 64
"""So many last runs are kept one by one, to tell what was known at an earlier moment."""
FADES = 0.5 ** (1 / 25)  # the fading memory has forgotten half after 25 runs
PARENT_RUNS, STEADY_RUNS = 4.0, 3.0
"""For so many runs the wider group speaks in a narrow one, and the steady memory in the fading one."""
LARGEST = 1e12
MEAN_OF = 4


class Group:
    """Past runs. The fading memory is kept multiplied by `scale`, which grows, so that adding touches few numbers."""

    __slots__ = ("bins", "count", "ends_us", "faded", "faded_held", "held", "masses", "scale", "weights")

    def __init__(self) -> None:
        """Begin with no runs."""
        self.masses, self.faded = np.zeros(BINS), np.zeros(BINS)
        self.count, self.scale = 0, 1.0
        self.held = self.faded_held = 0.0
        self.ends_us: list[int] = []
        self.bins: list[int] = []
        self.weights: list[float] = []

    def add(self, at_us: int, place: int, row: Masses | None = None, weight: float = 1.0) -> None:
        """Take in a run that ended at a moment in a bin; `row` are its masses where it is known only in part."""
        self.scale /= FADES
        if row is None and REACH <= place < BINS - REACH:
            around = slice(place - REACH, place + REACH + 1)
            self.masses[around] += _SPREAD * weight
            self.faded[around] += _SPREAD * (self.scale * weight)
        else:
            row = ROWS[place] if row is None else row
            self.masses += row * weight
            self.faded += row * (self.scale * weight)
        self.count += 1
        self.held += weight
        self.faded_held = self.faded_held * FADES + weight
        if self.scale > LARGEST:
            self.faded /= self.scale
            self.scale = 1.0
        self.ends_us.append(max(at_us, self.ends_us[-1]) if self.ends_us else at_us)
        self.bins.append(place)
        self.weights.append(weight)
        if len(self.bins) > 2 * RECENT:
            del self.bins[:RECENT], self.ends_us[:RECENT], self.weights[:RECENT]

    def steady(self, parent: Masses) -> Masses:
        """Return the distribution by all runs."""
        return (self.masses + parent * PARENT_RUNS) / (self.held + PARENT_RUNS)

    def fading(self, steady: Masses) -> Masses:
        """Return the distribution by newer runs."""
        return (self.faded / self.scale + steady * STEADY_RUNS) / (self.faded_held + STEADY_RUNS)

    def centers(self, until: int | None = None) -> tuple[int, int] | None:
        """Return the bin of the last run and the mean bin of the last few, of the first `until` that are kept."""
        until = len(self.bins) if until is None else until
        last = self.bins[max(until - MEAN_OF, 0) : until]
        return (last[-1], round(sum(last) / len(last))) if last else None

    def before(self, at_us: int) -> int:
        """Return how many of the runs kept one by one had ended by a moment."""
        return bisect_right(self.ends_us, at_us)


_SPREAD = np.array(SPREAD)


class Then:
    """What a group said of one bin at an earlier moment: `steady` and `fading` chances, after `count` runs."""

    __slots__ = ("count", "fading", "kept", "steady")

    def __init__(self, group: Group, at_us: int, place: int, parent: float) -> None:
        """Leave out the runs that have ended since, as far as they are kept one by one."""
        self.kept = group.before(at_us)
        self.count = group.count - len(group.bins) + self.kept
        mass, held = float(group.masses[place]), group.held
        faded, faded_held, factor = float(group.faded[place]) / group.scale, group.faded_held, 1.0
        since = slice(self.kept, None)
        for other, weight in zip(reversed(group.bins[since]), reversed(group.weights[since]), strict=True):
            part = weight * SPREAD[other - place + REACH] if -REACH <= other - place <= REACH else 0.0
            mass, held = mass - part, held - weight
            faded, faded_held = faded - factor * part, faded_held - factor * weight
            factor *= FADES
        self.steady = (max(mass, 0.0) + parent * PARENT_RUNS) / (max(held, 0.0) + PARENT_RUNS)
        faded, faded_held = max(faded, 0.0) / factor, max(faded_held, 0.0) / factor
        self.fading = (faded + self.steady * STEADY_RUNS) / (faded_held + STEADY_RUNS)
