"""`clearway simulate`."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import click

from clearway.cli import shown
from clearway.cli.gantt import chart
from clearway.cli.shell import Shell, command
from clearway.cli.table import Cell, Column, draw, state

_COLUMNS = (
    Column("JOB", cut=True),
    Column("SUBMITTED", right=True),
    Column("WAITED", right=True),
    Column("STARTED", right=True),
    Column("ENDED", right=True),
    Column("STATE"),
    Column("WHERE, OR WHY", cut=True),
    Column("WHY IT WAITED", cut=True),
)
_COMPARED = ("mean_wait", "p95_wait", "mean_jct", "mean_bounded_slowdown", "makespan", "preemptions")
_OBJECTIVES = (
    Column("ORDER"),
    Column("MEAN WAIT", right=True),
    Column("P95 WAIT", right=True),
    Column("MEAN TIME TO END", right=True),
    Column("SLOWDOWN", right=True),
    Column("MAKESPAN", right=True),
    Column("STOPPED", right=True),
)
_SUMMARY = (
    ("makespan", "from the first submit to the last end", " s"),
    ("gpu_use", "GPUs held", " %"),
    ("mean_wait", "mean wait", " s"),
    ("p95_wait", "wait of 19 in 20 jobs at most", " s"),
    ("mean_jct", "mean time from submit to end", " s"),
    ("preemptions", "jobs stopped for another's sake", ""),
)
_IN_NO_MEAN = ("is not in the mean wait", "are not in the mean wait")


@command("simulate")
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
def simulate_command(shell: Shell, file: Path) -> None:
    """Run the scenario FILE in virtual time and print what happened: its jobs, who held which node when, a summary.

    Where its policy weighs several orders, what each of them alone would have come to stands below. With --json it
    prints the whole timeline.
    """
    from clearway.cli.scenarios import alone, timeline_of

    timeline = timeline_of(file)
    if shell.as_json:
        shell.document(timeline)
        return
    show_timeline(shell, timeline)
    if others := alone(file):
        show_objectives(timeline["summary"], others)


def show_objectives(weighed: dict[str, Any], others: list[tuple[str, dict[str, Any]]]) -> None:
    """Write what the weighed orders came to, and below it what each of them would have come to alone."""
    click.echo()
    rows = [("weighed as said", weighed), *((f"{name} alone", summary) for name, summary in others)]
    draw(_OBJECTIVES, [[name, *(_seconds(summary.get(key)) for key in _COMPARED)] for name, summary in rows])


def show_timeline(shell: Shell, timeline: dict[str, Any]) -> None:
    """Write a timeline for people."""
    jobs = timeline["jobs"]
    if not jobs:
        shell.line("the scenario has no jobs")
        return
    end = last_moment(timeline)
    draw(_COLUMNS, [_cells(name, job, end) for name, job in jobs.items()])
    click.echo()
    for line in chart(timeline, end, shutil.get_terminal_size().columns):
        click.echo(line)
    click.echo()
    for line in _summary(timeline["summary"]):
        click.echo(line)
    never = sum(not job["attempts"] for job in jobs.values())
    if never:
        click.echo(f"{never} job{'' if never == 1 else 's'} never started, and so {_IN_NO_MEAN[never > 1]}")


def last_moment(timeline: dict[str, Any]) -> float:
    """Return the latest moment that a timeline names, in seconds."""
    moments = [event["at"] for event in timeline["events"]]
    return float(max(moments, default=0.0))


def _cells(name: str, job: dict[str, Any], end: float) -> list[str | Cell]:
    attempts = job["attempts"]
    first, last = (attempts[0], attempts[-1]) if attempts else (None, None)
    waited = "" if first is None else _seconds(first["from"] - job["submitted"])
    tries = f" ({len(attempts)} attempts)" if len(attempts) > 1 else ""
    where, why = _where_or_why(job, last), _why_it_waited(job, end)
    return [
        name, _seconds(job["submitted"]), waited, _seconds(first and first["from"]), _seconds(job["ended"]),
        state(job["state"] + tries), where,
        "" if why == where else why,
    ]  # fmt: skip


def _why_it_waited(job: dict[str, Any], end: float) -> str:
    """Return the first reason of the longest wait; one that goes on is as long as the timeline."""
    lengths = [(end if wait["to"] is None else wait["to"]) - wait["from"] for wait in job["waits"]]
    longest = max(lengths, default=0.0)
    reasons = job["waits"][lengths.index(longest)]["reasons"] if longest > 0 else []
    return str(reasons[0]["text"]) if reasons else ""


def _where_or_why(job: dict[str, Any], last: dict[str, Any] | None) -> str:
    if job["reason"] and job["state"] != "succeeded":
        return str(job["reason"]["text"])
    if last is None or job["state"] == "pending":
        waits = job["waits"]
        return "; ".join(reason["text"] for reason in waits[-1]["reasons"]) if waits else shown.NOTHING
    held: dict[str, set[int]] = {}
    for task in last["tasks"]:
        held.setdefault(task["node"], set()).update(task["devices"])
    return ", ".join(f"{node} [{shown.numbers(list(held[node]))}]" if held[node] else node for node in sorted(held))


def _seconds(value: float | None) -> str:
    return shown.NOTHING if value is None else f"{value:.1f}".removesuffix(".0")


def _summary(summary: dict[str, Any]) -> list[str]:
    found = []
    for key, meaning, unit in _SUMMARY:
        value = summary.get(key)
        if value is not None:
            number = value * 100 if unit == " %" else value
            found.append(f"{meaning}: {number:.1f}".removesuffix(".0") + unit)
    return found
