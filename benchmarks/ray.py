"""Clearway on a Ray cluster of four nodes, beside programs that use the same cluster without it.

The nodes are processes of this machine, their devices only counted, what runs sleeps: what is measured is who waits for
whom, and what a start costs. The programs beside are in `beside/ray_plain.py`. A gang is a placement group
there, asked for at once with all others, as Ray's own libraries do.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

from clearway.compose.launch import ensure_running, stop
from clearway.sdk import Client
from tests.engines.ray_cluster import Cluster

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

TITLE = "a Ray cluster of four nodes with Clearway and without: starts, and a queue of gangs and small jobs"
PLAIN = Path(__file__).parent / "beside" / "ray_plain.py"
ONLY = ("starts", "queue")
NODES, GPUS = 4, 4
TASKS = 100
SEED, SMALL, GANGS = 1, 36, 12
POLICIES = {
    "as they come": {"order": ["fifo"], "backfill": "easy"},
    "shortest first": {"order": ["sjf"], "backfill": "easy"},
}
LONGEST_S = 600.0

KEYS = {
    "first_task_ms": "ms from the submit of the first job (`true`, a device) to its end, everything else running",
    "first_task_ray_ms": "ms for the same as a task of Ray",
    "task_ms": f"ms a job, {TASKS} of them in one submit, {NODES * GPUS} devices",
    "task_ray_ms": "ms a task of Ray, as many at once",
    "queue": f"{SMALL} small jobs (a device, 1 to 4 s), {GANGS} gangs (2 or 3 whole nodes, 2 to 5 s), all at once",
}


def run(args: Namespace) -> dict[str, Any]:
    """Measure; `--only starts` or `--only queue` for a part."""
    parts = args.only or ONLY
    found: dict[str, Any] = {}
    with _cluster() as cluster:
        if "starts" in parts:
            found |= _starts(cluster)
        if "queue" in parts:
            found["queue"] = _queues(cluster)
    return found


@contextmanager
def _cluster() -> Iterator[Cluster]:
    cluster = Cluster()
    try:
        cluster.add(cpus=0, gpus=0)
        for _ in range(NODES):
            cluster.add(gpus=GPUS)
        cluster.ready()
        yield cluster
    finally:
        cluster.end()


def _plain(cluster: Cluster, *words: str) -> dict[str, Any]:
    command = [sys.executable, str(PLAIN), words[0], cluster.address, *words[1:]]
    done = subprocess.run(command, env=cluster.environment, stdout=subprocess.PIPE, check=True, timeout=LONGEST_S)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@contextmanager
def _clearway(cluster: Cluster, policy: dict[str, Any]) -> Iterator[Client]:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        settings = {"engine": "ray", "ray": {"address": cluster.address}, "policy": policy}
        (home / "clearway.yaml").write_text(json.dumps(settings))
        ensure_running(home)
        try:
            client = Client.connect(home)
            while len(client.nodes()) < NODES:
                time.sleep(0.05)
            yield client
        finally:
            stop(home)


def _starts(cluster: Cluster) -> dict[str, float]:
    plain = _plain(cluster, "overhead", str(TASKS))
    with _clearway(cluster, POLICIES["as they come"]) as client:
        first = _through(client, 1)
        every = _through(client, TASKS)
    return {
        "first_task_ms": 1000 * first, "first_task_ray_ms": 1000 * plain["first_s"],
        "task_ms": 1000 * every / TASKS, "task_ray_ms": 1000 * plain["all_s"] / TASKS,
    }  # fmt: skip


def _through(client: Client, jobs: int) -> float:
    began = time.perf_counter()
    words = [{"name": f"start-{n}", "run": ["sleep", "0"], "gpus": 1, "cpus": 0.1} for n in range(jobs)]
    for row in client.submit(words):
        client.wait(f"id:{row['id']}", LONGEST_S)
    return time.perf_counter() - began


def _jobs() -> list[dict[str, Any]]:
    draw = random.Random(SEED)
    small = [{"tasks": 1, "gpus": 1, "seconds": round(draw.uniform(1, 4), 1)} for _ in range(SMALL)]
    gangs = [
        {"tasks": draw.choice((2, 3)), "gpus": GPUS, "seconds": round(draw.uniform(2, 5), 1)} for _ in range(GANGS)
    ]
    jobs = small + gangs
    draw.shuffle(jobs)
    return jobs


def _queues(cluster: Cluster) -> list[dict[str, str]]:
    jobs = _jobs()
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(jobs, file)
        file.flush()
        with _watched(cluster) as held:
            over = _plain(cluster, "queue", file.name)["over_s"]
    rows = [_row("Ray alone", jobs, over, held[0])]
    for name, policy in POLICIES.items():
        with _clearway(cluster, policy) as client, _watched(cluster) as held:
            over = _queue(client, jobs)
        rows.append(_row(f"Clearway, {name}", jobs, over, held[0]))
    return rows


def _queue(client: Client, jobs: list[dict[str, Any]]) -> list[float]:
    words = [
        {
            "name": f"job-{number}", "run": ["sleep", str(job["seconds"])], "tasks": job["tasks"], "gpus": job["gpus"],
            "cpus": 0.1, "one_per_node": True, "time_estimate": job["seconds"],
        }
        for number, job in enumerate(jobs)
    ]  # fmt: skip
    over = []
    for entered in client.submit(words):
        row = client.wait(f"id:{entered['id']}", LONGEST_S)
        over.append((_moment(row["ended"]) - _moment(row["submitted"])).total_seconds())
    return over


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


@contextmanager
def _watched(cluster: Cluster) -> Iterator[list[float]]:
    """Give a list that has, afterwards, the device seconds that Ray's ledger held meanwhile."""
    found: list[float] = []
    watcher = subprocess.Popen(
        [sys.executable, str(PLAIN), "watch", cluster.address], env=cluster.environment, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    if watcher.stdout is not None:
        watcher.stdout.readline()
    yield found
    said, _ = watcher.communicate()
    found.append(json.loads(said.splitlines()[-1])["held_s"])


def _row(name: str, jobs: list[dict[str, Any]], over: list[float], held_s: float) -> dict[str, str]:
    busy_s = sum(job["tasks"] * job["gpus"] * job["seconds"] for job in jobs)
    gangs = [end for job, end in zip(jobs, over, strict=True) if job["tasks"] > 1]
    small = [end for job, end in zip(jobs, over, strict=True) if job["tasks"] == 1]
    return {
        "": name, "mean s": f"{mean(over):.1f}", "small s": f"{mean(small):.1f}", "gangs s": f"{mean(gangs):.1f}",
        "all s": f"{max(over):.1f}", "held but idle": f"{held_s - busy_s:.0f} of {held_s:.0f} device s",
    }  # fmt: skip
