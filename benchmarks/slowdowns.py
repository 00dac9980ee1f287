"""Mean bounded slowdown of five orders with and without backfill, in one table beside the published cells.

30 sequences of 1,024 jobs of Lublin-256, every cell on the same ones: the first ten are those of the published figures
(`rlscheduler` says how they are drawn and played, and where the published rules are other ones than Clearway's).
Intervals hold the middle 95 % of resampled sequences; all cells are resampled alike, so that differences are paired.
"""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import rlscheduler as rl
from clearway.sim.results.figures import slowdowns
from clearway.sim.results.paired import DRAWS, HIGH, LOW

if TYPE_CHECKING:
    from argparse import Namespace

    from numpy.typing import NDArray

TITLE = "mean bounded slowdown by order and backfill, beside published figures (Lublin-256)"
SEQUENCES = 30
BASE = "fifo"
ONLY = tuple(rl.CELLS)

KEYS = {
    "table": (
        "cell: order and backfill; mean with its interval on all sequences; minus FIFO: the paired difference to it "
        "with the same backfill; theirs: by the published rules on all sequences, and on the first ten; published"
    ),
    "sequences": "of 1,024 jobs each",
}

Row = dict[str, str]


def run(args: Namespace) -> dict[str, Any]:
    """Run every cell. `--only ORDER` leaves other orders out, but for FIFO, which the others are compared with."""
    drawn = rl.sequences(args.data / "swf" / "lublin_256.swf.gz", SEQUENCES)
    resampled = np.random.default_rng(0).integers(0, SEQUENCES, (DRAWS, SEQUENCES))
    rows: list[Row] = []
    for at, backfill in enumerate(("none", "easy")):
        base: NDArray[np.float64] = np.zeros(0)
        for order, published in rl.CELLS.items():
            if args.only and order not in {*args.only, BASE}:
                continue
            found = rl.cell(order, backfill, drawn)
            means = np.array([float(slowdowns(jobs).mean()) for jobs in found.sequences])
            base = means if order == BASE else base
            theirs = [rl.their_slowdown(order, jobs, backfill=backfill == "easy") for jobs in drawn]
            rows.append({
                "order": order,
                "backfill": backfill,
                "mean": f"{means.mean():,.0f}",
                "95 %": _interval(means, resampled),
                "minus FIFO": f"{(means - base).mean():,.0f}",
                "paired 95 %": _interval(means - base, resampled),
                "theirs": f"{statistics.mean(theirs):,.0f}",
                "theirs, first 10": f"{statistics.mean(theirs[: rl.SEQUENCES]):,.0f}",
                "published": f"{published[at]:,}",
            })  # fmt: skip
    return {"table": rows, "sequences": SEQUENCES}


def _interval(values: NDArray[np.float64], resampled: NDArray[np.int64]) -> str:
    low, high = np.percentile(values[resampled].mean(axis=1), [LOW, HIGH])
    return f"{low:,.0f} to {high:,.0f}"
