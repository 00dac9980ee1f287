"""Which moments of a past are learned from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from clearway.forecast.load.series import Floats, Ints, Series

MOST_ROWS = 2000
LEAST_ROWS = 40  # fewer teach nothing that would hold tomorrow


def origins_to_learn(past: Series, steps: int) -> Ints:
    """Return moments of a past, evenly spaced, with a value of their own and one so many steps later."""
    known = ~np.isnan(past.values)
    at = np.flatnonzero(known[: len(past) - steps] & known[steps:]) if steps < len(past) else np.zeros(0, np.int64)
    if len(at) <= MOST_ROWS:
        return at
    return at[np.linspace(0, len(at) - 1, MOST_ROWS).round().astype(np.int64)]


def moves(past: Series, origins: Ints, steps: int) -> Floats:
    """Return how far the series had moved so many steps after each origin, on its own scale."""
    return np.asarray(past.level[origins + steps] - past.level[origins])
