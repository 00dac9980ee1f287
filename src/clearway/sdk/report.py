"""What a program inside a trial uses to tell how it does. A program in another language writes the same lines itself.

import clearway

for epoch in range(1, 28):
    ...
    clearway.report(loss, step=epoch)                     # or clearway.report(step=epoch, loss=loss, accuracy=accuracy)
"""

from __future__ import annotations

import json
import os

FILE = "CLEARWAY_METRICS"
"""Variable that names the file to which each report is added as a line of JSON."""


def report(value: float | None = None, /, *, step: int | None = None, **metrics: float) -> None:
    """Tell what a trial is worth at a step: a number, or numbers by name.

    Without `step` the reports are counted. Outside a trial, and where nobody listens, nothing happens. Raises TypeError
    for a value beside names, ValueError for what is no finite number, OSError where it cannot be written.
    """
    if value is not None and metrics:
        raise TypeError("report takes a value or metrics by name, not both")
    told: dict[str, float] = {name: float(one) for name, one in metrics.items()}
    bare = None if value is None else float(value)
    if step is None:
        line = json.dumps(told if bare is None else bare, allow_nan=False)
    else:
        named = told if bare is None else {"value": bare}
        line = json.dumps({"step": int(step), **named}, allow_nan=False)
    path = os.environ.get(FILE)
    if path:
        with open(path, "a", encoding="utf-8") as file:  # noqa: PTH123  one write, so that lines of several stay whole
            file.write(line + "\n")
