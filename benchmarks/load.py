"""Load forecasts by rolling origin, every series and horizon in one table beside what is to be beaten.

Each series is gone through in 14 parts. Every model predicts each part from what came before it; which model is
believed is chosen four times in each part, by errors that were known by then. The second half of every series is what
is told here: nothing of it was used to predict, to choose, or to set an interval, before it had passed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # small matrices: threads only wait for one another

import numpy as np

from benchmarks.load_page import page
from benchmarks.load_series import every_series
from clearway.compose.load_models import load_models
from clearway.forecast.load.judged import Judged, judge
from clearway.forecast.load.series import DAY_S
from clearway.forecast.load.walk import walk

if TYPE_CHECKING:
    from argparse import Namespace

    from clearway.forecast.load.series import Series
    from clearway.forecast.load.walk import Walk

TITLE = "load forecasts beside persistence and same-time-yesterday, on every Helios, ServeGen and genai2026 series"
HORIZONS_S = {"5 min": 300, "30 min": 1800, "60 min": 3600, "24 h": DAY_S}
OUT = Path("out/load.html")
NETWORKS = ("lstm", "transformer")
ONLY = ("servegen", "genai2026", "helios", "networks")
SHORTEST_TEST = 2  # horizons that the second half of a series has to hold
CLOSE = 1e-9
LOW, HIGH = 0.77, 0.83
INDEPENDENT = 20  # horizons, one after the other, from which on a share of 80 % can be told to 3 points at all

KEYS = {
    "table": (
        "error: mean absolute error of persistence in the second half; models: their share of it (yesterday: "
        "the same time on the day before; middle: the median of profile, seasonal-ar, ridge and boosted); chosen: what "
        "was believed, by what was known at the time, and by which model mostly; better: beside the better of the two "
        "baselines; 80 %: inside the interval or on its edge, and strictly inside, where a series stands still (still: "
        "the share of steps at which it did not move at all) an interval that is one value holds it on its edge; "
        "spans: horizons one after the other"
    ),
    "left_out": "series and horizons that there is no forecast for, and why",
    "series": "series",
    "rows": "rows of the table",
    "worse_than_persistence": "rows in which the chosen forecast is worse than persistence by more than 1 %",
    "worst_ratio": "the largest error of a chosen forecast, as a share of persistence's",
    "better_rows": "rows in which it is better by more than 1 %",
    "day_ratio_servegen": "24 h, the two series of 14 days together: error as a share of the better baseline's",
    "day_ratio": "the same of all series with a forecast for 24 h, in the geometric mean",
    "coverage_80": "share that the 80 % intervals hold, all rows (where it can be 80 %: see `coverage_rows`)",
    "coverage_rows": "rows whose 80 % intervals hold 77 % at least, and 83 % at most strictly inside",
    "coverage_rows_long": f"the same of rows with {INDEPENDENT} spans or more, as `n of n`: with fewer it is chance",
    "page": "the plots",
}

Row = dict[str, str]


class Told(NamedTuple):
    """A row of the table in numbers."""

    series: Series
    horizon: str
    spans: int
    error: float
    ratios: dict[str, float]
    chosen: float
    mostly: str
    held: float
    inside: float
    still: float
    judged: Judged

    @property
    def better(self) -> float:
        """The error as a share of the better baseline's."""
        return self.chosen / min(1.0, self.ratios["yesterday"])

    @property
    def covered(self) -> bool:
        """Whether 80 % is what its intervals hold, as far as values that stand still let it."""
        return self.held >= LOW and self.inside <= HIGH


def run(args: Namespace) -> dict[str, Any]:
    """Go through every series, or those of the sets that `--only` names; `--only networks` adds these models."""
    wanted = set(args.only or ())
    models = load_models(networks="networks" in wanted)
    told: list[Told] = []
    left_out: list[Row] = []
    names = wanted - {"networks"}
    for series in every_series(args.data):
        if names and series.name.partition(" ")[0] not in names:
            continue
        horizons = {}
        for horizon, seconds in HORIZONS_S.items():
            steps = series.steps(seconds)
            if steps is None or steps * SHORTEST_TEST > len(series) // 2:
                why = f"a step is {series.step_s:.0f} s" if steps is None else "it is too short"
                left_out.append({"series": series.name, "horizon": horizon, "why": why})
            else:
                horizons[horizon] = steps
        walked = walk(series, models, tuple(horizons.values()))
        told += [_told(walked, horizon, at) for at, horizon in enumerate(horizons)]
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(page(told))
    return {"table": [_row(one) for one in told], "left_out": left_out, **_sums(told), "page": str(OUT)}


def _told(walked: Walk, horizon: str, at: int) -> Told:
    judged, errors = judge(walked, at), walked.errors(at)
    half = (walked.origins >= len(walked.series) // 2) & ~np.isnan(judged.came)
    base = float(errors["persistence"][half].mean())
    came, low, high = judged.came[half], judged.low[half], judged.high[half]
    close = CLOSE * (1 + np.abs(came))
    names = np.array(judged.models)[half].tolist()
    return Told(
        series=walked.series,
        horizon=horizon,
        spans=int(half.sum()) // walked.horizons[at],
        error=base,
        ratios={name: float(mine[half].mean()) / base for name, mine in errors.items()},
        chosen=float(np.abs(judged.points[half] - came).mean()) / base,
        mostly=max(sorted(set(names)), key=names.count),
        held=float(((came >= low - close) & (came <= high + close)).mean()),
        inside=float(((came > low + close) & (came < high - close)).mean()),
        still=float((errors["persistence"][half] == 0).mean()),
        judged=judged,
    )


def _row(one: Told) -> Row:
    models = {name: f"{ratio:.3f}" for name, ratio in one.ratios.items() if name != "persistence"}
    return {
        "series": one.series.name,
        "horizon": one.horizon,
        "spans": str(one.spans),
        "error": f"{one.error:.4g}",
        **models,
        "chosen": f"{one.chosen:.3f}",
        "mostly": one.mostly,
        "better": f"{1 - one.better:+.1%}",
        "80 %": f"{one.held:.1%}",
        "inside": f"{one.inside:.1%}",
        "still": f"{one.still:.0%}",
    }


def _sums(told: list[Told]) -> dict[str, Any]:
    days = [one.better for one in told if one.horizon == "24 h"]
    fortnight = [one.better for one in told if one.horizon == "24 h" and one.series.name.startswith("servegen")]
    long = [one for one in told if one.spans >= INDEPENDENT]
    movable = [one.held for one in told if one.still < LOW]
    return {
        "series": len({one.series.name for one in told}),
        "rows": len(told),
        "worse_than_persistence": sum(one.chosen > 1.01 for one in told),  # noqa: PLR2004 - one percent
        "worst_ratio": max(one.chosen for one in told),
        "better_rows": sum(one.chosen < 0.99 for one in told),  # noqa: PLR2004 - the same
        "day_ratio_servegen": float(np.mean(fortnight)) if fortnight else None,
        "day_ratio": float(np.exp(np.mean(np.log(days)))) if days else None,
        "coverage_80": float(np.mean(movable)) if movable else None,
        "coverage_rows": f"{sum(one.covered for one in told)} of {len(told)}",
        "coverage_rows_long": f"{sum(one.covered for one in long)} of {len(long)}",
    }
