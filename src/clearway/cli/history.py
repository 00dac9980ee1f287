"""`clearway history`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clearway.cli.past import asked
from clearway.cli.shell import Shell, command
from clearway.model.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.interop.importing import Column, Imported, Options
    from clearway.sdk.client import Client

SOURCES = ("slurm", "kubernetes", "ray", "csv")
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.group("history")
def history_command() -> None:
    """Jobs of the past as workload files: those of a controller, and those of other systems."""


@command("export")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE")
def _export(shell: Shell, file: Path) -> None:
    """Write the jobs that are over to the workload FILE (.gz is compressed), for `clearway replay`.

    Commands, directories and environments stay where they are: a replay needs none of them.
    """
    found = asked(shell, lambda client: _fetched(client, file), lambda: _read(shell, file))
    if shell.as_json:
        shell.document({"file": str(file), **found})
    else:
        rest = f"; left out, as they are not over: {found['unfinished']}" if found["unfinished"] else ""
        shell.line(f"wrote {_jobs(found['jobs'])} to {file}{rest}")


def _jobs(number: int) -> str:
    return f"{number:,} job" if number == 1 else f"{number:,} jobs"


def _fetched(client: Client, file: Path) -> dict[str, Any]:
    try:
        with file.open("wb") as opened:
            return client.history(opened, compressed=file.name.endswith(".gz"))
    except OSError as error:
        raise _unwritten(file, error) from error


def _read(shell: Shell, file: Path) -> dict[str, Any]:
    from clearway.compose.history import records
    from clearway.sim.workloads.history import export

    try:
        return export(partial(records, shell.home), file)
    except OSError as error:
        raise _unwritten(file, error) from error


def _unwritten(file: Path, error: OSError) -> InputError:
    return InputError("file", str(file), f"a file that can be written ({error.strerror})")


@command("import")
@click.argument("source", type=_FILE, metavar="SOURCE")
@click.argument("file", type=_FILE, metavar="FILE")
@click.option("--from", "system", type=click.Choice(SOURCES), help="What wrote SOURCE, where it does not show.")
@click.option("--timezone", metavar="ZONE", help="Zone of times without an offset, such as Europe/Berlin [UTC].")
@click.option("--column", "columns", multiple=True, metavar="WORD=NAME[:UNIT]", help="Of a table: where a word stands.")
@click.option(
    "--queue-by", type=click.Choice(["partition", "account", "qos", "namespace"]), help="What becomes the queue."
)
@click.option("--default", "defaults", multiple=True, metavar="WORD=VALUE", help="A job word for jobs that do not say.")
def _import(  # noqa: PLR0913 - one parameter an option
    shell: Shell,
    *,
    source: Path,
    file: Path,
    system: str | None,
    timezone: str | None,
    columns: tuple[str, ...],
    queue_by: str | None,
    defaults: tuple[str, ...],
) -> None:
    """Turn the history SOURCE of another system into the workload FILE, and say what it does not tell.

    SOURCE is what `sacct -a -P -o ALL` or `kubectl get jobs,pods,events -A -o json` (or yaml) prints, what Ray's
    `GET /api/jobs/` answers, or a table (CSV) with a --column for each word. Example:

    clearway history import jobs.csv past.jsonl.gz --from csv --column submit=created --column runtime=took:min
    """
    from clearway.cli.importing import progress
    from clearway.interop.importing import import_history
    from clearway.interop.sources import SOURCES as READERS
    from clearway.interop.sources import detect

    reader = READERS[system] if system else detect(source)
    options = _options(timezone, columns, queue_by, defaults)
    try:
        with progress(source) as told:
            found = import_history(reader, source, file, options, told)
    except OSError as error:
        raise InputError("file", str(file), f"a file that can be written ({error.strerror})") from error
    if found.jobs == 0:
        _say_gaps(shell, found)
        raise InputError("source", str(source), "a history with at least one job that is over")
    _told(shell, found, reader.name, file)


def _options(
    timezone: str | None, columns: tuple[str, ...], queue_by: str | None, defaults: tuple[str, ...]
) -> Options:
    from zoneinfo import ZoneInfo

    from clearway.config.yaml_file import parse_yaml
    from clearway.interop.importing import Options
    from clearway.model.words import read_job

    try:
        zone = ZoneInfo(timezone or "UTC")
    except (LookupError, ValueError, OSError):
        raise InputError("timezone", timezone, "the name of a time zone, such as Europe/Berlin") from None
    words = {word: parse_yaml(value, f"--default {word}") for word, value in map(_pair("default"), defaults)}
    read_job({"name": "default", **words})
    named = {word: _column(value) for word, value in map(_pair("column"), columns)}
    return Options(zone, timezone is not None, queue_by or "", named, words)


def _pair(option: str) -> Callable[[str], tuple[str, str]]:
    def split(text: str) -> tuple[str, str]:
        word, equals, value = text.partition("=")
        if not equals or not word or not value:
            raise InputError(option, text, "WORD=VALUE")
        return word, value

    return split


def _column(text: str) -> Column:
    """Return a column and, behind the last colon, the unit of its numbers."""
    from clearway.interop.importing import Column
    from clearway.interop.moments import UNITS_US
    from clearway.interop.table import SIZE_UNITS

    name, _, unit = text.rpartition(":")
    return Column(name, unit) if name and unit in (*UNITS_US, *SIZE_UNITS) else Column(text)


def _told(shell: Shell, found: Imported, source: str, file: Path) -> None:
    from clearway.api.moments import iso_or_none

    first, last = iso_or_none(found.first_us), iso_or_none(found.last_us)
    if shell.as_json:
        about = {"file": str(file), "source": source, "jobs": found.jobs, "first_submit": first, "last_submit": last}
        shell.document({**about, **found.gaps.document()})
        return
    shell.line(f"wrote {_jobs(found.jobs)} to {file}, submitted from {first} to {last}")
    _say_gaps(shell, found)


def _say_gaps(shell: Shell, found: Imported) -> None:
    for sentence in () if shell.as_json else found.gaps.sentences():
        shell.line(sentence)


history_command.add_command(_export)
history_command.add_command(_import)
