"""What is told at the end of the day. All of it comes from the product and from what the jobs have written."""

from __future__ import annotations

import json
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from examples.day.data import BEST, EVALUATION

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from clearway.sdk import Client

HEADINGS = (
    "", "JOB", "QUEUE", "ASKED FOR", "WAITED", "WHY IT WAITED", "FROM", "TO", "DEVICES", "WHY THEN", "HOW IT ENDED",
)  # fmt: skip
SENTENCES = ("WHY IT WAITED", "WHY THEN", "HOW IT ENDED")
CHART_CELLS = 72
PIPE_WIDTH = 180
LEAST_WAIT_S = 0.1  # a shorter wait is the time in which one decision is made


def tell_day(client: Client, rows: list[dict[str, Any]]) -> None:
    """Write the table of what ran when and why, and the chart of the devices."""
    jobs = [{**client.job(f"id:{row['id']}"), "causes": client.why(f"id:{row['id']}")["causes"]} for row in rows]
    zero = min(_moment(job["submitted"]) for job in jobs)
    console = Console() if sys.stdout.isatty() else Console(width=PIPE_WIDTH)
    with console.capture() as drawn:
        console.print(_table(jobs, zero))
    for line in drawn.get().splitlines():
        print(line.rstrip())
    print("(the first reason of each wait; all of them: clearway why JOB)")
    print("\nThe devices; each letter is a job, a small one has half of the device:")
    for line in _chart(jobs, zero):
        print(line)


def _table(jobs: list[dict[str, Any]], zero: float) -> Table:
    table = Table(title="What ran when, and why", title_justify="left", box=None, padding=(0, 2, 0, 0))
    for heading in HEADINGS:
        is_number = heading in ("WAITED", "FROM", "TO")
        table.add_column(heading, justify="right" if is_number else "left", no_wrap=heading not in SENTENCES)
    for number, job in enumerate(jobs):
        for attempt in job["attempts"] or [{}]:
            table.add_row(*_cells(_letter(number, job), job, attempt, zero))
    return table


def _cells(letter: str, job: dict[str, Any], attempt: dict[str, Any], zero: float) -> list[str]:
    begun, ended = attempt.get("from"), attempt.get("to")
    before = [wait for wait in job["waits"] if begun is None or _moment(wait["from"]) < _moment(begun)]
    before = [wait for wait in before if _moment(wait["to"] or wait["from"]) - _moment(wait["from"]) >= LEAST_WAIT_S]
    since = [other["to"] for other in job["attempts"] if begun and other["to"] and other["to"] <= begun]
    ready = max([job["submitted"], *since])
    causes = [c["text"] for c in job["causes"] if c["kind"] == "started" and c["attempt"] == attempt.get("number")]
    return [
        letter, job["name"], job["queue"], _asked(job),
        f"{_moment(begun) - _moment(ready):.1f} s" if begun else "",
        "; then ".join(_reasons(wait for wait in before if wait["from"] >= ready)),
        _clock(begun, zero), _clock(ended, zero), _devices(attempt), "; ".join(causes), _end(attempt, job),
    ]  # fmt: skip


def _asked(job: dict[str, Any]) -> str:
    if job["tasks"] > 1:
        return f"{job['tasks']} x {job['gpus'] / job['tasks']:g}"
    return f"{job['gpus']:g}" if job["gpus"] else "no device"


def _reasons(waits: Iterable[dict[str, Any]]) -> list[str]:
    """Return the first reason of each wait; of those of one kind that follow one another, the last."""
    found: list[tuple[str, str]] = []
    for wait in waits:
        first = wait["reasons"][0]
        if found and found[-1][0] == first["code"]:
            found.pop()
        found.append((first["code"], first["text"]))
    return [text for _, text in found]


def _end(attempt: dict[str, Any], job: dict[str, Any]) -> str:
    end = attempt.get("end") or job["state"]
    return f"{end}: {attempt['cause']}" if attempt.get("cause") else str(end)


def _devices(attempt: dict[str, Any]) -> str:
    return ",".join(str(d) for d in sorted({d for task in attempt.get("tasks", ()) for d in task["devices"]}))


def _moment(iso: str) -> float:
    return datetime.fromisoformat(iso).timestamp()


def _clock(iso: str | None, zero: float) -> str:
    return f"{_moment(iso) - zero:.1f}" if iso else ""


def _letter(number: int, job: dict[str, Any]) -> str:
    """Return the letter of a job in the chart: a small one where it asks for a part of a device."""
    letter = chr(ord("A") + number)
    return letter.lower() if 0 < job["gpus"] < 1 else letter


def _chart(jobs: list[dict[str, Any]], zero: float) -> list[str]:
    """Return a line for each device (two, where shares lie side by side), and one for the time."""
    held: dict[int, list[tuple[float, float, str]]] = {}
    for number, job in enumerate(jobs):
        for task in (task for attempt in job["attempts"] for task in attempt["tasks"]):
            begun, ended = _moment(task["from"]) - zero, _moment(task["to"]) - zero
            for device in task["devices"]:
                held.setdefault(device, []).append((begun, ended, _letter(number, job)))
    end = max([until for bars in held.values() for _, until, _ in bars], default=1.0)
    lines = []
    for device, bars in sorted(held.items()):
        lanes = _lanes(sorted(bars), end)
        lines += [f"{device if i == 0 else '':>8}  {lane}" for i, lane in enumerate(lanes)]
    axis = f"{'0 s':<{CHART_CELLS // 2}}{f'{end / 2:.0f} s':<{CHART_CELLS // 2}}{end:.0f} s"
    return [*lines, f"{'':>8}  {axis}"]


def _lanes(bars: list[tuple[float, float, str]], end: float) -> list[str]:
    lanes: list[tuple[float, str]] = []
    for begun, ended, letter in bars:
        first = round(begun / end * CHART_CELLS)
        cells = max(1, round(ended / end * CHART_CELLS) - first)
        free = next((i for i, (until, _) in enumerate(lanes) if until <= begun), len(lanes))
        drawn = lanes[free][1] if free < len(lanes) else ""
        lanes[free : free + 1] = [(ended, f"{drawn:·<{first}}{letter * cells}")]
    return [f"{drawn:·<{CHART_CELLS}}" for _, drawn in lanes]


def tell_models(place: Path) -> None:
    """Write what the models reached."""
    evaluation = json.loads((place / EVALUATION).read_text())
    best = json.loads((place / BEST).read_text())
    print(f"\nThe models, on {evaluation['digits']} digits that they were not trained on:")
    for name, found in sorted(evaluation["models"].items(), key=lambda one: -one[1]["accuracy"]):
        weakest = f"knows {found['weakest']} least: {found['there']:.1%}"
        print(f"  {found['accuracy']:7.2%}  {name:<32}{weakest}")
    print(f"\nPicked: {best['model']}. On {best['digits']} digits that were kept aside: {best['accuracy']:.2%} right.")
