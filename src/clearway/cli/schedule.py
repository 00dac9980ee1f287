"""`clearway schedule set`, `list`, `next`, `pause`, `resume` and `remove`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clearway.cli import shown
from clearway.cli.shell import Shell, command, group
from clearway.cli.table import Column, draw
from clearway.model.errors import InputError

if TYPE_CHECKING:
    from clearway.sdk.client import Client

_COLUMNS = (
    Column("SCHEDULE", cut=True),
    Column("CRON"),
    Column("TIME ZONE"),
    Column("NEXT"),
    Column("RUNS", wraps=True),
)
_TICKS = (Column("SCHEDULE", cut=True), Column("TICK"), Column("STARTS"))
_MOST_TICKS = 100
NAME = click.argument("name", metavar="NAME")
NAMES = click.argument("names", nargs=-1, metavar="[NAME]...")
ALL = click.option("--all", "everything", is_flag=True, help="All schedules that there are.")


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
    return "paused" if row["paused"] else shown.zoned(row["next"], row["timezone"])


@command("next")
@click.argument("name", metavar="NAME|FILE")
@click.option("--count", type=click.IntRange(1, _MOST_TICKS), default=5, help="So many ticks, at most 100 [5].")
def _ahead(shell: Shell, name: str, count: int) -> None:
    """Show the next ticks of the schedule NAME, or of those in a YAML FILE before they are set.

    For example: clearway schedule next nightly.yaml --count 10
    """
    rows = _of_file(name, count) if Path(name).is_file() else [shell.client().schedule(name, count)]
    if shell.as_json:
        shell.document({"schedules": rows})
        return
    for row in rows:
        if row.get("paused"):
            shell.note(f"schedule {row['name']} is paused: these ticks pass, unless it is resumed")
    draw(_TICKS, [[r["name"], shown.zoned(t["tick"], r["timezone"]), _starts(t)] for r in rows for t in r["ticks"]])


def _of_file(path: str, count: int) -> list[dict[str, Any]]:
    from clearway.cli.job_files import maps_of_files
    from clearway.flow.schedule_words import read_schedule
    from clearway.flow.ticks import next_ones, row

    after_us = int(shown.present().timestamp() * 1_000_000)
    specs = [read_schedule(_without_work(words), {}) for words in maps_of_files((path,), "schedules")]
    return [
        {"name": s.name, "cron": s.cron, "timezone": s.timezone, "ticks": list(map(row, next_ones(s, after_us, count)))}
        for s in specs
    ]


def _without_work(words: dict[str, Any]) -> dict[str, Any]:
    """Return the words that say when, with work that is not looked at: the controller reads that."""
    return {word: value for word, value in words.items() if word not in ("job", "workflow")} | {"job": {}}


def _starts(tick: dict[str, Any]) -> str:
    return f"skipped: {tick['skipped']}" if tick["skipped"] else shown.ago(tick["at"])


@command("pause")
@NAMES
@ALL
def _pause(shell: Shell, names: tuple[str, ...], everything: bool) -> None:  # noqa: FBT001 - click calls it by name
    """Have the schedules NAME let their ticks pass; what runs of them goes on."""
    client = shell.client()
    _told(shell, [client.pause_schedule(name) for name in _meant(client, names, everything=everything)])


@command("resume")
@NAMES
@ALL
def _resume(shell: Shell, names: tuple[str, ...], everything: bool) -> None:  # noqa: FBT001 - click calls it by name
    """Have the schedules NAME fire again; ticks that passed are not made up for."""
    client = shell.client()
    _told(shell, [client.resume_schedule(name) for name in _meant(client, names, everything=everything)])


def _meant(client: Client, names: tuple[str, ...], *, everything: bool) -> list[str]:
    if bool(names) == everything:
        raise InputError("NAME", list(names) or None, "names of schedules, or --all")
    return [row["name"] for row in client.schedules()] if everything else list(names)


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


for _one in (_set, _list, _ahead, _pause, _resume, _remove):
    schedule_command.add_command(_one)
