"""Mixed models, with and without a price on what is scarce. `python -m examples.models`.

Four GPUs are H100, twelve are A100. Most jobs take either; one in five needs an H100. The score `tightest` looks at
room alone. `fragmentation` also counts what those who can use nothing else ask of a model, over what there is of it.
(Where all is full there is nothing to choose, and nothing to gain.)
"""

from __future__ import annotations

from typing import Any

from examples.shown import Column, Raw, Side, hours, mean, of_summary, percent, show, waits

HOUR = 3600
JOBS, GAP = 240, 720  # one every twelve minutes: about 70 % of what there is
FLEET = {
    "nodes": [
        {"name": "new", "gpus": 4, "gpu_model": "H100"},
        {"name": "old", "count": 3, "gpus": 4, "gpu_model": "A100"},
    ]
}
SIZES, LENGTHS = (1, 1, 2, 1, 2, 1, 1), (1, 2, 1.5, 3)  # GPUs; hours
EVERY = 5  # so many jobs, one needs the scarce model


def jobs() -> list[Raw]:
    """Return jobs that take any model, and every fifth one that needs an H100."""
    return [
        {
            "name": f"{'picky' if number % EVERY == 0 else 'any'}-{number}", "submit": GAP * number,
            "gpus": SIZES[number % len(SIZES)], "runtime": LENGTHS[number % len(LENGTHS)] * HOUR,
            "time_estimate": 4 * HOUR, **({"gpu_model": "H100"} if number % EVERY == 0 else {}),
        }
        for number in range(JOBS)
    ]  # fmt: skip


def scenario(score: str) -> Raw:
    """Return the day with one score of places."""
    return {"policy": {"order": ["fifo"], "preempt": [], "score": {score: 1}}, "fleet": FLEET, "jobs": jobs()}


SIDES = (
    Side("tightest (room alone)", scenario("tightest")),
    Side("fragmentation (with scarcity)", scenario("fragmentation")),
)


def _waited(beginning: str) -> Any:  # noqa: ANN401 - a reader of figures
    return lambda _, timeline: mean(waits(timeline, beginning))


COLUMNS = (
    Column("wait for H100", _waited("picky"), hours),
    Column("wait of the others", _waited("any"), hours),
    Column("mean wait", of_summary("mean_wait"), hours),
    Column("p95 wait", of_summary("p95_wait"), hours),
    Column("all done after", of_summary("makespan"), hours),
    Column("gpu_use", of_summary("gpu_use"), percent),
)

if __name__ == "__main__":
    show(__doc__, SIDES, COLUMNS)
