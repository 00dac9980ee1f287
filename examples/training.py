"""A training of 128 GPUs among fillers, with the topology score off and on. `python -m examples.training`.

Four racks of 16 machines with eight GPUs each. Fillers of one to eight GPUs come and go; a training of 16 machines
comes in between. Its work is slower by half where it crosses racks. With the score on it goes into one rack if one has
room, without it wherever the tightest places are.
"""

from __future__ import annotations

from typing import Any

from examples.shown import Column, Raw, Side, hours, jobs_of, mean, of_summary, percent, run_time, show, waits

HOUR = 3600
MACHINES = 16  # in each rack, and of the training
RACKS = 4
FLEET = {
    "nodes": [
        {"name": f"rack-{rack}", "count": MACHINES, "gpus": 8, "rack": f"rack-{rack}", "zone": "hall"}
        for rack in range(RACKS)
    ]
}
TRAINING = {
    "name": "training", "submit": 2 * HOUR, "tasks": MACHINES, "gpus": 8, "runtime": 8 * HOUR,
    "time_estimate": 12 * HOUR, "topology": {"prefer": "rack"}, "slowdown": {"rack": 1, "zone": 1.5},
}  # fmt: skip
FILLERS = 170
SIZES, LENGTHS = (1, 2, 8, 4, 1, 8, 2), (1, 3, 2, 5, 4)


def fillers() -> list[Raw]:
    """Return small jobs, one every two minutes, whose sizes and lengths go round."""
    return [
        {
            "name": f"filler-{number}", "submit": 120 * number, "gpus": SIZES[number % len(SIZES)],
            "runtime": LENGTHS[number % len(LENGTHS)] * HOUR, "time_estimate": LENGTHS[number % len(LENGTHS)] * HOUR,
        }
        for number in range(FILLERS)
    ]  # fmt: skip


def scenario(weight: int) -> Raw:
    """Return the day with a weight of the score."""
    score = {"affinity": 1, "fragmentation": 1, "topology": weight}
    return {
        "policy": {"order": ["fifo"], "backfill": "easy", "preempt": [], "score": score},
        "fleet": FLEET,
        "jobs": [*fillers(), TRAINING],
    }


SIDES = (Side("topology: 0", scenario(0)), Side("topology: 1", scenario(1)))


def _training(timeline: Raw) -> Raw:
    found: Raw = timeline["jobs"]["training"]
    return found


def _racks(_: Raw, timeline: Raw) -> int:
    tasks = _training(timeline)["attempts"][-1]["tasks"]
    return len({task["node"].rpartition("-")[0] for task in tasks})


def _waited(beginning: str) -> Any:  # noqa: ANN401 - a reader of figures
    return lambda _, timeline: mean(waits(timeline, beginning))


def _took(beginning: str) -> Any:  # noqa: ANN401 - a reader of figures
    return lambda _, timeline: mean([job["ended"] - job["submitted"] for job in jobs_of(timeline, beginning)])


COLUMNS = (
    Column("racks", _racks),
    Column("training waits", _waited("training"), hours),
    Column("training runs", lambda _, timeline: run_time(_training(timeline)), hours),
    Column("GPU hours", lambda _, timeline: run_time(_training(timeline)) * 8 * MACHINES / HOUR, lambda n: f"{n:.0f}"),
    Column("fillers take", _took("filler"), hours),
    Column("gpu_use", of_summary("gpu_use"), percent),
)

if __name__ == "__main__":
    show(__doc__, SIDES, COLUMNS)
