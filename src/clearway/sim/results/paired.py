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


class Pairs(NamedTuple):
    """Jobs that finished under both policies: their numbers, and the same jobs in the same order under each."""

    numbers: NDArray[np.int64]
    base: Jobs
    other: Jobs


class Draws(NamedTuple):
    """Blocks of jobs, and how often each is in each draw."""

    blocks: Blocks
    drawn: NDArray[np.int64]


def pairs(base: Jobs, other: Jobs) -> Pairs:
    """Return the jobs that finished under both, in order of their numbers."""
    numbers, ours, theirs = np.intersect1d(base.number, other.number, return_indices=True)
    return Pairs(numbers, base.at(ours), other.at(theirs))


def measures(paired: Pairs) -> dict[str, NDArray[np.float64]]:
    """Return other - base of each job: wait and completion in seconds, bounded slowdown."""
    return {
        "wait": (paired.other.wait_us - paired.base.wait_us) / SECOND_US,
        "completion": (paired.other.jct_us - paired.base.jct_us) / SECOND_US,
        "bounded_slowdown": slowdowns(paired.other) - slowdowns(paired.base),
    }


def compare(base: Jobs, other: Jobs, seed: int = 0) -> dict[str, Any]:
    """Return the mean difference other - base of wait, completion and bounded slowdown, each with its interval."""
    paired = pairs(base, other)
    if not len(paired.numbers):
        return {"jobs": 0}
    draws = drawn(paired.base.submit_us, seed)
    found = {name: interval(values, draws.blocks.of, draws) for name, values in measures(paired).items()}
    return {"jobs": len(paired.numbers), "blocks": draws.blocks.many, "block": draws.blocks.kind, **found}


def drawn(submit_us: NDArray[np.int64], seed: int) -> Draws:
    """Return the blocks of jobs that come in order of arrival, drawn anew."""
    blocks = _blocks(submit_us)
    rng = np.random.default_rng(seed)
    return Draws(blocks, rng.multinomial(blocks.many, np.full(blocks.many, 1 / blocks.many), size=DRAWS))


def _blocks(submit_us: NDArray[np.int64]) -> Blocks:
    """Jobs come in order of their number, so in order of arrival."""
    weeks = (submit_us - submit_us[0]) // WEEK_US
    if weeks[-1] + 1 >= LEAST_WEEKS:
        _, of = np.unique(weeks, return_inverse=True)
        return Blocks(of.astype(np.int64), int(of.max()) + 1, "week")
    count = min(SEQUENCES, len(submit_us))
    return Blocks(np.arange(len(submit_us)) * count // len(submit_us), count, "sequence")


def interval(values: NDArray[np.float64], of: NDArray[np.int64], draws: Draws) -> dict[str, float | None]:
    """Return the mean of values with its interval; `of` is the block of each.

    Draws in which none of them is say nothing of them. There is no interval where they lie in too few blocks.
    """
    many = draws.blocks.many
    counts, sums = np.bincount(of, minlength=many), np.bincount(of, weights=values, minlength=many)
    mean = float(values.mean())
    if np.count_nonzero(counts) < LEAST_BLOCKS:
        return {"mean": mean, "low": None, "high": None}
    drawn_counts = draws.drawn @ counts
    seen = drawn_counts > 0
    low, high = np.percentile((draws.drawn @ sums)[seen] / drawn_counts[seen], [LOW, HIGH])
    return {"mean": mean, "low": float(low), "high": float(high)}
