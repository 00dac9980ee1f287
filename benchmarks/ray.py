"""Clearway on a Ray cluster of four nodes, beside programs that use the same cluster without it.

The nodes are processes of this machine, their devices only counted, what runs sleeps: what is measured is who waits for
whom, and what a start costs. The programs beside are in `beside/ray_plain.py`. A gang is a placement group
there, asked for at once with all others, as Ray's own libraries do.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING, Any

from benchmarks.by_clearway import LONGEST_S, by_clearway, clearway_on, through, words_of
from benchmarks.cluster_jobs import GANGS, GPUS, SMALL, STREAM_GANGS, STREAM_S, STREAM_SMALL, Job, queue, stream
from clearway.model.events import Ended
from clearway.sim.run import simulate
from tests.engines.ray_cluster import Cluster

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from clearway.sdk import Client

TITLE = "a Ray cluster of four nodes with Clearway and without: starts, and a queue of gangs and small jobs"
PLAIN = Path(__file__).parent / "beside" / "ray_plain.py"
ONLY = ("starts", "queue", "stream", "simulated")
NET = "127.0.20"
NODES = 4
TASKS, ALONE = 100, 10
REPEATS = 3
READY_S = 8.0
"""A controller is not started for a queue: by then it has its hosts, as Ray has had its workers made."""
POLICIES: dict[str, dict[str, Any]] = {
    "as they come": {"order": ["fifo"], "backfill": "easy"},
    "smallest area first": {"order": ["saf"], "backfill": "easy"},
}
HELD = "held but idle, device s"
MICROS = 1_000_000

KEYS = {
    "first_task_ms": "ms from the submit of the first job (`sleep 0`, a device) to its end, right after a start",
    "first_task_ray_ms": "ms for the same as a task of Ray",
    "alone_ms": "ms for one by itself afterwards",
    "alone_ray_ms": "ms for one task of Ray by itself afterwards",
    "task_ms": f"ms a job, {TASKS} of them in one submit, {NODES * GPUS} devices",
    "task_ray_ms": "ms a task of Ray, as many at once",
    "alone_kept_ray_ms": "as alone_ray_ms, where Ray keeps workers: num_gpus by .options(), not by @remote",
    "task_kept_ray_ms": "as task_ray_ms, where Ray keeps workers",
    "queue": (
        f"{SMALL} small jobs (a device, 1 to 4 s) and {GANGS} gangs (2 or 3 whole nodes, 2 to 5 s), all at once; "
        f"median of {REPEATS} (least to most)"
    ),
    "simulated": "the same jobs in the simulator, where a start costs nothing: first all at once, then as they come",
    "stream": (
        f"{STREAM_SMALL} small jobs (a device, 2 to 6 s) and {STREAM_GANGS} gangs (2 or 3 whole nodes, 3 to 5 s) that "
        f"come within {STREAM_S} s; median of {REPEATS} (least to most)"
    ),
}


def run(args: Namespace) -> dict[str, Any]:
    """Measure; `--only` names a part. That of the simulator needs no cluster."""
    parts = args.only or ONLY
    found: dict[str, Any] = {}
    if "simulated" in parts:
        found["simulated"] = [row for jobs in (queue(), stream()) for row in _simulated(jobs)]
    if list(parts) == ["simulated"]:
        return found
    with _cluster() as cluster:
        if "starts" in parts:
            found |= _starts(cluster)
        if "queue" in parts:
            found["queue"] = _queues(cluster, queue())
        if "stream" in parts:
            found["stream"] = _queues(cluster, stream())
    return found


@contextmanager
def _cluster() -> Iterator[Cluster]:
    cluster = Cluster(net=NET)
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


def _on(cluster: Cluster, policy: dict[str, Any]) -> AbstractContextManager[Client]:
    return clearway_on({"engine": "ray", "ray": {"address": cluster.address}, "policy": policy}, NODES)


def _starts(cluster: Cluster) -> dict[str, float]:
    plain = _plain(cluster, "overhead", str(TASKS))
    with _on(cluster, POLICIES["as they come"]) as client:
        first = through(client, 1)
        alone = median(through(client, 1) for _ in range(ALONE))
        every = through(client, TASKS)
    return {
        "first_task_ms": 1000 * first, "first_task_ray_ms": 1000 * plain["first_s"],
        "alone_ms": 1000 * alone, "alone_ray_ms": 1000 * plain["alone_s"],
        "task_ms": 1000 * every / TASKS, "task_ray_ms": 1000 * plain["all_s"] / TASKS,
        "alone_kept_ray_ms": 1000 * plain["kept_alone_s"], "task_kept_ray_ms": 1000 * plain["kept_all_s"] / TASKS,
    }  # fmt: skip


def _queues(cluster: Cluster, jobs: list[Job]) -> list[dict[str, str]]:
    """Have each in turn go through the jobs, and all of them again."""
    runs: dict[str, list[dict[str, float]]] = {}
    for _ in range(REPEATS):
        runs.setdefault("Ray alone", []).append(_by_ray(cluster, jobs))
        for name, policy in POLICIES.items():
            with _on(cluster, policy) as client:
                time.sleep(READY_S)
                with _watched(cluster) as held:
                    over = by_clearway(client, jobs)
            runs.setdefault(f"Clearway, {name}", []).append(_figures(jobs, over, held[0]))
    return [{"": name, **_spread(many)} for name, many in runs.items()]


def _simulated(jobs: list[Job]) -> list[dict[str, str]]:
    fleet = {"nodes": [{"name": "n", "count": NODES, "gpus": GPUS}]}
    words = [
        {word: said for word, said in words_of(number, job).items() if word not in {"run", "cpus"}}
        | {"submit": job["at"], "runtime": job["seconds"]}
        for number, job in enumerate(jobs)
    ]
    rows = []
    for name, policy in POLICIES.items():
        outcome = simulate(json.dumps({"policy": policy, "fleet": fleet, "jobs": words}))
        ended = {outcome.jobs[one.job]: one.at_us / MICROS for one in outcome.records if isinstance(one, Ended)}
        over = [ended[job["name"]] - job["submit"] for job in words]
        figures = _figures(jobs, over, 0)
        rows.append({"": name, **{word: f"{found:.1f}" for word, found in figures.items() if word != HELD}})
    return rows


def _by_ray(cluster: Cluster, jobs: list[Job]) -> dict[str, float]:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(jobs, file)
        file.flush()
        command = [sys.executable, str(PLAIN), "queue", cluster.address, file.name]
        program = subprocess.Popen(
            command, env=cluster.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        if program.stdout is not None:
            program.stdout.readline()
        with _watched(cluster) as held:
            said, _ = program.communicate("begin\n", LONGEST_S)
    return _figures(jobs, json.loads(said.splitlines()[-1])["over_s"], held[0])


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


def _figures(jobs: list[Job], over: list[float], held_s: float) -> dict[str, float]:
    busy_s = sum(job["tasks"] * job["gpus"] * job["seconds"] for job in jobs)
    done = list(zip(jobs, over, strict=True))
    gangs = [(job, end) for job, end in done if job["tasks"] > 1]
    return {
        "mean s": mean(over), "small s": mean(end for job, end in done if job["tasks"] == 1),
        "gangs s": mean(end for _, end in gangs),
        "a gang waits at most s": max(end - job["seconds"] for job, end in gangs),
        "all over s": max(job["at"] + end for job, end in done), HELD: held_s - busy_s,
    }  # fmt: skip


def _spread(many: list[dict[str, float]]) -> dict[str, str]:
    shown = {}
    for name in many[0]:
        found = [one[name] for one in many]
        shown[name] = f"{median(found):.1f} ({min(found):.1f} to {max(found):.1f})"
    return shown
