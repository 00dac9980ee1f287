"""How good ETAs are: pasts are replayed, and now and then it is said of those who wait when they will start."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from benchmarks import forecast_easy, forecast_orders
from clearway.forecast import RunTimes
from clearway.loop.forecasting import Forecasting
from clearway.loop.world import World
from clearway.model.asks import SetQueue
from clearway.model.events import Submitted
from clearway.model.fleet import PolicySpec
from clearway.model.values import SECOND_US
from clearway.sim.engine import SimEngine
from clearway.sim.heap import VirtualClock
from clearway.sim.run import drive
from clearway.sim.workloads import open_workload
from clearway.sim.workloads.fleets import fleet_for
from clearway.sim.workloads.survey import Survey
from clearway.whatif.starts import StartsForeseen

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from clearway.model.events import Record
    from clearway.sim.workloads.fleets import Fleet
    from clearway.sim.workloads.trace import Arrival
    from clearway.whatif.starts import Starts

POLICY = PolicySpec(estimate="forecast")
FIRST = 1000
"""So many first jobs of each past are replayed, of hpc2n all."""
SAMPLES = 20
"""Half as many as are drawn elsewhere: long lines take seconds each."""
PASTS = {"hpc2n": 30, "itp-01": 8, "itp-03": 8, "itp-05": 8, "itp-09": 8}
"""It is asked so often, evenly over the jobs that come, the first fiftieth left out."""
KEYS = {
    "starts": (
        "ETAs by forecasts under the policy fair, asked now and then about up to 20 who wait: part of the starts "
        "inside the interval of 80 %; median distance of the median, and of place in the queue times mean run time"
    ),
    "eta_coverage_80": "% of all starts inside the interval",
    "eta_error_over_place": "error of the median over that of the place in the queue, the mean of all pasts",
}


class _Asking:
    """Asks now and then, after a step, and hears all."""

    def __init__(self, world: World, jobs: int, moments: int) -> None:
        self._world, self._step = world, max(jobs // moments, 1)
        self._jobs, self._due = 0, jobs // 50
        self.asked = StartsForeseen(SAMPLES)

    def __call__(self, records: Sequence[Record]) -> None:
        for record in records:
            self.asked.hear(record)
            self._jobs += isinstance(record, Submitted)
        if self._jobs >= self._due:
            self._due = self._jobs + self._step
            self.asked.ask(self._world, self._world.now_us, lambda: True)


def run(data: Path, names: Sequence[str]) -> dict[str, Any]:
    """Replay pasts."""
    found = {name: _replayed(*_past(data, name), name) for name in names}
    judged = sum(one.judged for one in found.values())
    ratios = [one.error_us / one.place_error_us for one in found.values() if one.error_us and one.place_error_us]
    return {
        "starts": [_row(name, one) for name, one in found.items()],
        "eta_coverage_80": 100 * sum(one.within for one in found.values()) / max(judged, 1),
        "eta_error_over_place": sum(ratios) / max(len(ratios), 1),
    }


def _past(data: Path, name: str) -> tuple[list[Arrival], Fleet]:
    if name in forecast_orders.PASTS:
        return forecast_orders.crowded(data, name, FIRST)
    trace = open_workload(data / forecast_easy.PASTS[name])
    return forecast_easy.asking(trace.arrivals(), forecast_easy.asked_ratios(data), 1), fleet_for(
        trace, Survey.of(trace)
    )


def _replayed(arrivals: list[Arrival], fleet: Fleet, name: str) -> Starts:
    world = World(POLICY, 1)
    world.forecasting = Forecasting(RunTimes())
    asking_now = _Asking(world, len(arrivals), PASTS[name])
    engine = SimEngine(VirtualClock(), fleet.nodes, POLICY.lease_us)
    drive(world, engine, arrivals, asking_now, set_up=[SetQueue(queue) for queue in fleet.queues])
    found = asking_now.asked.close(world.now_us)
    print("   ".join(_row(name, found).values()), file=sys.stderr, flush=True)
    return found


def _row(name: str, found: Starts) -> dict[str, str]:
    def seconds(us: int | None) -> str:
        return "-" if us is None else f"{us / SECOND_US:,.0f}"

    return {
        "past": name, "moments": f"{found.moments}", "starts": f"{found.judged:,}",
        "in 80 %": f"{100 * found.within / found.judged:.1f}" if found.judged else "-",
        "off by, s": seconds(found.error_us), "by place, s": seconds(found.place_error_us),
        "waited, s": seconds(found.wait_us),
    }  # fmt: skip
