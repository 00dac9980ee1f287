"""`clearway history`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from clearway.cli.shell import Shell, command


@click.group("history")
def history_command() -> None:
    """Take out what a controller has in its journal."""


@command("export")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE")
def _export(shell: Shell, file: Path) -> None:
    """Write the jobs that are over to the workload FILE (.gz is compressed), for `clearway replay`.

    Commands, directories and environments stay where they are: a replay needs none of them.
    """
    from clearway.compose.history import records
    from clearway.model.errors import InputError
    from clearway.sim.workloads.history import History
    from clearway.sim.workloads.writer import written

    history = History(partial(records, shell.home))
    jobs = 0
    try:
        with written(file, {"title": "exported by clearway history", **history.header}) as write:
            for arrival in history.arrivals():
                write(arrival)
                jobs += 1
    except OSError as error:
        raise InputError("file", str(file), f"a file that can be written ({error.strerror})") from error
    if shell.as_json:
        shell.document({"file": str(file), "jobs": jobs, "unfinished": history.unfinished})
    else:
        rest = f"; {history.unfinished} that are not over were left out" if history.unfinished else ""
        shell.line(f"wrote {jobs} jobs to {file}{rest}")


history_command.add_command(_export)
