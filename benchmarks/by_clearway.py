"""A controller of Clearway on a cluster, and how long jobs take with it: for the benchmarks `ray` and `slurm`."""

from __future__ import annotations

import json
import tempfile
import time
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearway.compose.launch import ensure_running, stop
from clearway.sdk import Client

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.cluster_jobs import Job

LONGEST_S = 600.0


@contextmanager
def clearway_on(settings: dict[str, Any], nodes: int) -> Iterator[Client]:
    """Have a controller with these settings, once it sees so many nodes."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "clearway.yaml").write_text(json.dumps(settings))
        ensure_running(home)
        try:
            client = Client.connect(home)
            while len(client.nodes()) < nodes:
                time.sleep(0.05)
            yield client
        finally:
            stop(home)


def through(client: Client, jobs: int) -> float:
    """Return how many seconds so many short jobs take to the end of the last one."""
    began = time.perf_counter()
    words = [{"name": f"start-{n}", "run": ["sleep", "0"], "gpus": 1, "cpus": 0.1} for n in range(jobs)]
    for row in client.submit(words):
        client.wait(f"id:{row['id']}", LONGEST_S)
    return time.perf_counter() - began


def by_clearway(client: Client, jobs: list[Job]) -> list[float]:
    """Submit jobs when they come, and return after how many seconds each was over."""
    began = time.perf_counter()
    entered: list[str] = []
    for at in dict.fromkeys(job["at"] for job in jobs):
        time.sleep(max(began + at - time.perf_counter(), 0))
        words = [words_of(number, job) for number, job in enumerate(jobs) if job["at"] == at]
        entered += [f"id:{row['id']}" for row in client.submit(words)]
    over = []
    for one in entered:
        row = client.wait(one, LONGEST_S)
        if row["state"] != "succeeded":
            raise RuntimeError(f"{row['name']} is {row['state']}")
        over.append((_moment(row["ended"]) - _moment(row["submitted"])).total_seconds())
    return over


def words_of(number: int, job: Job) -> dict[str, Any]:
    """Return the words of a job."""
    known = {word: job[word] for word in ("time_estimate", "time_limit") if word in job}
    return known | {
        "name": f"job-{number}", "run": ["sleep", str(job["seconds"])], "tasks": job["tasks"], "gpus": job["gpus"],
        "cpus": 0.1, "one_per_node": True,
    }  # fmt: skip


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
