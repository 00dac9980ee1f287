"""`clearway queues`."""

from __future__ import annotations

from typing import Any

from clearway.cli import shown
from clearway.cli.shell import Shell, command
from clearway.cli.table import Column, draw

_COLUMNS = (
    Column("QUEUE", cut=True), Column("PARENT", cut=True), Column("WAITING", right=True), Column("RUNNING", right=True), Column("HOLDS", wraps=True),
    Column("GUARANTEE", wraps=True), Column("LIMIT", wraps=True), Column("WEIGHT", right=True),
)  # fmt: skip


@command("queues")
def queues_command(shell: Shell) -> None:
    """List queues, what their jobs hold, and what they may."""
    rows = shell.client().queues()
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
