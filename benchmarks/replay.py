"""Speed, memory and fidelity of `clearway replay` on public traces. Parts: lublin, gaia, million, swf (`--only`)."""

from __future__ import annotations

import multiprocessing as mp
import random
import statistics
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import rlscheduler as rl
from clearway.model.fleet import PolicySpec
from clearway.model.job import JobSpec
from clearway.model.values import SECOND_US
from clearway.sim.results.paired import DRAWS, HIGH, LOW, compare
from clearway.sim.results.replay import Plan, replay
from clearway.sim.truth import Truth
from clearway.sim.workloads import Arrival, open_workload
from clearway.sim.workloads.fleet_words import node_words
from clearway.sim.workloads.fleets import fleet_for
from clearway.sim.workloads.shapes import gpu_nodes, gpu_roles
from clearway.sim.workloads.survey import Survey
from clearway.sim.workloads.writer import written

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from clearway.sim.results.outcome import Outcome

TITLE = "speed, memory and fidelity of replays of public traces"
MIB = 2**20
EASY = PolicySpec(order=("fifo",), backfill="easy", estimate="oracle")
PRIORITY = PolicySpec(order=("priority", "fifo"), backfill="none")
GAIA = ("pai-100k", "azure-100k", "mustang-trace-2015-100k")
MILLION, NODES, NODE_GPUS, LOAD = 1_000_000, 64, 8, 0.8

KEYS = {
    "lublin_seconds": "s for 10,000 jobs, FIFO with EASY backfill, run times known",
    "lublin_jobs_per_second": "jobs a second",
    "million_peak_mib": "MiB of memory at most for a million synthetic jobs",
    "million_seconds": "s for them",
    "million_jobs_per_second": "jobs a second",
    "swf_easy_minus_none": "paired difference of FCFS with and without EASY",
    "swf_easy_minus_none_low": "its 95 % interval from resampled sequences",
    "swf_easy_minus_none_high": "",
} | {f"gaia_{name}_seconds": "s for 100,000 jobs, plain priority" for name in GAIA}
for _order in rl.CELLS:
    for _backfill in ("none", "easy"):
        KEYS[f"swf_{_order}_{_backfill}"] = f"mean bounded slowdown, {_order}, backfill {_backfill}"
        KEYS[f"swf_{_order}_{_backfill}_published"] = "published for it"
        KEYS[f"swf_{_order}_{_backfill}_by_their_rules"] = "by the published rules, in a program of its own"


def run(args: Namespace) -> dict[str, Any]:
    """Run the parts."""
    parts = {"lublin": _lublin, "gaia": _gaia, "swf": _swf, "million": _million}
    found: dict[str, Any] = {}
    for name, part in parts.items():
        if not args.only or name in args.only:
            found |= part(args.data)
    return found


def _lublin(data: Path) -> dict[str, Any]:
    seconds, outcome = timed(data / "swf" / "lublin_256.swf.gz", EASY)
    return {"lublin_seconds": seconds, "lublin_jobs_per_second": outcome.figures["finished"] / seconds}


def _gaia(data: Path) -> dict[str, Any]:
    files = {name: data / "gaia-cluster" / f"{name}.csv.gz" for name in GAIA}
    return {f"gaia_{name}_seconds": timed(file, PRIORITY)[0] for name, file in files.items()}


def timed(workload: Path, policy: PolicySpec) -> tuple[float, Outcome]:
    """Replay a whole file, and return the seconds from opening it to the figures, and the outcome."""
    begun = time.perf_counter()
    trace = open_workload(workload)
    outcome = replay(Plan(workload, fleet_for(trace, Survey.of(trace)), "timed", policy))
    return time.perf_counter() - begun, outcome


# --- fidelity ----------------------------------------------------------------------------------


def _swf(data: Path) -> dict[str, Any]:
    drawn = rl.sequences(data / "swf" / "lublin_256.swf.gz")
    found: dict[str, Any] = {}
    cells: dict[tuple[str, str], rl.Cell] = {}
    for order, published in rl.CELLS.items():
        for backfill, figure in zip(("none", "easy"), published, strict=True):
            cells[order, backfill] = rl.cell(order, backfill, drawn)
            found[f"swf_{order}_{backfill}"] = cells[order, backfill].slowdown
            found[f"swf_{order}_{backfill}_published"] = figure
            theirs = [rl.their_slowdown(order, jobs, backfill=backfill == "easy") for jobs in drawn]
            found[f"swf_{order}_{backfill}_by_their_rules"] = statistics.mean(theirs)
    low, high = _interval(cells["fifo", "none"], cells["fifo", "easy"])
    found["swf_easy_minus_none"] = found["swf_fifo_easy"] - found["swf_fifo_none"]
    return found | {"swf_easy_minus_none_low": low, "swf_easy_minus_none_high": high}


def _interval(base: rl.Cell, other: rl.Cell) -> tuple[float, float]:
    """Resample whole sequences."""
    pairs = zip(base.sequences, other.sequences, strict=True)
    each = np.array([compare(b, o)["bounded_slowdown"]["mean"] for b, o in pairs])
    chance = np.random.default_rng(0)
    means = each[chance.integers(0, len(each), (DRAWS, len(each)))].mean(axis=1)
    low, high = np.percentile(means, [LOW, HIGH])
    return float(low), float(high)


# --- scale -------------------------------------------------------------------------------------


def _million(_data: Path) -> dict[str, Any]:
    """In a process of its own, so that the peak is that of this run."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "million.jsonl.gz"
        with written(file, {"fleet": {"nodes": [node_words(n) for n in gpu_nodes(NODES, NODE_GPUS)]}}) as write:
            for arrival in islice(synthetic(1), MILLION):
                write(arrival)
        with mp.get_context("spawn").Pool(1) as workers:
            seconds, outcome = workers.apply(timed, (file, PRIORITY))
    finished = outcome.figures["finished"]
    return {
        "million_peak_mib": outcome.peak_bytes / MIB,
        "million_seconds": seconds,
        "million_jobs_per_second": finished / seconds,
    }


def synthetic(seed: int) -> Iterator[Arrival]:
    """Yield jobs without end: Poisson arrivals, 1 to 8 GPUs, run times over four orders of magnitude."""
    chance = random.Random(seed)
    sizes, median_s, sigma = (1, 1, 1, 1, 2, 2, 4, 8), 600, 1.5
    mean_s = median_s * float(np.exp(sigma**2 / 2))
    gap_s = statistics.mean(sizes) * mean_s / (NODES * NODE_GPUS * LOAD)
    at_us, number = 0, 0
    while True:
        number += 1
        run_us = max(1, round(chance.lognormvariate(float(np.log(median_s)), sigma) * SECOND_US))
        spec = JobSpec(f"job-{number}", gpu_roles(chance.choice(sizes), NODE_GPUS), priority=chance.randrange(3))
        yield Arrival(at_us, spec, Truth(runtimes_us=(run_us,)))
        at_us += round(chance.expovariate(1 / gap_s) * SECOND_US)
