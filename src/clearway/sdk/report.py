"""What a program inside a job uses to tell how far it is, and inside a trial how it does.

import clearway

for epoch in range(1, 28):
    ...
    clearway.report(step=epoch, total=27)                     # any job: what is left of it is foreseen by that
    clearway.report(loss, step=epoch, total=27)               # a trial; or (step=epoch, loss=loss, accuracy=accuracy)

A program in another language adds the same lines to the same files itself.
"""

from __future__ import annotations

import json
import os
import time

FILE = "CLEARWAY_METRICS"
"""Variable that names the file to which each report of a trial is added as a line of JSON."""
REACHED = "CLEARWAY_PROGRESS"
"""Variable that names the file to which a job adds how far it is."""
APART_S = 1.0
_next_s = 0.0


def report(
    value: float | None = None, /, *, step: int | None = None, total: int | None = None, **metrics: float
) -> None:
    """Tell at which step a job is, of how many; and what a trial is worth there: a number, or numbers by name.

    Best say so at step 0 first, or at the step with which a job goes on. Steps within a second are told as one. Without
    `step` the reports of a trial are counted. Where nobody listens nothing happens. Raises TypeError for a value beside
    names or a `total` without a step, ValueError for what is no finite number or a step beyond the total, OSError where
    it cannot be written.
    """
    if value is not None and metrics:
        raise TypeError("report takes a value or metrics by name, not both")
    if total is not None and step is None:
        raise TypeError("report takes a total beside a step only")
    if step is not None:
        _reach(int(step), total if total is None else int(total))
    told: dict[str, float] = {name: float(one) for name, one in metrics.items()}
    bare = None if value is None else float(value)
    if bare is None and not told and step is not None:
        return
    if step is None:
        line = json.dumps(told if bare is None else bare, allow_nan=False)
    else:
        named = told if bare is None else {"value": bare}
        line = json.dumps({"step": int(step), **named}, allow_nan=False)
    _add(FILE, line)


def _reach(step: int, total: int | None) -> None:
    """Say how far it is, at most every second, and the end at once."""
    global _next_s  # noqa: PLW0603  one program, one pace
    if step < 0 or (total is not None and step > total):
        raise ValueError(f"step {step} is none of {total}")
    now_s = time.monotonic()
    if now_s < _next_s and step != total:
        return
    _next_s = now_s + APART_S
    _add(REACHED, json.dumps({"step": step} if total is None else {"step": step, "total": total}))


def _add(word: str, line: str) -> None:
    path = os.environ.get(word)
    if path:
        with open(path, "a", encoding="utf-8") as file:  # noqa: PTH123  one write, so that lines of several stay whole
            file.write(line + "\n")
