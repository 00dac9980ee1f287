"""`clearway changes`."""

from __future__ import annotations

from typing import Any

import click

from clearway.cli import shown
from clearway.cli.shell import Shell, command
from clearway.cli.table import Column, draw

_COLUMNS = (
    Column("WHEN", right=True),
    Column("WHO", cut=True),
    Column("AS"),
    Column("FROM", cut=True),
    Column("WHAT", cut=True),
    Column("STATUS", right=True),
    Column("ABOUT", cut=True),
)


@command("changes")
@click.option("--who", metavar="NAME", help="Only what this one did.")
@click.option("--since", metavar="TIME", help="Only since this moment, or so long ago: 2d.")
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True, help="At most so many.")
def changes_command(shell: Shell, *, who: str | None, since: str | None, limit: int) -> None:
    """Tell who changed what, from where and when, the newest first; also what was refused to them.

    For example: clearway changes --since 2d
    """
    rows = shell.client().changes(who, since, limit)
    if shell.as_json:
        shell.document({"changes": rows})
    elif not rows:
        shell.line("nobody has changed anything")
    else:
        draw(_COLUMNS, [_cells(row) for row in rows])


def _cells(row: dict[str, Any]) -> list[str]:
    came = row["via"] if row["address"] is None else f"{row['address']} ({row['via']})"
    what = f"{row['method']} {row['path'].removeprefix('/api/v1')}"
    about = ", ".join(f"{word} {value}" for word, value in row["about"].items())
    return [shown.clock(row["at"]), row["who"], row["role"], came, what, str(row["status"]), about]
