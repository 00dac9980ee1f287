"""Plays one scenario in several ways through the product, and shows their figures side by side."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from clearway.sim.run import simulate
from clearway.testing.judge import judge, timeline_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Raw = dict[str, Any]
HOUR_S = 3600


class Side(NamedTuple):
    """One way to run it: what it is called, and the scenario."""

    name: str
    scenario: Raw


class Column(NamedTuple):
    """One figure: its heading, and how it is read from a scenario and its timeline."""

    title: str
    of: Callable[[Raw, Raw], Any]
    write: Callable[[Any], str] = str


def played(scenario: Raw) -> Raw:
    """Return the timeline of a scenario; it ends the program where a rule that always holds does not."""
    timeline: Raw = json.loads(json.dumps(timeline_of(simulate(yaml.safe_dump(scenario, sort_keys=False)))))
    broken = judge(scenario, timeline)
    if broken:
        sys.exit("\n".join(broken))
    return timeline


def figures(sides: Sequence[Side], columns: Sequence[Column]) -> dict[str, Raw]:
    """Return each side's figures by heading."""
    found: dict[str, Raw] = {}
    for side in sides:
        timeline = played(side.scenario)
        found[side.name] = {column.title: column.of(side.scenario, timeline) for column in columns}
    return found


def table(found: dict[str, Raw], columns: Sequence[Column]) -> str:
    """Return figures as lines of text, a side a line."""
    rows = [["", *(column.title for column in columns)]]
    rows += [[name, *(column.write(of[column.title]) for column in columns)] for name, of in found.items()]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    first, *others = widths
    lines = [
        "  ".join([row[0].ljust(first), *(cell.rjust(width) for cell, width in zip(row[1:], others, strict=True))])
        for row in rows
    ]
    return "\n".join(line.rstrip() for line in lines)


def show(about: str, sides: Sequence[Side], columns: Sequence[Column], arguments: Sequence[str] | None = None) -> None:
    """Print the figures of all sides: a table, or with `--json` a document."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    as_json = parser.parse_args(arguments).json
    found = figures(sides, columns)
    print(json.dumps(found, indent=2) if as_json else table(found, columns))


# --- figures that several examples show -----------------------------------------------------------


def of_summary(name: str) -> Callable[[Raw, Raw], Any]:
    """Return how a figure of the timeline's summary is read."""
    return lambda _, timeline: timeline["summary"][name]


def jobs_of(timeline: Raw, beginning: str) -> list[Raw]:
    """Return the jobs whose names begin so."""
    return [job for name, job in timeline["jobs"].items() if name.startswith(beginning)]


def waits(timeline: Raw, beginning: str) -> list[float]:
    """Return how long each of some jobs waited for its first start."""
    return [job["attempts"][0]["from"] - job["submitted"] for job in jobs_of(timeline, beginning)]


def run_time(job: Raw) -> float:
    """Return how long a job's last attempt ran, in seconds."""
    last = job["attempts"][-1]
    return float(last["to"] - last["from"])


def mean(numbers: Sequence[float]) -> float:
    """Return the mean."""
    return sum(numbers) / len(numbers)


def percent(part: float) -> str:
    """Write a part of one in percent."""
    return f"{100 * part:.1f} %"


def hours(seconds: float) -> str:
    """Write a duration in hours."""
    return f"{seconds / HOUR_S:.2f} h"
