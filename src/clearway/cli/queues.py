"""`clearway queues`."""

from __future__ import annotations

from typing import Any

import click

from clearway.cli import shown
from clearway.cli.shell import Shell, command
from clearway.cli.table import Column, draw

_COLUMNS = (
    Column("QUEUE", cut=True),
    Column("PARENT", cut=True),
    Column("WAITING", right=True),
    Column("RUNNING", right=True),
    Column("HOLDS", wraps=True),
    Column("GUARANTEE", wraps=True),
    Column("LIMIT", wraps=True),
    Column("WEIGHT", right=True),
)


@command("queues")
@click.option("--set", "files", multiple=True, metavar="FILE", help="First create or change the queues of a YAML FILE.")
def queues_command(shell: Shell, files: tuple[str, ...]) -> None:
    """List queues, what their jobs hold, and what they may.

    A FILE holds one queue, a list of queues, or {queues: [..]}; - is stdin.
    """
    client = shell.client()
    if files:
        from clearway.cli.job_files import maps_of_files

        for queue in maps_of_files(files, "queues"):
            client.set_queue(queue)
    rows = client.queues()
    if shell.as_json:
        shell.document({"queues": rows})
    elif not rows:
        shell.line("no queues yet; a job without one waits in the queue default, which comes with it")
    else:
        draw(_COLUMNS, [_cells(row) for row in rows])


def _cells(row: dict[str, Any]) -> list[str]:
    return [
        row["name"], row["parent"] or "", str(row["pending"]), str(row["running"]), shown.resources(row["use"]),
        shown.resources(row["guarantee"]), shown.resources(row["limit"]), shown.amount(row["weight"]),
    ]  # fmt: skip
