"""Speed, memory and fidelity of `clearway replay` on public traces. Parts: lublin, gaia, million, swf (`--only`).

swf follows the protocol of "RLScheduler" (Zhang et al., SC 2020): 10 sequences of 1,024 jobs of Lublin-256, drawn as
the authors' program draws them, each on an empty machine of 256 processors with run times known; the mean over the
sequences of the mean bounded slowdown. The published backfilling starts a job only if it ends before the first one's
reservation; ours also fills processors that the reservation does not need (EASY as Lifka described it in 1995).
"""

from __future__ import annotations

import hashlib
import multiprocessing as mp
import random
import statistics
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from clearway.model.fleet import PolicySpec
from clearway.model.job import JobSpec
from clearway.model.values import SECOND_US
from clearway.sim.results.paired import compare
from clearway.sim.results.replay import Plan, replay
from clearway.sim.truth import Truth
from clearway.sim.workloads import Arrival, open_workload
from clearway.sim.workloads.fleet_words import node_words
from clearway.sim.workloads.fleets import fleet_for
from clearway.sim.workloads.shapes import gpu_nodes, gpu_roles, pool
from clearway.sim.workloads.survey import Survey
from clearway.sim.workloads.writer import written

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from clearway.sim.results.outcome import Outcome

TITLE = "speed, memory and fidelity of replays of public traces"
MIB = 2**20
EASY = PolicySpec(order=("fifo",), backfill="easy", estimate="oracle")
FCFS = PolicySpec(order=("fifo",), backfill="none", estimate="oracle")
PRIORITY = PolicySpec(order=("priority", "fifo"), backfill="none")
GAIA = ("pai-100k", "azure-100k", "mustang-trace-2015-100k")
SEQUENCES, LENGTH, PROCESSORS = 10, 1024, 256
PUBLISHED_SEED = 1  # the default of the authors' program; it yields their FCFS figure to the digit
PUBLISHED = {"fcfs": 7274, "easy": 236}
MILLION, NODES, NODE_GPUS, LOAD = 1_000_000, 64, 8, 0.8

KEYS = {
    "lublin_seconds": "s for 10,000 jobs, FIFO with EASY backfill, run times known",
    "lublin_jobs_per_second": "jobs a second",
    "million_peak_mib": "MiB of memory at most for a million synthetic jobs",
    "million_seconds": "s for them",
    "million_jobs_per_second": "jobs a second",
    "swf_fcfs": "mean bounded slowdown, FCFS without backfill",
    "swf_fcfs_published": "published for it",
    "swf_easy": "mean bounded slowdown, FCFS with EASY backfill",
    "swf_easy_published": "published for it (a narrower backfill)",
    "swf_easy_minus_fcfs": "paired difference",
    "swf_easy_minus_fcfs_low": "its 95 % interval from resampled sequences",
    "swf_easy_minus_fcfs_high": "",
} | {f"gaia_{name}_seconds": "s for 100,000 jobs, plain priority" for name in GAIA}


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
    jobs = list(open_workload(data / "swf" / "lublin_256.swf.gz").arrivals())
    with tempfile.TemporaryDirectory() as folder:
        files = [_slice(jobs, start, Path(folder)) for start in starts(len(jobs))]
        fcfs, easy = ([timed(file, policy)[1] for file in files] for policy in (FCFS, EASY))
    means = {"fcfs": _slowdown(fcfs), "easy": _slowdown(easy)}
    low, high = _interval(fcfs, easy)
    return {
        "swf_fcfs": means["fcfs"], "swf_fcfs_published": PUBLISHED["fcfs"],
        "swf_easy": means["easy"], "swf_easy_published": PUBLISHED["easy"],
        "swf_easy_minus_fcfs": means["easy"] - means["fcfs"],
        "swf_easy_minus_fcfs_low": low, "swf_easy_minus_fcfs_high": high,
    }  # fmt: skip


def starts(jobs: int, seed: int = PUBLISHED_SEED) -> list[int]:
    """Draw where the sequences begin: NumPy's old generator, seeded as Gym did, by the SHA-512 of the seed."""
    words = np.frombuffer(hashlib.sha512(str(seed).encode()).digest()[:8], "<u4")
    chance = np.random.RandomState(words)
    return [int(chance.randint(LENGTH, jobs - LENGTH - 1)) for _ in range(SEQUENCES)]


def _slice(jobs: list[Arrival], start: int, folder: Path) -> Path:
    file = folder / f"{start}.jsonl"
    with written(file, {"fleet": {"nodes": [node_words(pool(PROCESSORS)[0])]}}) as write:
        for arrival in jobs[start : start + LENGTH]:
            write(arrival._replace(spec=msgspec.structs.replace(arrival.spec, queue="default")))
    return file


def _slowdown(outcomes: list[Outcome]) -> float:
    return float(statistics.mean(o.figures["bounded_slowdown"] for o in outcomes))


def _interval(base: list[Outcome], other: list[Outcome]) -> tuple[float, float]:
    """Resample whole sequences."""
    each = np.array([compare(b.jobs, o.jobs)["bounded_slowdown"]["mean"] for b, o in zip(base, other, strict=True)])
    chance = np.random.default_rng(0)
    means = each[chance.integers(0, len(each), (2000, len(each)))].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
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
