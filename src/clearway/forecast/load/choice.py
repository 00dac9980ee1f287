"""Which model is believed: one that beat persistence in the past by more than chance would, or persistence."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clearway.forecast.load.naive import Persistence

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clearway.forecast.load.series import Floats
    from clearway.forecast.load.walk import Walk

MARGIN = 0.01  # of persistence's error: less is not worth a model
SURE = 1.0  # standard errors by which the gain has to be more than nothing
MOSTLY = 0.7  # of the blocks in which it has to be better: one lucky day chooses nobody
BLOCKS = 12  # neighbouring errors are alike: the gain is compared by blocks, each at least as long as the horizon
LEAST_BLOCKS = 3
AGAIN = 4  # times in each part of a walk that a model is chosen anew


class Choice(NamedTuple):
    """A model, and how its past errors stand to those of persistence (1: the same); `judged` origins told."""

    model: str
    ratio: float
    judged: int


def choose(errors: Mapping[str, Floats], steps: int) -> Choice:
    """Choose by past absolute errors, one for each origin in its order; NaN are left out.

    A model has to beat persistence by `MARGIN`, by `SURE` standard errors of the mean of the blocks, and in `MOSTLY` of
    them. Of those that do, the one with the largest sure gain is chosen.
    """
    base = errors[Persistence.name]
    known = ~np.isnan(base)
    base = base[known]
    found: list[tuple[float, Choice]] = [(0.0, Choice(Persistence.name, 1.0, len(base)))]
    blocks = min(BLOCKS, len(base) // max(steps, 1))
    if blocks < LEAST_BLOCKS or not base.any():
        return found[0][1]
    for name, mine in errors.items():
        gains = np.array([block.mean() for block in np.array_split(base - mine[known], blocks)])
        sure = float(gains.mean() - SURE * gains.std(ddof=1) / np.sqrt(blocks))
        ratio = float(mine[known].mean() / base.mean())
        if sure > 0 and ratio < 1 - MARGIN and float((gains > 0).mean()) >= MOSTLY:
            found.append((sure, Choice(name, ratio, len(base))))
    return max(found, key=lambda one: one[0])[1]


def choices(walked: Walk, at: int) -> list[tuple[int, Choice]]:
    """Return what would have been chosen at moments of a walk: the index of the first origin, and the choice."""
    errors, steps = walked.errors(at), walked.horizons[at]
    each = max((walked.begins[1] - walked.begins[0]) // AGAIN, 1) if len(walked.begins) > 1 else len(walked.series)
    found = []
    for begin in range(0, len(walked.origins), each):
        known = max(begin - steps + 1, 0)
        found.append((begin, choose({name: mine[:known] for name, mine in errors.items()}, steps)))
    return found
