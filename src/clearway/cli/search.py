"""`clearway search run`, `list`, `show`, `cancel`, `import` and `export`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from clearway.cli import shown
from clearway.cli.entering import Sayings, enter_files
from clearway.cli.plotting import plot
from clearway.cli.shell import Shell, command, group
from clearway.cli.table import Column, draw, state
from clearway.model.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.interop.katib import Turned

_SEARCHES = (Column("SEARCH", cut=True), Column("STATE"), Column("COMPLETED", right=True), Column("FAILED", right=True),
             Column("BEST", right=True), Column("AT", cut=True))  # fmt: skip
_TRIALS = (Column("JOB", cut=True), Column("STATE"), Column("VALUE", right=True), Column("POINT", cut=True))
NAME = click.argument("name", metavar="NAME")


@group("search")
def search_command() -> None:
    """Try values until the best are found: each trial is a job.

    For example: clearway search run rates.yaml --wait
    """


@command("run")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--wait", is_flag=True, help="Wait until they are over; exits with 1 if one did not succeed.")
def _run(shell: Shell, files: tuple[str, ...], wait: bool) -> int:  # noqa: FBT001 - click calls it by name
    """Enter the searches of YAML files: one search, a list of them, or {searches: [..]}; - is stdin."""
    client = shell.client()

    def again(row: dict[str, Any]) -> dict[str, Any]:
        return next(one for one in client.searches() if one["name"] == row["name"])

    def enter(words: dict[str, Any]) -> dict[str, Any]:
        if words.get("kind") == "Experiment":
            rule = "a search; what Katib calls so becomes one by: clearway search import FILE"
            raise InputError("kind", words["kind"], rule)
        return client.run_search(words)

    return enter_files(shell, files, ("searches", "searches"), enter, again, Sayings(_told, _progress), wait=wait)


def _progress(row: dict[str, Any]) -> str:
    """Return how far a search is, in a line."""
    best = "" if not row["best"] else f"; the best so far is {row['best']['value']}"
    return f"{row['name']}: {row['completed']} of {row['wanted']} trials completed{best}"


def _told(row: dict[str, Any]) -> str:
    why = f": {row['reason']['text']}" if row["reason"] else ""
    best = row["best"]
    found = f"; the best is {best['value']} at {_text(best['point'])} ({best['job']})" if best else ""
    early = f", {row['stopped']} stopped early" if row["stopped"] else ""
    done = f"{row['completed']} of {row['wanted']} trials completed{early}"
    return f"search {row['name']} is {row['state']}{why}; {done}{found}"


@command("list")
def _list(shell: Shell) -> None:
    """List searches, newest first, with the best trial of each: those that run, and the newest 1,000 that are over."""
    rows = shell.client().searches()
    if shell.as_json:
        shell.document({"searches": rows})
        return
    draw(_SEARCHES, [_cells(row) for row in rows])


def _cells(row: dict[str, Any]) -> list[str]:
    done, best = f"{row['completed']} of {row['wanted']}", row["best"]
    found = [str(best["value"]), _text(best["point"])] if best else [shown.NOTHING, shown.NOTHING]
    return [row["name"], state(row["state"]), done, str(row["failed"]), *found]


@command("show")
@NAME
def _show(shell: Shell, name: str) -> None:
    """Show the search NAME with its trials, the best first, and the best so far as a plot."""
    row = shell.client().search(name)
    if shell.as_json:
        shell.document(row)
        return
    shell.line(_told(row))
    draw(_TRIALS, [[t["job"], state(t["state"]), _value(t), _text(t["point"])] for t in _best_first(row)])
    values = [t["value"] for t in row["trials"] if t["value"] is not None]
    for line in plot(values, smallest=row["direction"] == "minimize"):
        shell.line(line)


def _best_first(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the trials in order of what they are worth; those without a value come last, the latest of them first."""
    sign = -1 if row["direction"] == "maximize" else 1
    given = [trial for trial in row["trials"] if trial["value"] is not None]
    others = [trial for trial in reversed(row["trials"]) if trial["value"] is None]
    return [*sorted(given, key=lambda trial: (sign * trial["value"], trial["number"])), *others]


def _value(trial: dict[str, Any]) -> str:
    if trial["value"] is None and trial["reports"]:
        return f"({trial['reports'][-1]['value']} at step {trial['reports'][-1]['step']})"
    return shown.NOTHING if trial["value"] is None else str(trial["value"])


def _text(point: dict[str, Any]) -> str:
    return ", ".join(f"{name} {json.dumps(value, ensure_ascii=False)}" for name, value in point.items())


@command("cancel")
@NAME
def _cancel(shell: Shell, name: str) -> None:
    """Stop the trials of the search NAME that run, and let no other enter."""
    row = shell.client().cancel_search(name)
    if shell.as_json:
        shell.document(row)
    else:
        shell.line(f"search {name} is told to stop")


@command("import")
@click.argument("file", metavar="FILE")
def _import(shell: Shell, file: str) -> None:
    """Write the Katib Experiment of a YAML FILE as a search; what has no counterpart is named on stderr."""
    from clearway.interop.katib import read_experiment

    _turned(shell, [read_experiment(one) for one in _documents(file)])


@command("export")
@click.argument("file", metavar="FILE")
@click.option("--image", default="python:3.11", help="The container image in which trials run [python:3.11].")
def _export(shell: Shell, file: str, image: str) -> None:
    """Write the searches of a YAML FILE as Katib Experiments; what has no counterpart is named on stderr."""
    from clearway.cli.job_files import maps_of_files
    from clearway.flow.search_words import read_search
    from clearway.interop.katib import write_experiment

    searches = maps_of_files((file,), "searches")
    for words in searches:
        read_search(words)  # refuses what is no search
    _turned(shell, [write_experiment(words, image) for words in searches])


def _documents(file: str) -> list[object]:
    from clearway.cli.job_files import documents_of

    return documents_of(file)


def _turned(shell: Shell, found: Sequence[Turned]) -> None:
    import yaml

    if shell.as_json:
        shell.document({"files": [{"words": one.words, "missing": one.missing} for one in found]})
        return
    for one in found:
        for what in one.missing:
            shell.note(f"{_name(one.words)}: no counterpart: {what}")
    click.echo(yaml.safe_dump_all([one.words for one in found], sort_keys=False), nl=False)


def _name(words: dict[str, Any]) -> str:
    return str(words.get("name") or words["metadata"]["name"])


for _one in (_run, _list, _show, _cancel, _import, _export):
    search_command.add_command(_one)
