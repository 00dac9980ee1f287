"""Differences between two policies on the same jobs, with an interval.

Jobs near in time share their luck, so not jobs but blocks of them are drawn anew: weeks where a trace has at least
`LEAST_WEEKS` of them, else `SEQUENCES` runs of jobs that arrived one after another. Each draw takes as many blocks as
there are, with replacement; the interval holds the middle 95 % of `DRAWS` draws (the percentile bootstrap, Efron and
Tibshirani, "An Introduction to the Bootstrap", 1993). Only jobs that finished under both policies count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clearway.model.values import SECOND_US
from clearway.sim.results.figures import slowdowns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clearway.sim.results.columns import Jobs

WEEK_US = 7 * 86_400 * SECOND_US
LEAST_WEEKS = 6
SEQUENCES = 20
DRAWS = 2000
LOW, HIGH = 2.5, 97.5
LEAST_BLOCKS = 3  # an interval from fewer says nothing


class Blocks(NamedTuple):
    """The block of each job, and what the blocks are called."""

    of: NDArray[np.int64]
    many: int
    kind: str


def compare(base: Jobs, other: Jobs, seed: int = 0) -> dict[str, Any]:
    """Return the mean difference other - base of wait, completion and bounded slowdown, each with its interval."""
    numbers, ours, theirs = np.intersect1d(base.number, other.number, return_indices=True)
    if not len(numbers):
        return {"jobs": 0}
    blocks = _blocks(base.submit_us[ours])
    measures = {
        "wait": (other.wait_us[theirs] - base.wait_us[ours]) / SECOND_US,
        "completion": (other.jct_us[theirs] - base.jct_us[ours]) / SECOND_US,
        "bounded_slowdown": slowdowns(other)[theirs] - slowdowns(base)[ours],
    }
    drawn = _draws(blocks.many, seed)
    counts = np.bincount(blocks.of, minlength=blocks.many)
    found = {name: _interval(values, blocks, counts, drawn) for name, values in measures.items()}
    return {"jobs": len(numbers), "blocks": blocks.many, "block": blocks.kind, **found}


def _blocks(submit_us: NDArray[np.int64]) -> Blocks:
    """Jobs come in order of their number, so in order of arrival."""
    weeks = (submit_us - submit_us[0]) // WEEK_US
    if weeks[-1] + 1 >= LEAST_WEEKS:
        _, of = np.unique(weeks, return_inverse=True)
        return Blocks(of.astype(np.int64), int(of.max()) + 1, "week")
    count = min(SEQUENCES, len(submit_us))
    return Blocks(np.arange(len(submit_us)) * count // len(submit_us), count, "sequence")


def _draws(count: int, seed: int) -> NDArray[np.int64]:
    """How often each block is in each draw."""
    rng = np.random.default_rng(seed)
    return rng.multinomial(count, np.full(count, 1 / count), size=DRAWS)


def _interval(
    values: NDArray[np.float64], blocks: Blocks, counts: NDArray[np.int64], drawn: NDArray[np.int64]
) -> dict[str, float | None]:
    sums = np.bincount(blocks.of, weights=values, minlength=blocks.many)
    mean = float(values.mean())
    if blocks.many < LEAST_BLOCKS:
        return {"mean": mean, "low": None, "high": None}
    means = (drawn @ sums) / np.maximum(1, drawn @ counts)
    low, high = np.percentile(means, [LOW, HIGH])
    return {"mean": mean, "low": float(low), "high": float(high)}
