"""Speed and memory of `clearway replay` on public traces. Parts: lublin, gaia, million (`--only`)."""

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

from clearway.model.fleet import PolicySpec
from clearway.model.job import JobSpec
from clearway.model.values import SECOND_US
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

TITLE = "speed and memory of replays of public traces"
MIB = 2**20
EASY = PolicySpec(order=("fifo",), backfill="easy", estimate="oracle")
PRIORITY = PolicySpec(order=("priority", "fifo"), backfill="none")
GAIA = ("pai-100k", "azure-100k", "mustang-trace-2015-100k")
MILLION, NODES, NODE_GPUS, LOAD = 1_000_000, 64, 8, 0.8
ONLY = ("lublin", "gaia", "million")

KEYS = {
    "lublin_seconds": "s for 10,000 jobs, FIFO with EASY backfill, run times known",
    "lublin_jobs_per_second": "jobs a second",
    "million_peak_mib": "MiB of memory at most for a million synthetic jobs",
    "million_seconds": "s for them",
    "million_jobs_per_second": "jobs a second",
} | {f"gaia_{name}_seconds": "s for 100,000 jobs, plain priority" for name in GAIA}


def run(args: Namespace) -> dict[str, Any]:
    """Run the parts."""
    found: dict[str, Any] = {}
    for name, part in zip(ONLY, (_lublin, _gaia, _million), strict=True):
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
