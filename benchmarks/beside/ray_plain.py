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
from typing import TYPE_CHECKING, Any

import ray
from ray.util.placement_group import placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

if TYPE_CHECKING:
    from collections.abc import Callable

LOOK_S = 0.05
LONGEST_S = 600


def _command(seconds: float) -> None:
    subprocess.run(["/bin/sleep", str(seconds)], check=True)


def overhead(number: str) -> dict[str, float]:
    """Return how long the first task takes, and all of so many at once, each a process with a device."""
    task = ray.remote(num_gpus=1, num_cpus=0.1)(_command)
    began = time.perf_counter()
    ray.get(task.remote(0))
    first = time.perf_counter() - began
    began = time.perf_counter()
    ray.get([task.remote(0) for _ in range(int(number))])
    return {"first_s": first, "all_s": time.perf_counter() - began}


def queue(path: str) -> dict[str, Any]:
    """Return when each job was over; a gang waits for a placement group, all are asked for in the order of the file."""
    jobs = json.loads(Path(path).read_text())
    task = ray.remote(num_cpus=0.1)(_command)
    began = time.perf_counter()

    def finish(asked: tuple[dict[str, Any], Any]) -> float:
        job, what = asked
        if job["tasks"] == 1:
            ray.get(what)
            return time.perf_counter() - began
        what.wait(LONGEST_S)
        of_it = [
            task.options(
                num_gpus=job["gpus"], scheduling_strategy=PlacementGroupSchedulingStrategy(what, number)
            ).remote(job["seconds"])
            for number in range(job["tasks"])
        ]
        ray.get(of_it)
        over = time.perf_counter() - began
        remove_placement_group(what)
        return over

    asked = [
        task.options(num_gpus=job["gpus"]).remote(job["seconds"])
        if job["tasks"] == 1
        else placement_group([{"GPU": job["gpus"], "CPU": 0.1}] * job["tasks"], strategy="STRICT_SPREAD")
        for job in jobs
    ]
    with ThreadPoolExecutor(len(jobs)) as threads:
        return {"over_s": list(threads.map(finish, zip(jobs, asked, strict=True)))}


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
