"""`clearway queues`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from clearway.cli import shown
from clearway.cli.shell import Shell, command
from clearway.cli.table import Column, draw

if TYPE_CHECKING:
    from collections.abc import Iterator

_COLUMNS = (
    Column("QUEUE", cut=True),
    Column("HOLDS", wraps=True),
    Column("SHARE", wraps=True),
    Column("GUARANTEE", wraps=True),
    Column("LIMIT", wraps=True),
    Column("WEIGHT", right=True),
    Column("RUNNING", right=True),
    Column("WAITING", right=True),
    Column("WANTS", wraps=True),
)
_PAST = Column("HELD BEFORE", wraps=True)  # only where the policy remembers past use
_AFTER_SHARE = 3
INDENT = "  "  # a queue stands below its parent, so much further in


@command("queues")
@click.option("--set", "files", multiple=True, metavar="FILE", help="First create or change the queues of a YAML FILE.")
def queues_command(shell: Shell, files: tuple[str, ...]) -> None:
    """Show the tree of queues: what each holds, its fair share now, guarantee and limit, and what waits in it.

    What a queue holds and wants is told with all queues below it. SHARE is what it may have as things are, and
    HELD BEFORE what it held in the past, where the policy's half_life counts that.
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
    else:
        show_queues(rows)


def show_queues(rows: list[dict[str, Any]]) -> None:
    """Draw queues as a tree; one whose parent is not among them stands at the top."""
    names = {row["name"] for row in rows}
    below: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        below.setdefault(row["parent"] if row["parent"] in names else "", []).append(row)
    columns, cells = list(_COLUMNS), [_cells(row, depth) for row, depth in _tree(below, "", 0)]
    if any(row.get("past") for row in rows):
        columns.insert(_AFTER_SHARE, _PAST)
        for line, (row, _) in zip(cells, _tree(below, "", 0), strict=True):
            line.insert(_AFTER_SHARE, _share(row["past"]))
    draw(columns, cells)


def _tree(below: dict[str, list[dict[str, Any]]], parent: str, depth: int) -> Iterator[tuple[dict[str, Any], int]]:
    for row in below.get(parent, ()):
        yield row, depth
        yield from _tree(below, row["name"], depth + 1)


def _cells(row: dict[str, Any], depth: int) -> list[str]:
    use = row["use"] if row["total_use"] is None else row["total_use"]
    return [
        INDENT * depth + row["name"],
        shown.resources(use),
        _share(row["share"]),
        shown.resources(row["guarantee"]),
        _limits(row),
        shown.amount(row["weight"]),
        str(row["running"]),
        str(row["pending"]),
        shown.resources(row["wants"] or {}),
    ]


def _share(share: dict[str, float] | None) -> str:
    if share is None:
        return ""
    return f"{100 * share['dominant']:.1f} %" if "dominant" in share else shown.resources(share)


def _limits(row: dict[str, Any]) -> str:
    each = shown.resources(row["limit_per_user"])
    calls = f"{row['call_rate']} calls" if row.get("call_rate") else ""
    texts = (shown.resources(row["limit"]), f"{each} per user" if each else "", calls)
    return "; ".join(text for text in texts if text)
