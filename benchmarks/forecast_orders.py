"""What forecasts are worth to an order: shortest first by known run times, by forecasts, by typical ones, by chance."""

from __future__ import annotations

import csv
import math
import sys
from bisect import insort
from itertools import islice
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from benchmarks.forecast_replays import drawn, replayed, told, untold
from clearway.forecast import RunTimes
from clearway.model.fleet import PolicySpec
from clearway.model.forecast import LEVELS, Forecast
from clearway.model.job import WHOLE
from clearway.model.values import SECOND_US
from clearway.sim.workloads import open_workload
from clearway.sim.workloads.fleets import fleet_for
from clearway.sim.workloads.survey import Survey

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from clearway.ports.forecaster import Known, Run
    from clearway.sim.workloads.fleets import Fleet
    from clearway.sim.workloads.trace import Arrival

SHORTEST = PolicySpec(order=("sjf", "fifo"), backfill="none")
NODE_GPUS = 8
HALF = 0.5  # of what each of Philly's virtual clusters has
FULL = 0.9  # of the machines of the others is filled by the work, spread evenly: so few are left of them
CROWDED_PHILLY = "philly-crowded"
"""All of Philly's machines are filled to one eighth by this part of its log: with half hardly anyone waits at all."""
PASTS = {
    "philly": "philly/philly.csv.gz",
    CROWDED_PHILLY: "philly/philly.csv.gz",
    **{f"itp-{n}": f"itp-elasticflow/cluster{n}.csv.gz" for n in ("01", "03", "05", "06", "09")},
}
KEYS = {
    "sjf": "shortest first on few machines: by known run times, by forecasts, by medians of queue and size, by chance",
    "sjf_excess_over_random_half": "the same with half of each virtual cluster, where random order costs 5 % in all",
    "sjf_excess_over_random": "philly-crowded: what forecasts cost over known run times, in parts of a random order's",
}


def run(data: Path, names: Sequence[str]) -> dict[str, Any]:
    """Replay pasts."""
    found: dict[str, Any] = {"sjf": shortest_first(data, names)}
    for key, name in (("sjf_excess_over_random", CROWDED_PHILLY), ("sjf_excess_over_random_half", "philly")):
        if name in names:
            found[key] = float(found["sjf"][names.index(name)]["excess / random's"])
    return found


class GroupMedian:
    """Forecasts the median of the past runs of the same queue and size, else of all; the baseline of many papers."""

    def __init__(self) -> None:
        """Begin with nothing known."""
        self._runs: dict[tuple[str, int], list[int]] = {}

    def forecast(self, known: Known) -> Forecast:
        """Return the median as if it were certain."""
        runs = self._runs.get((known.queue, known.milli_gpus)) or self._runs.get(("", 0)) or [3600 * SECOND_US]
        return _sure(runs[len(runs) // 2])

    def learn(self, run: Run) -> None:
        """Keep the run in its place."""
        for key in ((run.known.queue, run.known.milli_gpus), ("", 0)):
            insort(self._runs.setdefault(key, []), run.ran_us)


def _sure(us: int) -> Forecast:
    return Forecast((us,) * len(LEVELS), us, "group median")


def crowded(data: Path, name: str, most: int | None = None) -> tuple[list[Arrival], Fleet]:
    """Return the first jobs and too few machines for them; Philly's virtual clusters have half of their own each."""
    trace = open_workload(data / PASTS[name])
    fleet, arrivals = fleet_for(trace, Survey.of(trace)), list(islice(trace.arrivals(), most))
    if name == "philly":
        own = _virtual_clusters(data)
        queues = tuple(
            replace(one, limit=(("gpus", round(own[one.name] * NODE_GPUS * HALF) * WHOLE),)) if one.name in own else one
            for one in fleet.queues
        )
        return arrivals, fleet._replace(nodes=fleet.nodes[: round(len(fleet.nodes) * HALF)], queues=queues)
    work = sum(one.spec.milli_gpus * (one.truth.runtime_us(1) or 0) for one in arrivals)
    milli = work / max(arrivals[-1].at_us - arrivals[0].at_us, 1) / FULL
    widest = max(one.spec.milli_gpus for one in arrivals)
    many = math.ceil(max(milli, widest) / (fleet.nodes[0].gpus * WHOLE))
    return arrivals, fleet._replace(nodes=fleet.nodes[:many])


def _virtual_clusters(data: Path) -> dict[str, int]:
    """Return how many nodes each virtual cluster of Philly has."""
    with (data / "philly" / "philly_vc.csv").open() as text:
        return {row["vc"]: int(row["node num"]) for row in csv.DictReader(text)}


def shortest_first(data: Path, names: Iterable[str]) -> list[dict[str, str]]:
    """Return, for each past, what orders by known, forecast, typical and random run times come to."""
    by_forecast = replace(SHORTEST, estimate="forecast")
    rows = []
    for name in names:
        arrivals, fleet = crowded(data, name)
        known = replayed(told(arrivals), fleet, SHORTEST).mean_jct_s
        chance = replayed(drawn(arrivals, 1), fleet, SHORTEST).mean_jct_s - known
        forecast = replayed(untold(arrivals), fleet, by_forecast, RunTimes()).mean_jct_s
        typical = replayed(untold(arrivals), fleet, by_forecast, GroupMedian()).mean_jct_s
        rows.append({
            "past": name, "jobs": f"{len(arrivals):,}", "known, mean s": f"{known:,.0f}",
            "forecast / known": f"{forecast / known:.2f}",
            "excess / random's": f"{_part(forecast - known, chance):.3f}",
            "group median's": f"{_part(typical - known, chance):.3f}", "random / known": f"{1 + chance / known:.2f}",
        })  # fmt: skip
        print("   ".join(rows[-1].values()), file=sys.stderr, flush=True)
    return rows


def _part(excess: float, of: float) -> float:
    return excess / of if of else 0.0
