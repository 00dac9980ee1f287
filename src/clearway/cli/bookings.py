"""`clearway booking create`, `list` and `cancel`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import click

from clearway.cli import shown
from clearway.cli.job_options import number_or_text
from clearway.cli.shell import Shell, command, group
from clearway.cli.table import Column, draw

_COLUMNS = (
    Column("BOOKING", cut=True),
    Column("FROM"),
    Column("TO"),
    Column("FOR", wraps=True),
    Column("KEEPS", wraps=True),
)
NOW = "now"


@group("booking")
def booking_command() -> None:
    """Keep nodes or devices for some queues or users for a time.

    For example: clearway booking create demo --gpus 8 --from 2026-12-01T08:00:00Z --to 2026-12-01T12:00:00Z --for sales
    """


def _names(texts: tuple[str, ...]) -> list[str]:
    return [part for text in texts for part in text.split(",")]


@command("create")
@click.argument("name", metavar="NAME")
@click.option("--nodes", multiple=True, metavar="NODE[,NODE..]", help="Nodes that are kept whole.")
@click.option("--gpus", metavar="NUMBER", help="Instead of nodes: so many whole devices, wherever they are.")
@click.option("--from", "begin", metavar="TIME", default=NOW, help="When it begins, with an offset [default: now].")
@click.option("--to", "end", metavar="TIME", required=True, help="When it ends, as 2026-12-01T12:00:00Z.")
@click.option("--for", "whom", multiple=True, metavar="NAME[,NAME..]", help="Queues and users; without any nobody may.")
def _create(
    shell: Shell, *, name: str, nodes: tuple[str, ...], gpus: str | None, begin: str, end: str, whom: tuple[str, ...]
) -> None:
    """Make the booking NAME.

    From its beginning to its end only jobs of the queues and users that it is for start there, and before it others
    only if they are expected to end in time. What runs there already goes on.
    """
    words: dict[str, object] = {"name": name, "from": _moment(begin), "to": end, "for": _names(whom)}
    if nodes:
        words["nodes"] = _names(nodes)
    if gpus is not None:
        words["gpus"] = number_or_text(gpus)
    row = shell.client().book(words)
    if shell.as_json:
        shell.document(row)
    else:
        shell.line(f"booking {row['name']} keeps {_keeps(row)}")


def _moment(text: str) -> str:
    return datetime.now(UTC).isoformat() if text == NOW else text


@command("list")
def _list(shell: Shell) -> None:
    """List the bookings that are not over."""
    rows = shell.client().bookings()
    if shell.as_json:
        shell.document({"bookings": rows})
    elif not rows:
        shell.line("no bookings")
    else:
        draw(_COLUMNS, [_cells(row) for row in rows])


@command("cancel")
@click.argument("name", metavar="NAME")
def _cancel(shell: Shell, name: str) -> None:
    """Cancel the booking NAME: from now on it keeps nothing."""
    told = shell.client().cancel_booking(name)
    if shell.as_json:
        shell.document(told)
    else:
        shell.line(f"booking {name} is cancelled")


def _cells(row: dict[str, Any]) -> list[str]:
    whom = ", ".join(row["for"]) or "nobody"
    return [row["name"], shown.clock(row["from"]), shown.clock(row["to"]), whom, _keeps(row)]


def _keeps(row: dict[str, Any]) -> str:
    parts = [node if many is None else f"{many} of {node}" for node, many in row["keeps"].items()]
    return ", ".join(parts) or "nothing that is there"


for _made in (_create, _list, _cancel):
    booking_command.add_command(_made)
