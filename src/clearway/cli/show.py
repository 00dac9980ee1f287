"""`clearway show`."""

from __future__ import annotations

import shlex
from typing import Any

import click

from clearway.cli import shown
from clearway.cli.asks import asked
from clearway.cli.choices import JOB
from clearway.cli.ps import draw_jobs, inner, placed, progress
from clearway.cli.shell import Shell, command
from clearway.cli.table import Cell, Column, draw, pairs, state

MOST_JOBS = 20  # of an array; clearway ps --array shows more
MOST_WAITS = 10  # the newest; all stand in the document of --json

_ATTEMPTS = (
    Column("ATTEMPT", right=True),
    Column("STARTED"),
    Column("RAN", right=True),
    Column("END"),
    Column("WHERE", cut=True),
    Column("WHY IT ENDED", wraps=True),
)
_WAITS = (Column("WAITED FROM"), Column("FOR", right=True), Column("WHY", wraps=True))


@command("show")
@JOB
def show_command(shell: Shell, job: str) -> None:
    """Show JOB: what it is, where it runs, its attempts, and why it waited."""
    row = shell.client().job(job)
    if shell.as_json:
        shell.document(row)
        return
    pairs(_facts(row))
    if row["attempts"]:
        click.echo()
        draw(_ATTEMPTS, [_attempt(a) for a in row["attempts"]])
    if row["array"] and (jobs := shell.client().jobs(array=f"id:{row['id']}", everything=True, limit=MOST_JOBS)):
        click.echo()
        draw_jobs(jobs[::-1])
    if row["waits"]:
        click.echo()
        draw(_WAITS, [_wait(w) for w in row["waits"][-MOST_WAITS:]])


def _facts(row: dict[str, Any]) -> list[tuple[str, str | Cell]]:
    facts: list[tuple[str, str | Cell]] = [
        ("job", f"{row['id']} ({row['name']})"),
        ("state", state(inner(row))),
        ("why", row["reason"]["text"] if row["reason"] else ""),
        ("expected", shown.expected(row.get("expected")).removeprefix("expected ")),
        ("left", shown.left(row)),
        ("odd", row["odd"]["text"] if row.get("odd") else ""),
        ("exit code", _exit_code(row["exit_code"])),
        ("array", _array(row["array"]) if row["array"] else ""),
        ("tries", _tries(row["tries"])),
        ("next try at", _when(row["tries"]["next_try_at"]) if row["tries"] else ""),
        ("command", _command(row["command"])),
        ("in", row["command"]["workdir"] if row["command"] else ""),
        *(asked(row["words"]) if row["words"] else [("asks for", _asked(row))]),
        ("forecast", row["forecast"]["text"] if row.get("forecast") else ""),
        *(("needs", need["text"]) for need in row["needs"]),
        ("runs on" if row["ended"] is None else "ran on", placed(row)),
        ("queue", f"{row['queue']}, priority {row['priority']}"),
        ("user", row["user"]),
        ("submitted", _when(row["submitted"])),
        ("started", _when(row["started"])),
        ("ended", _when(row["ended"])),
    ]
    return [(name, value) for name, value in facts if value]


def _exit_code(code: int | None) -> str:
    if code is None:
        return ""
    return str(code) if code >= 0 else f"none: {shown.ending(code)}"


def _array(array: dict[str, Any]) -> str:
    failed = f"; failed: {shown.numbers(array['failed_indices'])}" if array["failed_indices"] else ""
    return f"indices {array['indices']}: {progress(array)}{failed}"


def _tries(tries: dict[str, Any] | None) -> str:
    """Return how attempts ended, and what that uses up: `2 failed, 1 preempted; 2 of 3 retries used`."""
    if not tries or not tries["ended"]:
        return ""
    ended = ", ".join(f"{n} {cause.replace('_', ' ')}" for cause, n in tries["ended"].items())
    used = min(tries["retries"], tries["max_retries"])
    retries = f"; {used} of {tries['max_retries']} retries used" if tries["max_retries"] else ""
    return ended + retries + (f"; {tries['losses']} of {tries['max_losses']} losses" if tries["losses"] else "")


def _command(command_words: dict[str, Any] | None) -> str:
    if command_words is None:
        return ""
    run = command_words["run"]
    return run if isinstance(run, str) else shlex.join(run)


def _asked(row: dict[str, Any]) -> str:
    tasks = f"{row['tasks']} task{'' if row['tasks'] == 1 else 's'}"
    gpus = f", {shown.amount(row['gpus'])} GPU{'' if row['gpus'] == 1 else 's'} in all" if row["gpus"] else ""
    return tasks + gpus


def _when(iso: str | None) -> str:
    return f"{shown.clock(iso)} ({shown.ago(iso)})" if iso else ""


def _attempt(attempt: dict[str, Any]) -> list[str | Cell]:
    devices: dict[str, set[int]] = {}
    for task in attempt["tasks"]:
        devices.setdefault(task["node"], set()).update(task["devices"])
    where = ", ".join(f"{node} [{shown.numbers(sorted(held))}]" if held else node for node, held in devices.items())
    return [
        str(attempt["number"]), shown.clock(attempt["from"]), shown.between(attempt["from"], attempt["to"]),
        state(attempt["end"] or "goes on"), where, attempt["cause"] or "",
    ]  # fmt: skip


def _wait(wait: dict[str, Any]) -> list[str | Cell]:
    reasons = "; ".join(reason["text"] for reason in wait["reasons"])
    return [shown.clock(wait["from"]), shown.between(wait["from"], wait["to"]), reasons]
