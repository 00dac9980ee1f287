"""What forecasts are worth to backfill: EASY by what users ask for, and by forecasts at several quantiles."""

from __future__ import annotations

import random
import sys
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from benchmarks.forecast_replays import replayed
from clearway.forecast import RunTimes
from clearway.model.fleet import PolicySpec
from clearway.sim.workloads import open_workload
from clearway.sim.workloads.fleets import fleet_for
from clearway.sim.workloads.survey import Survey

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from benchmarks.forecast_replays import Came
    from clearway.sim.workloads.trace import Arrival

EASY = PolicySpec(order=("fifo",), backfill="easy")
ASKED = "swf/hpc2n_alea_excerpt.swf.gz"
"""The log in which users say how long their jobs will run at most."""
PASTS = {"hpc2n": ASKED, "nasa": "swf/NASA-iPSC-1993-3.1-cln.swf.zip"}
LEVELS = (900, 950, 975)
KEYS = {
    "easy": "EASY backfill by requests and by forecasts; nasa's requests are drawn from hpc2n's ratios (seed 1)",
    "easy_slowdown_over_requests": "hpc2n: bounded slowdown by forecasts at the default quantile over that by requests",
    "easy_promises_too_late": "hpc2n: part of the promises that were not kept, at the default quantile",
}


def run(data: Path, names: Sequence[str]) -> dict[str, Any]:
    """Replay logs."""
    rows = backfilled(data, names)
    found: dict[str, Any] = {"easy": rows}
    if "hpc2n" in names:
        default = next(row for row in rows if row["by"] == f"forecast at {PolicySpec().quantile / 1000}")
        slowdowns = [float(row["bounded slowdown"]) for row in (default, rows[0])]
        found["easy_slowdown_over_requests"] = slowdowns[0] / slowdowns[1]
        found["easy_promises_too_late"] = float(default["kept too late"])
    return found


def asked_ratios(data: Path) -> list[float]:
    """Return by how much users of the log with requests ask for more than they need."""
    found = []
    for one in open_workload(data / ASKED).arrivals():
        ran_us, asked_us = one.truth.runtime_us(1), one.spec.time_estimate_us
        if ran_us and asked_us:
            found.append(max(asked_us / ran_us, 1.0))
    return sorted(found)


def asking(arrivals: Iterable[Arrival], ratios: Sequence[float], seed: int) -> list[Arrival]:
    """Return jobs whose users ask for as many times what they need as those of another log do, drawn by a seed."""
    chance = random.Random(seed)
    found = []
    for one in arrivals:
        ran_us = one.truth.runtime_us(1)
        asked_us = one.spec.time_estimate_us or (round(ran_us * chance.choice(ratios)) if ran_us else None)
        found.append(one._replace(spec=replace(one.spec, time_estimate_us=asked_us)))
    return found


def backfilled(data: Path, names: Iterable[str]) -> list[dict[str, str]]:
    """Return, for each log, what EASY on requests and on forecasts at several quantiles comes to."""
    ratios, rows = asked_ratios(data), []
    for name in names:
        trace = open_workload(data / PASTS[name])
        fleet = fleet_for(trace, Survey.of(trace))
        arrivals = asking(trace.arrivals(), ratios, 1)
        rows.append(_easy(name, "requests", replayed(arrivals, fleet, EASY)))
        for level in LEVELS:
            policy = replace(EASY, estimate="forecast", quantile=level)
            rows.append(_easy(name, f"forecast at {level / 1000}", replayed(arrivals, fleet, policy, RunTimes())))
    return rows


def _easy(name: str, by: str, came: Came) -> dict[str, str]:
    row = {
        "log": name, "by": by, "bounded slowdown": f"{came.slowdown:.2f}", "mean s": f"{came.mean_jct_s:,.0f}",
        "promises": f"{came.promised:,}", "kept too late": f"{came.delayed / max(came.promised, 1):.3f}",
    }  # fmt: skip
    print("   ".join(row.values()), file=sys.stderr, flush=True)
    return row
