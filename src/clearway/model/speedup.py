"""How much faster a job is with more tasks: `speedup`, a table from tasks to speed."""

from __future__ import annotations

import re

from clearway.model import values as v
from clearway.model.errors import InputError

FULL = 10**6
"""Speed 1, in millionths."""

MOST = 10**6  # of FULL
_TASKS = re.compile("[0-9]{1,7}")

Speedup = tuple[tuple[int, int], ...]
"""(tasks, speed in millionths), by tasks; empty: as many tasks, so much speed."""

_RULE = f"a map of tasks to speeds, such as {{1: 1, 2: 1.9, 4: 3.5}}: a speed is above 0 and at most {MOST}"


def read_speedup(field: str, value: object) -> Speedup:
    """Return the table. A map of JSON has its numbers of tasks as texts."""
    if not isinstance(value, dict) or not value:
        raise InputError(field, value, _RULE)
    found = {}
    for tasks, speed in value.items():
        plain = int(tasks) if isinstance(tasks, str) and _TASKS.fullmatch(tasks) else tasks
        number = v.count(f"{field}.{tasks}", plain, 1)
        exact = v.number(f"{field}.{tasks}", speed, _RULE) * FULL
        if number in found or not 1 <= exact <= MOST * FULL:
            raise InputError(f"{field}.{tasks}", speed, _RULE)
        found[number] = round(exact)
    return tuple(sorted(found.items()))


def speed(table: Speedup, tasks: int) -> int:
    """Return the speed with so many tasks in millionths: between two entries on the line that joins them.

    Below the first entry the line begins at nothing, above the last one the speed stays.
    """
    if not table:
        return tasks * FULL
    before, low = 0, 0
    for number, known in table:
        if tasks <= number:
            return low + (known - low) * (tasks - before) // (number - before)
        before, low = number, known
    return low


def worth(table: Speedup, tasks: int) -> int:
    """Return with how many of `tasks` tasks a job is as fast as it gets: more of them would be held for nothing."""
    if not table:
        return tasks
    sizes = sorted({*(number for number, _ in table if number < tasks), tasks})
    best = max(speed(table, size) for size in sizes)
    return next(size for size in sizes if speed(table, size) == best)
