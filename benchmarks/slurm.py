"""Clearway on a Slurm cluster of four nodes, beside `sbatch` on the same cluster without it.

The nodes are processes of this machine, their devices only counted, what runs sleeps: what is measured is who waits
for whom, and what a start costs. Slurm has the settings for scheduling that it has by itself, and in the rows with a *
those with which it looks most often. A gang is one job of several nodes there, started by `srun`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.by_clearway import LONGEST_S, by_clearway, clearway_on, through
from benchmarks.cluster_jobs import GANGS, GPUS, SMALL, queue
from clearway.engines.slurm.commands import nodes_of
from tests.engines.slurm_cluster import Cluster

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from clearway.sdk import Client

TITLE = "a Slurm cluster of four nodes with Clearway and without: starts, and a queue of gangs and small jobs"
ONLY = ("starts", "queue")
AS_IT_COMES = "bf_interval=30"
"""What Slurm does by itself."""
AT_ITS_QUICKEST = "bf_interval=1,bf_resolution=1,sched_interval=1,batch_sched_delay=0,sched_min_interval=0"
FIRST_ONES = 5
NODES, TASKS = 4, 100
POLICIES = {
    "as they come": {"order": ["fifo"], "backfill": "easy"},
    "shortest first": {"order": ["sjf"], "backfill": "easy"},
}
LOOK_S = 0.02
HELD_LOOK_S = 0.2

KEYS = {
    "first_task_ms": f"ms from the submit of a job (`sleep 0`) to its end, nothing else there; median of {FIRST_ONES}",
    "first_task_slurm_ms": "ms for the same by sbatch, to its end on the node",
    "task_ms": f"ms a job, {TASKS} of them in one submit, {NODES * GPUS} devices",
    "task_slurm_ms": "ms a job of sbatch, as many one after the other",
    "queue": f"{SMALL} small jobs (a device, 1 to 4 s), {GANGS} gangs (2 or 3 whole nodes, 2 to 5 s), all at once; "
    f"* with {AT_ITS_QUICKEST}",
}


def run(args: Namespace) -> dict[str, Any]:
    """Measure; `--only starts` or `--only queue` for a part."""
    parts = args.only or ONLY
    found: dict[str, Any] = {}
    with _cluster(AS_IT_COMES) as cluster:
        if "starts" in parts:
            found |= _starts(cluster)
        if "queue" in parts:
            found["queue"] = _queues(cluster, "")
    if "queue" in parts:
        with _cluster(AT_ITS_QUICKEST) as cluster:
            found["queue"] += _queues(cluster, " *")
    return found


@contextmanager
def _cluster(scheduling: str) -> Iterator[Cluster]:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        cluster = Cluster(Path(folder), ("",) * GPUS, SchedulerParameters=scheduling)
        try:
            cluster.begin()
            patch.setenv("SLURM_CONF", cluster.environment["SLURM_CONF"])
            yield cluster
        finally:
            cluster.end()


def _on(policy: dict[str, Any]) -> AbstractContextManager[Client]:
    return clearway_on({"engine": "slurm", "policy": policy}, NODES)


def _starts(cluster: Cluster) -> dict[str, float]:
    task = {"tasks": 1, "gpus": 1, "seconds": 0}
    plain_first = median(max(_plain(cluster, [task])) for _ in range(FIRST_ONES))
    plain = max(_plain(cluster, [task] * TASKS))
    with _on(POLICIES["as they come"]) as client:
        first, every = median(through(client, 1) for _ in range(FIRST_ONES)), through(client, TASKS)
    return {
        "first_task_ms": 1000 * first, "first_task_slurm_ms": 1000 * plain_first,
        "task_ms": 1000 * every / TASKS, "task_slurm_ms": 1000 * plain / TASKS,
    }  # fmt: skip


def _row(name: str, jobs: list[dict[str, Any]], over: list[float], held_s: float) -> dict[str, str]:
    busy_s = sum(job["tasks"] * job["gpus"] * job["seconds"] for job in jobs)
    gangs = [end for job, end in zip(jobs, over, strict=True) if job["tasks"] > 1]
    small = [end for job, end in zip(jobs, over, strict=True) if job["tasks"] == 1]
    return {
        "": name, "mean s": f"{mean(over):.1f}", "small s": f"{mean(small):.1f}", "gangs s": f"{mean(gangs):.1f}",
        "all s": f"{max(over):.1f}", "held but idle": f"{held_s - busy_s:.0f} of {held_s:.0f} device s",
    }  # fmt: skip


def _plain(cluster: Cluster, jobs: list[dict[str, Any]]) -> list[float]:
    """Submit jobs one after the other, and return after how many seconds each was over, by a mark that it leaves."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.time()
        for number, job in enumerate(jobs):
            line = f"{'srun ' * (job['tasks'] > 1)}sleep {job['seconds']}; touch {folder}/{number}"
            words = [
                f"--nodes={job['tasks']}", f"--ntasks={job['tasks']}", f"--gres=gpu:{job['gpus']}", "--chdir=/",
                "--output=/dev/null", "--time=1", f"--wrap={line}",
            ]  # fmt: skip
            subprocess.run(["sbatch", *words], env=cluster.environment, stdout=subprocess.DEVNULL, check=True)  # noqa: S607
        marks = [Path(folder, str(number)) for number in range(len(jobs))]
        while not all(mark.exists() for mark in marks):
            if time.time() - began > LONGEST_S:
                sys.exit(f"Slurm does not end its jobs: {cluster.tell('squeue')}")
            time.sleep(LOOK_S)
        return [mark.stat().st_mtime - began for mark in marks]


def _queues(cluster: Cluster, mark: str) -> list[dict[str, str]]:
    jobs = queue()
    with _watched() as held:
        over = _plain(cluster, jobs)
    rows = [_row(f"Slurm alone{mark}", jobs, over, held[0])]
    for name, policy in POLICIES.items():
        with _on(policy) as client, _watched() as held:
            over = by_clearway(client, jobs)
        rows.append(_row(f"Clearway, {name}{mark}", jobs, over, held[0]))
    return rows


@contextmanager
def _watched() -> Iterator[list[float]]:
    """Give a list that has, afterwards, the device seconds that Slurm held meanwhile."""
    found, over = [0.0], threading.Event()

    def watch() -> None:
        last = time.perf_counter()
        while not over.wait(HELD_LOOK_S):
            many, now = sum(len(node.used) for node in nodes_of("")), time.perf_counter()
            found[0] += many * (now - last)
            last = now

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield found
    finally:
        over.set()
        watcher.join()
