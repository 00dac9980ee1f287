"""The jobs of the benchmarks `ray` and `slurm`, made from a seed: small ones of a device, gangs of whole nodes."""

from __future__ import annotations

import random
from typing import Any

GPUS = 4
SEED, SMALL, GANGS = 1, 36, 12
STREAM_SEED, STREAM_SMALL, STREAM_GANGS, STREAM_S = 2, 64, 6, 32
FACTORS = (3, 5, 10)
"""So many times as long as a job is its time limit: people ask for too much."""

Job = dict[str, Any]


def queue() -> list[Job]:
    """Return jobs that are all there at once, whose run times are known."""
    draw = random.Random(SEED)
    small = [_job(0, 1, 1, round(draw.uniform(1, 4), 1)) for _ in range(SMALL)]
    gangs = [_job(0, draw.choice((2, 3)), GPUS, round(draw.uniform(2, 5), 1)) for _ in range(GANGS)]
    jobs = small + gangs
    draw.shuffle(jobs)
    return [job | {"time_estimate": job["seconds"]} for job in jobs]


def stream() -> list[Job]:
    """Return jobs that come one after another, small ones all the while, of which only a long time limit is known."""
    draw = random.Random(STREAM_SEED)
    jobs = []
    for _ in range(STREAM_SMALL):
        kind = draw.choice((2, 3, 4, 6))
        jobs.append(_alike(draw, kind, _job(round(draw.uniform(0, STREAM_S), 1), 1, 1, kind)))
    for number in range(STREAM_GANGS):
        kind = draw.choice((3, 4, 5))
        at = round((number + 1) * STREAM_S * 0.8 / STREAM_GANGS, 1)
        jobs.append(_alike(draw, kind, _job(at, draw.choice((2, 3)), GPUS, kind)))
    return sorted(jobs, key=lambda job: float(job["at"]))


def _job(at: float, tasks: int, gpus: int, seconds: float) -> Job:
    return {"at": at, "tasks": tasks, "gpus": gpus, "seconds": seconds}


def _alike(draw: random.Random, kind: int, job: Job) -> Job:
    seconds = round(kind * draw.uniform(0.9, 1.1), 1)
    return job | {"seconds": seconds, "time_limit": kind * draw.choice(FACTORS)}
