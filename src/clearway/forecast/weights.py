"""Who is believed how much: weights of experts that move with how likely each held what came."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

STEP = 0.02
LONGEST_STEP = 0.5
SHARED = 1e-5
"""So much of all weights is shared out evenly with each run, so that none that becomes better is lost."""
FLOOR = 1e-7
COUNTS = (1, 4, 16, 64)
"""An expert has a weight of its own for each class of how many runs it rests on; 0 of them: it sleeps."""
CLASSES = len(COUNTS) + 1


def class_of(count: int) -> int:
    """Return the class of a number of runs."""
    return bisect_right(COUNTS, count)


class Weights:
    """Weights of a mixture of distributions.

    Soft-Bayes (Orseau, Lattimore and Legg, "Soft-Bayes: Prod for Mixtures of Experts with Log-Loss", 2017): the weight
    w of an expert that gave the chance p to what came, to which the mixture gave q, becomes w (1 - s + s p / q).
    That goes to the best mixture, not to the best expert. Sleeping ones keep theirs (Freund, Schapire, Singer and
    Warmuth, "Using and combining predictors that specialize", 1997).
    """

    def __init__(self, first: Sequence[float]) -> None:
        """Begin with a weight for each expert, the same in all classes."""
        self.of = np.repeat(np.array(first, np.float64)[:, None], CLASSES, axis=1)

    def learn(self, awake: list[tuple[int, int]], chances: NDArray[np.float64], times: float = 1.0) -> float:
        """Move the weights of those awake, each as (expert, class), as if what came had come so many times.

        Return the chance that the mixture had given.
        """
        rows, classes = np.array(awake).T
        held = self.of[rows, classes]
        total = held.sum()
        chances = chances + FLOOR
        mixed: float = float(held @ chances) / float(total)
        step = min(STEP * times, LONGEST_STEP)
        held = held * (1 - step + step * chances / mixed)
        self.of[rows, classes] = held * (1 - SHARED) + held.sum() * (SHARED / len(held))
        return mixed
