"""Programs on a Ray cluster without Clearway, each in a process of its own: `ray_plain.py WHAT ADDRESS ..`.

`overhead N` and `queue FILE` do with Ray's own tasks and placement groups what the benchmark `ray` does with jobs;
`watch` looks how many devices Ray's ledger has held, whoever holds them, until the standard input ends.
"""

from __future__ import annotations

import json
import logging
import select
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import ray
from ray.util.placement_group import placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

if TYPE_CHECKING:
    from collections.abc import Callable

LOOK_S = 0.05
LONGEST_S = 600
ALONE = 10


def _command(seconds: float) -> None:
    subprocess.run(["/bin/sleep", str(seconds)], check=True)


def overhead(number: str) -> dict[str, float]:
    """Return how long the first task takes, one by itself then, and all of so many at once, each with a device.

    Written as usual, so that Ray ends a worker with its task, and so that it keeps workers.
    """
    usual = ray.remote(num_gpus=1, num_cpus=0.1)(_command)
    kept = ray.remote(num_cpus=0.1)(_command).options(num_gpus=1)
    found = {"first_s": _through(usual, 1)}
    for name, task in (("", usual), ("kept_", kept)):
        found[f"{name}alone_s"] = median(_through(task, 1) for _ in range(ALONE))
        found[f"{name}all_s"] = _through(task, int(number))
    return found


def _through(task: Any, number: int) -> float:  # noqa: ANN401  one of Ray's
    began = time.perf_counter()
    ray.get([task.remote(0) for _ in range(number)])
    return time.perf_counter() - began


def queue(path: str) -> dict[str, Any]:
    """Return how long each job took, asked for at its time; a gang waits for a placement group.

    Before, each device has had a task: the workers are there. It begins when it is told to.
    """
    jobs = json.loads(Path(path).read_text())
    task = ray.remote(num_cpus=0.1)(_command)
    ray.get([task.options(num_gpus=1).remote(1) for _ in range(int(ray.cluster_resources()["GPU"]))])
    print("ready", flush=True)
    sys.stdin.readline()

    def finish(job: dict[str, Any], asked: float, what: Any) -> float:  # noqa: ANN401  a promise, or a group
        if job["tasks"] == 1:
            ray.get(what)
            return time.perf_counter() - asked
        what.wait(LONGEST_S)
        of_it = [
            task.options(
                num_gpus=job["gpus"], scheduling_strategy=PlacementGroupSchedulingStrategy(what, number)
            ).remote(job["seconds"])
            for number in range(job["tasks"])
        ]
        ray.get(of_it)
        over = time.perf_counter() - asked
        remove_placement_group(what)
        return over

    def ask(job: dict[str, Any]) -> Any:  # noqa: ANN401
        if job["tasks"] == 1:
            return task.options(num_gpus=job["gpus"]).remote(job["seconds"])
        return placement_group([{"GPU": job["gpus"], "CPU": 0.1}] * job["tasks"], strategy="STRICT_SPREAD")

    began = time.perf_counter()
    with ThreadPoolExecutor(len(jobs)) as threads:
        over = []
        for job in jobs:
            time.sleep(max(began + job["at"] - time.perf_counter(), 0))
            asked = time.perf_counter()
            over.append(threads.submit(finish, job, asked, ask(job)))
        return {"over_s": [one.result() for one in over]}


def watch() -> dict[str, float]:
    """Return the device seconds that were held."""
    total, held, last = ray.cluster_resources()["GPU"], 0.0, time.perf_counter()
    print("watching", flush=True)
    while not select.select([sys.stdin], [], [], LOOK_S)[0]:
        free = ray.available_resources().get("GPU", 0.0)
        now = time.perf_counter()
        held, last = held + (total - free) * (now - last), now
    return {"held_s": held}


if __name__ == "__main__":
    ray.init(sys.argv[2], log_to_driver=False, logging_level=logging.ERROR)
    what: dict[str, Callable[..., dict[str, Any]]] = {"overhead": overhead, "queue": queue, "watch": watch}
    print(json.dumps(what[sys.argv[1]](*sys.argv[3:])), flush=True)
