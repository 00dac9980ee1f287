"""`clearway schedule set`, `list`, `pause`, `resume` and `remove`."""

from __future__ import annotations

from typing import Any

import click

from clearway.cli import shown
from clearway.cli.shell import Shell, command, group
from clearway.cli.table import Column, draw

_COLUMNS = (
    Column("SCHEDULE", cut=True),
    Column("CRON"),
    Column("TIME ZONE"),
    Column("NEXT"),
    Column("RUNS", wraps=True),
)
NAME = click.argument("name", metavar="NAME")


@group("schedule")
def schedule_command() -> None:
    """Run a job or a workflow again and again.

    For example: clearway schedule set nightly.yaml
    """


@command("set")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
def _set(shell: Shell, files: tuple[str, ...]) -> None:
    """Create or change the schedules of YAML files: one, a list, or {schedules: [..]}; - is stdin."""
    from clearway.cli.job_files import maps_of_files

    client = shell.client()
    rows = [client.set_schedule(words) for words in maps_of_files(files, "schedules")]
    _told(shell, rows)


@command("list")
def _list(shell: Shell) -> None:
    """List schedules, with the next tick of each and the runs that are there."""
    rows = shell.client().schedules()
    if shell.as_json:
        shell.document({"schedules": rows})
        return
    draw(_COLUMNS, [[r["name"], r["cron"], r["timezone"], _next(r), ", ".join(r["active"])] for r in rows])


def _next(row: dict[str, Any]) -> str:
    return "paused" if row["paused"] else shown.clock(row["next"])


@command("pause")
@NAME
def _pause(shell: Shell, name: str) -> None:
    """Have the schedule NAME let its ticks pass."""
    _told(shell, [shell.client().pause_schedule(name)])


@command("resume")
@NAME
def _resume(shell: Shell, name: str) -> None:
    """Have the schedule NAME fire again; ticks that passed are not made up for."""
    _told(shell, [shell.client().resume_schedule(name)])


@command("remove")
@NAME
def _remove(shell: Shell, name: str) -> None:
    """Have the schedule NAME no longer tick; its runs go on."""
    row = shell.client().remove_schedule(name)
    if shell.as_json:
        shell.document(row)
    else:
        shell.line(f"schedule {name} is removed")


def _told(shell: Shell, rows: list[dict[str, Any]]) -> None:
    if shell.as_json:
        shell.document({"schedules": rows})
        return
    for row in rows:
        shell.line(f"schedule {row['name']}: " + ("is paused" if row["paused"] else f"next at {_next(row)}"))


for _one in (_set, _list, _pause, _resume, _remove):
    schedule_command.add_command(_one)
