"""How far run times fall from what was pointed at: by which ratio, learnt from all who were pointed at like this."""

from __future__ import annotations

import numpy as np

from clearway.forecast.grid import BINS, Masses

FADES = 0.999
LARGEST = 1e12
AROUND = 24  # bins
SHARP = 0.85  # part of what one run says that is meant to the bin; the rest is spread around it
PRIOR_RUNS = 10
WIDE = 28.0  # bins, the mean distance before anything is known
FAR = 0.05


def _smoothing() -> Masses:
    steps = np.arange(-AROUND, AROUND + 1)
    near, around = np.exp2(-1.5 * np.abs(steps)), np.exp2(-np.abs(steps) / 4)
    smooth: Masses = SHARP * near / near.sum() + (1 - SHARP) * around / around.sum()
    return smooth


class Ratios:
    """Masses by distance in bins, kept multiplied by `scale`, which grows: older runs fade."""

    __slots__ = ("masses", "scale")
    _SMOOTHING = _smoothing()

    def __init__(self, wide: float = WIDE, skew: float = 0.0) -> None:
        """Begin with distances around `skew`."""
        away = np.abs(np.arange(-BINS, BINS + 1) - skew)
        known = np.exp2(-away / wide)
        self.masses = PRIOR_RUNS * (known / known.sum() + FAR / len(away))
        self.scale = 1.0

    def around(self, center: int) -> Masses:
        """Return the distribution of a run time for which `center` is pointed at."""
        cut = self.masses[BINS - center : 2 * BINS - center]
        found: Masses = cut / cut.sum()
        return found

    def chance(self, center: int, place: int) -> float:
        """Return its mass in one bin."""
        cut = self.masses[BINS - center : 2 * BINS - center]
        return float(cut[place] / cut.sum())

    def add(self, center: int, place: int, weight: float = 1.0) -> None:
        """Take in a run."""
        self.scale /= FADES
        at = BINS + place - center
        low, high = max(at - AROUND, 0), min(at + AROUND + 1, len(self.masses))
        self.masses[low:high] += self._SMOOTHING[low - at + AROUND : high - at + AROUND] * (self.scale * weight)
        if self.scale > LARGEST:
            self.masses /= self.scale
            self.scale = 1.0
