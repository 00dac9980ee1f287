"""How many decisions a second one core makes, on 10,000 nodes of four GPU models.

Each job has an estimate of its own and may start on one model; a decision is a placement by exact tightest fit with
its records and reasons. Ends are drawn by chance among what runs. CPU time of this process; medians of rounds.

`decisions` are the core calls that the loop makes; `steps` the whole loop, with all records of each job's life.
Batched: a cycle has 1,000 ends and 1,000 arrivals. Single: each end and each arrival is a cycle of its own.
"""

from __future__ import annotations

import gc
import random
import statistics
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.peers import Buckets, Scan
from benchmarks.rig import GPUS_OF, NODES, Arrivals, CoreRig, LoopRig, fleet
from clearway.core.resources import GPUS
from clearway.model.fleet import PolicySpec, QueueSpec
from clearway.policies.registry import BUNDLES

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from benchmarks.peers import Peer
    from benchmarks.rig import Rig
    from clearway.model.events import Started
    from clearway.model.ids import JobId
    from clearway.model.job import Demand, JobSpec

TITLE = "decisions a second on 10,000 nodes, and how long one takes with 100,000 jobs waiting"
LOADS = (50, 85)  # per cent of GPUs held
PLAIN = PolicySpec(score=(("tightest", 1),))  # the peers' rule, so that both do the same work
LIVE = BUNDLES["fair"]  # what holds in a controller that is told none
BATCH = 1000
ROUNDS = 5
CYCLES = {"batched": 6, "single": 1500}  # of a round
FILL = 1000  # jobs that are entered at once while a fleet fills up
LINE = 100_000
DISTINCT_LINE = 10_000  # every demand has a column of its own over all nodes: ten times as many would need 10 GB
LINE_QUEUES = tuple(f"q{i}" for i in range(25))  # with 16 shapes: 400 classes
LINE_CYCLES = 400
CHANGES = 10  # ends, and arrivals, of a cycle before a long line
DISTINCT_CYCLES = 30
SAMPLED_CYCLES = 3
ONLY = ("decisions", "steps", "waiting", "distinct", "live", "live_waiting", "peers")
ONLY_IF_NAMED = frozenset({"live_waiting"})
SECOND_NS, MS_NS = 1_000_000_000, 1_000_000

KEYS = {
    "decisions_per_s_batched": "placements a CPU second, 1,000 arrivals and ends a cycle; the lower of both loads",
    "decisions_per_s_single": "the same, each event a cycle of its own",
    "steps_per_s_batched": "placements a CPU second of the whole loop, 1,000 arrivals and 1,000 ends a step",
    "steps_per_s_single": "the same, each submit, report of a start and report of an end a step of its own",
    "p99_ms_100k_waiting": f"ms, 99 in 100 cycles ({CHANGES} ends and arrivals each) before 100,000 in 400 classes",
    "p50_ms_100k_waiting": "ms, half of them",
    "step_p99_ms_100k_waiting": "ms, the same of the whole loop",
    "step_p50_ms_100k_waiting": "ms, half of them",
    "p99_ms_10k_distinct": f"ms, the same before {DISTINCT_LINE:,} waiting that all ask for something else",
    "p50_ms_10k_distinct": "ms, half of them",
    "first_s_10k_distinct": "CPU s of the one cycle that sees them all for the first time",
    "scan_per_s": "placements a CPU second of a NumPy scan of all nodes for each task, 85 % load",
    "buckets_per_s": "the same of node buckets with heaps in plain Python: GPUs only, no records, no reasons",
    "batched_to_scan": "decisions_per_s_batched_85 / scan_per_s",
    "batched_to_buckets": "decisions_per_s_batched_85 / buckets_per_s",
    "single_to_scan": "decisions_per_s_single_85 / scan_per_s",
    "tightest_fit_checked": "placements that were checked against all nodes: each the tightest, first among equals",
}
for _key, _load in ((key, load) for key in list(KEYS)[:4] for load in LOADS):
    KEYS[f"{_key}_{_load}"] = f"at {_load} % load"
for _key in ("decisions_per_s_batched", "decisions_per_s_single", "steps_per_s_batched", "steps_per_s_single"):
    KEYS[f"live_{_key}_85"] = "at 85 % load, by the policy of a controller that is told none"
for _key in ("p99_ms_100k_waiting", "p50_ms_100k_waiting", "step_p99_ms_100k_waiting", "step_p50_ms_100k_waiting"):
    KEYS[f"live_{_key}"] = "by the policy of a controller that is told none"


def run(args: Namespace) -> dict[str, Any]:
    """Measure; `--only PART` leaves the other parts out. `live_waiting` runs only if it is named: it takes long."""
    parts: tuple[Callable[[dict[str, Any]], None], ...] = (
        lambda found: _rates(found, "decisions_per_s", CoreRig),
        lambda found: _rates(found, "steps_per_s", LoopRig),
        lambda found: _long_lines(found, "", PLAIN),
        _distinct_line,
        _live,
        lambda found: _long_lines(found, "live_", LIVE),
        _peers,
    )
    found: dict[str, Any] = {}
    for name, part in zip(ONLY, parts, strict=True):
        if name in args.only if args.only else name not in ONLY_IF_NAMED:
            part(found)
            gc.unfreeze()
            gc.collect()
    return {key: found[key] for key in KEYS if key in found}


class Measured:
    """A rig with work on it, and a clock that counts only what the rig does."""

    def __init__(self, rig: Rig, arrivals: Arrivals, seed: int) -> None:
        """Begin with nothing running."""
        self.rig, self.arrivals = rig, arrivals
        self.running: list[JobId] = []
        self.spent_ns: list[int] = []
        self._chance = random.Random(seed)
        self._now_us = 1

    def fill(self, load: int) -> None:
        """Enter jobs until so many per cent of the GPUs are held."""
        capacity = sum(GPUS_OF.values()) * NODES // len(GPUS_OF)
        while capacity - int(self.rig.ledger.free[GPUS][:NODES].sum()) < capacity * load // 100:
            self.turn([], self.arrivals.draw(FILL))
        self.settle()

    def settle(self) -> None:
        """Forget what was measured so far, and have the collector leave alone what is there."""
        self.spent_ns.clear()
        gc.collect()
        gc.freeze()

    def ends(self, many: int) -> list[JobId]:
        """Take so many jobs by chance out of what runs."""
        running = self.running
        for last in range(len(running) - 1, len(running) - 1 - many, -1):
            chosen = self._chance.randrange(last + 1)
            running[chosen], running[last] = running[last], running[chosen]
        found = running[-many:]
        del running[-many:]
        return found

    def turn(self, ends: list[JobId], arrivals: list[JobSpec]) -> list[Started]:
        """Have the rig go on by one cycle, and count the CPU time of it."""
        self._now_us += 1
        begun = time.process_time_ns()
        started = self.rig.turn(ends, arrivals, self._now_us)
        self.spent_ns.append(time.process_time_ns() - begun)
        self.running += [record.job for record in started]
        return started


def _rates(found: dict[str, Any], key: str, rig: type[CoreRig | LoopRig]) -> None:
    for load in LOADS:
        measured = _rates_at(found, key, rig(PLAIN), load)
        if key == "decisions_per_s":
            found["tightest_fit_checked"] = found.get("tightest_fit_checked", 0) + _check_fit(measured)
    for kind in CYCLES:
        found[f"{key}_{kind}"] = min(found[f"{key}_{kind}_{load}"] for load in LOADS)


def _rates_at(found: dict[str, Any], key: str, rig: Rig, load: int) -> Measured:
    measured = Measured(rig, Arrivals(load), load)
    measured.fill(load)
    found[f"{key}_batched_{load}"] = statistics.median(_batched(measured) for _ in range(ROUNDS))
    found[f"{key}_single_{load}"] = statistics.median(_single(measured) for _ in range(ROUNDS))
    rig.validate()
    return measured


def _live(found: dict[str, Any]) -> None:
    _rates_at(found, "live_decisions_per_s", CoreRig(LIVE), max(LOADS))
    _rates_at(found, "live_steps_per_s", LoopRig(LIVE), max(LOADS))


def _batched(measured: Measured) -> float:
    measured.settle()
    placed = 0
    for _ in range(CYCLES["batched"]):
        placed += len(measured.turn(measured.ends(BATCH), measured.arrivals.draw(BATCH)))
    return placed * SECOND_NS / sum(measured.spent_ns)


def _single(measured: Measured) -> float:
    """Each event alone; the loop's third event, a task that is up, comes as a turn without ends and arrivals."""
    measured.settle()
    placed = 0
    for _ in range(CYCLES["single"]):
        measured.turn(measured.ends(1), [])
        placed += len(measured.turn([], measured.arrivals.draw(1)))
        if isinstance(measured.rig, LoopRig):
            measured.turn([], [])
    return placed * SECOND_NS / sum(measured.spent_ns)


def _check_fit(measured: Measured) -> int:
    """Check placements of some cycles against all nodes; AssertionError names the first that is not the tightest."""
    models = np.array([list(GPUS_OF).index(node.gpu_model) for node in measured.rig.ledger.specs])
    checked = 0
    for _ in range(SAMPLED_CYCLES):
        ends, arrivals = measured.ends(BATCH), measured.arrivals.draw(BATCH)
        measured.turn(ends, [])
        free = measured.rig.ledger.free[GPUS][:NODES].copy()
        for record in measured.turn([], arrivals):
            (grant,) = record.grants
            model, gpus = models[grant.node], len(grant.devices)
            fits = (models == model) & (free >= gpus)
            tightest = int(np.where(fits, free, np.iinfo(np.int64).max).argmin())
            if grant.node != tightest:
                raise AssertionError(f"job {record.job} went to node {grant.node}, the tightest is {tightest}")
            free[grant.node] -= gpus
            checked += 1
    return checked


def _long_lines(found: dict[str, Any], prefix: str, policy: PolicySpec) -> None:
    for layer, rig in (("", CoreRig), ("step_", LoopRig)):
        measured = Measured(rig(policy, [QueueSpec(name) for name in LINE_QUEUES]), Arrivals(7, LINE_QUEUES), 7)
        _line_up(measured)
        _percentiles(found, f"{prefix}{layer}{{}}_ms_100k_waiting", measured, LINE_CYCLES)


def _distinct_line(found: dict[str, Any]) -> None:
    measured = Measured(CoreRig(PLAIN), Arrivals(8, distinct=True), 8)
    plain = Arrivals(9)
    while measured.rig.waiting < FILL:
        measured.turn([], plain.draw(FILL))
    measured.spent_ns.clear()
    measured.turn([], measured.arrivals.draw(DISTINCT_LINE - measured.rig.waiting))
    found["first_s_10k_distinct"] = measured.spent_ns[-1] / SECOND_NS
    _percentiles(found, "{}_ms_10k_distinct", measured, DISTINCT_CYCLES)


def _line_up(measured: Measured) -> None:
    while measured.rig.waiting < LINE:
        measured.turn([], measured.arrivals.draw(min(FILL * 10, LINE - measured.rig.waiting)))


def _percentiles(found: dict[str, Any], key: str, measured: Measured, cycles: int) -> None:
    measured.settle()
    for _ in range(cycles):
        measured.turn(measured.ends(CHANGES), measured.arrivals.draw(CHANGES))
    spent = sorted(measured.spent_ns)
    found[key.format("p99")] = spent[len(spent) * 99 // 100] / MS_NS
    found[key.format("p50")] = spent[len(spent) // 2] / MS_NS
    measured.rig.validate()


def _peers(found: dict[str, Any]) -> None:
    load = max(LOADS)
    for name, peer in (("scan", Scan), ("buckets", Buckets)):
        found[f"{name}_per_s"] = _peer_rate(peer(fleet()), load)
        batched = found.get(f"decisions_per_s_batched_{load}")
        if batched:
            found[f"batched_to_{name}"] = batched / found[f"{name}_per_s"]
    if f"decisions_per_s_single_{load}" in found:
        found["single_to_scan"] = found[f"decisions_per_s_single_{load}"] / found["scan_per_s"]


def _peer_rate(peer: Peer, load: int) -> float:
    """Return the placements a CPU second of a peer; each comes with an end, as above."""
    arrivals, chance = Arrivals(load), random.Random(load)
    running: list[tuple[int, Demand]] = []
    held, capacity = 0, sum(GPUS_OF.values()) * NODES // len(GPUS_OF)
    while held < capacity * load // 100:
        demand = arrivals.draw(1)[0].roles[0].demand
        if (node := peer.place(demand)) >= 0:
            running.append((node, demand))
            held += demand.gpus
    rates = []
    for _ in range(ROUNDS):
        chance.shuffle(running)
        many = CYCLES["batched"] * BATCH
        ended = [running.pop() for _ in range(many)]
        demands = [spec.roles[0].demand for spec in arrivals.draw(many)]
        begun, before = time.process_time_ns(), len(running)
        for old, demand in zip(ended, demands, strict=True):
            peer.free(*old)
            if (node := peer.place(demand)) >= 0:
                running.append((node, demand))
        rates.append((len(running) - before) * SECOND_NS / (time.process_time_ns() - begun))
    return statistics.median(rates)
