"""A jam: eight cards are full and nearly idle, and nothing moves. `python -m examples.jam`.

Sixteen small services use 5 % of a card each. Three fine-tunes of two cards and two pipelines that are past their time
come after them. Three ways to run that on the same cards: whole cards, first come first served; the same cards with
queues that have guarantees, backfill and preemption; and that with services that say `colocate` and take turns.
"""

from __future__ import annotations

from typing import Any

from examples.shown import Column, Raw, Side, hours, jobs_of, mean, of_summary, percent, show, waits

HOUR = 3600
FLEET = {"nodes": [{"name": "box", "gpus": 8, "gpu_model": "A100", "gpu_memory": "80GiB", "cpus": 128}]}
SERVICES = {
    "name": "service", "count": 16, "every": 60, "queue": "services", "gpus": 1, "gpu_memory": "8GiB", "cpus": 2,
    "busy": 0.05, "runtime": 10 * HOUR, "time_estimate": 10 * HOUR, "preemptible": False,
}  # fmt: skip
FINE_TUNES = {
    "name": "fine-tune", "count": 3, "every": 300, "submit": 1200, "queue": "research", "gpus": 2, "busy": 0.95,
    "runtime": 3 * HOUR, "time_estimate": 4 * HOUR, "checkpoint": {"every": 600},
}  # fmt: skip
PIPELINES = {
    "name": "pipeline", "count": 2, "submit": 2 * HOUR, "queue": "pipelines", "gpus": 1, "busy": 0.8,
    "runtime": HOUR, "time_estimate": 1.5 * HOUR, "deadline": 1.5 * HOUR,
}  # fmt: skip
QUEUES = [
    {"name": "services", "guarantee": {"gpus": 2}},
    {"name": "research", "guarantee": {"gpus": 4}},
    {"name": "pipelines", "guarantee": {"gpus": 2}},
]
FIRST_COME = {"order": ["fifo"], "backfill": "none", "preempt": []}
FAIR = {"order": ["fair", "priority", "fifo"], "backfill": "easy", "preempt": ["reclaim"]}


def scenario(policy: Raw, services: Raw) -> Raw:
    """Return the jam under a policy, with these words more for the services."""
    jobs = [{**SERVICES, **services}, FINE_TUNES, PIPELINES]
    return {"policy": policy, "fleet": FLEET, "queues": QUEUES, "jobs": jobs}


SIDES = (
    Side("whole cards, first come first served", scenario(FIRST_COME, {})),
    Side("whole cards, fair queues, preemption", scenario(FAIR, {})),
    Side("services take turns (colocate: 7)", scenario(FAIR, {"colocate": 7})),
)


def _waited(beginning: str) -> Any:  # noqa: ANN401 - a reader of figures
    return lambda _, timeline: mean(waits(timeline, beginning))


def _last_end(_: Raw, timeline: Raw) -> float:
    return float(max(job["ended"] for job in jobs_of(timeline, "pipeline")))


COLUMNS = (
    Column("gpu_use", of_summary("gpu_use"), percent),
    Column("gpu_busy", of_summary("gpu_busy"), percent),
    Column("services wait", _waited("service"), hours),
    Column("fine-tunes wait", _waited("fine-tune"), hours),
    Column("pipelines wait", _waited("pipeline"), hours),
    Column("pipelines done at", _last_end, hours),
    Column("all done after", of_summary("makespan"), hours),
)

if __name__ == "__main__":
    show(__doc__, SIDES, COLUMNS)
