"""How fast it decides for a hundred queues: 10,000 nodes, 10,000 waiting, fair order, guarantees, limits, reservations.

The fleet is full. Batched: a cycle has 1,000 ends and 1,000 arrivals; single: each is a cycle of its own.

A search is one cycle of the whole loop in which one job comes that may stop others, on a full fleet of small jobs in
all queues. The replay is a recorded workload of 100,000 jobs, spread over the same tree, on machines as large as its
largest job and with so much work that jobs wait.
"""

from __future__ import annotations

import itertools
import math
import random
import statistics
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from benchmarks.decisions import BATCH, MS_NS, ROUNDS, SECOND_NS, Measured
from benchmarks.peers import Scan
from benchmarks.rig import GPUS_OF, NODES, Arrivals, CoreRig, LoopRig, fleet
from benchmarks.tree import IDLE, queues, teams
from clearway.core.resources import GPUS
from clearway.loop.world import World
from clearway.model.asks import SetQueue
from clearway.model.events import Stopping
from clearway.model.fleet import NodeSpec, PolicySpec
from clearway.model.values import MILLI, SECOND_US
from clearway.model.words import read_job
from clearway.policies.registry import BUNDLES
from clearway.sim.engine import SimEngine
from clearway.sim.heap import VirtualClock
from clearway.sim.results.fold import Fold
from clearway.sim.run import drive
from clearway.sim.workloads import Arrival, open_workload

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from clearway.model.events import Record
    from clearway.model.fleet import QueueSpec
    from clearway.model.job import JobSpec

TITLE = "placements a second with 100 queues and 10,000 waiting, a search for victims, and a replay of 100,000 jobs"
ORDER = ("fair", "priority", "fifo")
FAIR = PolicySpec(order=ORDER, backfill="easy", score=(("tightest", 1),))
TAKING = PolicySpec(order=ORDER, backfill="easy", preempt=("reclaim", "priority", "fair"), score=(("tightest", 1),))
LINE = 10_000
LIVE_NODES, LIVE_LINE, LIVE_CYCLES = 100, 500, 20
SINGLE, BATCHES = 300, 3  # cycles of a round
PRIORITIES = 3
PROBES = 5  # searches of a kind
RACK = 40  # nodes
REPLAYED = "gaia-cluster/pai-100k.csv.gz"
MACHINES, REPLAY_LOAD = 10, 0.95  # of the replay; the part of all CPUs that its work would fill
ONLY = ("rates", "live", "search", "replay")

KEYS = {
    "placements_per_s_batched": "placements a CPU second with 10,000 waiting, 1,000 ends and arrivals a cycle",
    "placements_per_s_single": "the same, each end and each arrival a cycle of its own",
    "live_cycle_ms": "ms, median of cycles with an end or an arrival, whole loop, by the default of a controller: "
    "100 nodes that are full, 500 waiting in 100 queues",
    "live_cycle_ms_most": "ms, the longest of them",
    "scan_per_s": "placements a CPU second of a NumPy scan of all nodes for each task, in the same run",
    "batched_to_scan": "placements_per_s_batched / scan_per_s",
    "single_to_scan": "placements_per_s_single / scan_per_s",
    "search_ms_most": f"ms, the longest of all cycles with a search below ({PROBES} of each kind)",
    "search_victims": "jobs that were stopped by them",
    "replay_seconds": "CPU s for 100,000 recorded jobs: fair order, EASY, reclaim, priority and fair preemption",
    "replay_jobs_per_second": "jobs a CPU second",
    "replay_stopped": "how often a job was stopped for another one in it",
    "replay_most_waiting": "jobs that waited at once at most",
}


class Probe(NamedTuple):
    """A job that comes to a full fleet: into which queue, and with which words."""

    queue: str
    words: dict[str, object]


BUSY = "d1t0"
WHOLE_NODE = {"gpus": 8, "gpu_model": "A100"}
PROBED = {
    "priority_node": Probe(BUSY, {"priority": 9, "gpus": 1}),
    "priority_gang": Probe(BUSY, {"priority": 9, "gpus": 2, "tasks": 64}),
    "reclaim_node": Probe(IDLE, WHOLE_NODE),
    "reclaim_any": Probe(IDLE, {"gpus": 4}),
    "reclaim_gang": Probe(IDLE, {**WHOLE_NODE, "tasks": 16}),
    "reclaim_rack": Probe(IDLE, {**WHOLE_NODE, "tasks": 8, "topology": {"require": "rack"}}),
    "fair_node": Probe("d2t1", WHOLE_NODE),
    "fair_gang": Probe("d2t1", {**WHOLE_NODE, "tasks": 16}),
    "nobody": Probe(BUSY, {"priority": -1, "gpus": 8, "tasks": 16}),
}
KEYS |= {f"search_ms_{name}": "ms, the longest" for name in PROBED}


def run(args: Namespace) -> dict[str, Any]:
    """Measure; `--only PART` leaves the other parts out: rates, live, search, replay."""
    parts: tuple[Callable[[], dict[str, Any]], ...] = (
        lambda: _rates() | _scan(), _live, _searches, lambda: _replay(args.data / REPLAYED),
    )  # fmt: skip
    found: dict[str, Any] = {}
    for name, part in zip(ONLY, parts, strict=True):
        if not args.only or name in args.only:
            found |= part()
    for kind in ("batched", "single"):
        if "scan_per_s" in found:
            found[f"{kind}_to_scan"] = found[f"placements_per_s_{kind}"] / found["scan_per_s"]
    return {key: found[key] for key in KEYS if key in found}


# --- placements --------------------------------------------------------------------------------


def tree() -> list[QueueSpec]:
    """Return the hundred queues, with guarantees of all devices."""
    return queues("gpus", sum(GPUS_OF.values()) * NODES // len(GPUS_OF))


def _live() -> dict[str, float]:
    nodes = list(fleet())
    random.Random(1).shuffle(nodes)
    nodes = nodes[:LIVE_NODES]
    measured = Measured(LoopRig(BUNDLES["fair"], queues("gpus", sum(node.gpus for node in nodes)), nodes), Mixed(5), 5)
    while measured.rig.waiting < LIVE_LINE:
        measured.turn([], measured.arrivals.draw(LIVE_NODES))
    measured.settle()
    for _ in range(LIVE_CYCLES):
        measured.turn(measured.ends(1), [])
        measured.turn([], measured.arrivals.draw(1))
    measured.rig.validate()
    spent_ms = [spent / MS_NS for spent in measured.spent_ns]
    return {"live_cycle_ms": statistics.median(spent_ms), "live_cycle_ms_most": max(spent_ms)}


def _rates() -> dict[str, float]:
    measured = Measured(CoreRig(FAIR, tree()), Mixed(5), 5)
    while measured.rig.waiting < LINE:
        measured.turn([], measured.arrivals.draw(BATCH))
    found = {
        "placements_per_s_batched": statistics.median(_batched(measured) for _ in range(ROUNDS)),
        "placements_per_s_single": statistics.median(_single(measured) for _ in range(ROUNDS)),
    }
    measured.rig.validate()
    return found


class Mixed(Arrivals):
    """Jobs of all queues but one, with priorities."""

    def __init__(self, seed: int) -> None:
        """Draw from all shapes in all queues but the idle one."""
        super().__init__(seed, [name for name in teams() if name != IDLE])

    def _one(self) -> JobSpec:
        return msgspec.structs.replace(super()._one(), priority=self._chance.randrange(PRIORITIES))


def _batched(measured: Measured) -> float:
    measured.settle()
    placed = sum(len(measured.turn(measured.ends(BATCH), measured.arrivals.draw(BATCH))) for _ in range(BATCHES))
    return placed * SECOND_NS / sum(measured.spent_ns)


def _single(measured: Measured) -> float:
    measured.settle()
    placed = 0
    for _ in range(SINGLE):
        placed += len(measured.turn(measured.ends(1), []))
        placed += len(measured.turn([], measured.arrivals.draw(1)))
    return placed * SECOND_NS / sum(measured.spent_ns)


def _scan() -> dict[str, float]:
    peer, arrivals, rates = Scan(fleet()), Arrivals(5), []
    for _ in range(ROUNDS):
        demands = [spec.roles[0].demand for spec in arrivals.draw(BATCH)]
        begun = time.process_time_ns()
        placed = [(peer.place(demand), demand) for demand in demands]
        rates.append(len(placed) * SECOND_NS / (time.process_time_ns() - begun))
        for node, demand in placed:
            peer.free(node, demand)
    return {"scan_per_s": statistics.median(rates)}


# --- searches ----------------------------------------------------------------------------------


def _searches() -> dict[str, float]:
    """Fill the fleet with jobs of all queues but the idle one, and have one job after the other come that takes."""
    racks = [msgspec.structs.replace(node, rack=f"r{i // RACK}") for i, node in enumerate(fleet())]
    rig = LoopRig(TAKING, tree(), racks)
    measured = Measured(rig, Mixed(6), 6)
    while int(rig.ledger.free[GPUS][:NODES].sum()):
        measured.turn([], measured.arrivals.draw(BATCH))
    found, victims = {}, 0
    for name, probe in PROBED.items():
        spent = []
        for number in range(PROBES):
            spec = read_job({"name": f"{name}-{number}", "queue": probe.queue, "time_estimate": 600, **probe.words})
            measured.settle()
            measured.turn([], [spec])
            spent.append(measured.spent_ns[-1])
            victims += sum(isinstance(record, Stopping) for record in rig.records)
            measured.turn([], [])
        found[f"search_ms_{name}"] = max(spent) / MS_NS
    rig.validate()
    return found | {"search_ms_most": max(found.values()), "search_victims": victims}


# --- replay ------------------------------------------------------------------------------------


def _replay(workload: Path) -> dict[str, float]:
    trace = open_workload(workload)
    arrivals = list(trace.arrivals())
    most = max(a.spec.roles[0].demand.cpus for a in arrivals)
    nodes = tuple(NodeSpec(f"machine-{i}", cpus=most) for i in range(MACHINES))
    work = sum(a.spec.roles[0].demand.cpus * a.truth.runtimes_us[0] for a in arrivals)
    load = REPLAY_LOAD * most * MACHINES * (arrivals[-1].at_us - arrivals[0].at_us) / work
    seen = _Seen()
    begun = time.process_time()
    world, fold = World(TAKING), Fold(by_gpu=False)
    engine = SimEngine(VirtualClock(), nodes, TAKING.lease_us)
    tree = [SetQueue(queue) for queue in queues("cpus", most * MACHINES // MILLI)]

    def sink(records: list[Record]) -> None:
        fold(records)
        seen(records, world)

    drive(world, engine, fold.expect(_spread(workload, load)), sink, set_up=tree)
    seconds = time.process_time() - begun
    world.validate()
    jobs = len(fold.columns)
    return {
        "replay_seconds": seconds,
        "replay_jobs_per_second": jobs / seconds,
        "replay_stopped": seen.stopped,
        "replay_most_waiting": seen.most_waiting,
    }


class _Seen:
    def __init__(self) -> None:
        self.stopped = self.most_waiting = 0

    def __call__(self, records: list[Record], world: World) -> None:
        self.stopped += sum(isinstance(record, Stopping) for record in records)
        self.most_waiting = max(self.most_waiting, world.state.view.line.count)


def _spread(workload: Path, load: float) -> Iterator[Arrival]:
    """Yield the jobs, each in the next of all queues, with a priority and its run time as estimate."""
    names = itertools.cycle(teams())
    for number, arrival in enumerate(open_workload(workload).arrivals(load)):
        estimate_us = math.ceil(arrival.truth.runtimes_us[0] / SECOND_US) * SECOND_US
        spec = msgspec.structs.replace(
            arrival.spec, queue=next(names), priority=number % PRIORITIES, time_estimate_us=estimate_us
        )
        yield arrival._replace(spec=spec)
