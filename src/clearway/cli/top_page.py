"""What `clearway top` shows: one screen of nodes, queues, what runs and what waits, cut to the size that there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from clearway.cli import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

HEADING_LINES = 2  # of each part: its headings, and an empty line behind it
LEAST_ROWS = 2
NARROW = 100
_NODE = {"ready": "green", "drained": "yellow", "leaving": "yellow", "quiet": "yellow", "lost": "red"}
_ILL, _IDLE, _PART, _WHOLE = "x", "·", "▄", "█"
MOST_DEVICES = 32


def page(told: dict[str, Any], width: int, height: int) -> RenderableType:
    """Return the screen for what a controller told."""
    parts = [told["nodes"], told["queues"], told["running"], told["waiting"]]
    pools = told["pools"]
    if pools:  # most controllers have none, and no room to lose
        parts.append(pools)
    room = _rooms([len(rows) for rows in parts], height - 2 - len(parts) * HEADING_LINES)
    tables = [
        _nodes(told["nodes"], room[0]),
        _queues(told["queues"], room[1]),
        _running(told["running"], room[2], told["counts"].get("running", 0)),
        _waiting(told["waiting"], room[3], told["counts"].get("pending", 0), wide=width >= NARROW),
        *([_pools(pools, room[4])] if pools else []),
    ]
    return Group(_head(told), Text(""), *(part for table in tables for part in (table, Text(""))))


def _rooms(rows: Sequence[int], left: int) -> list[int]:
    """Return how many lines each part has: what it needs, the longer ones less where that is too much."""
    rooms = [max(many, 1) for many in rows]
    while sum(rooms) > max(left, LEAST_ROWS * len(rooms)):
        longest = max(range(len(rooms)), key=lambda i: rooms[i])
        if rooms[longest] <= LEAST_ROWS:
            break
        rooms[longest] -= 1
    return rooms


def _head(told: dict[str, Any]) -> Text:
    controller, gpus = told["controller"], told["gpus"]
    state = Text(str(controller["state"]), "green" if controller["state"] == "up" else "bold red")
    held = f"{shown.amount(gpus['held'])} of {gpus['total']} GPUs held"
    counts = ", ".join(f"{many} {state}" for state, many in told["counts"].items())
    head = Text.assemble(("clearway", "bold"), f" {controller['version']}  ", state, f"  {held}  {counts or 'no jobs'}")
    if controller["text"]:
        head.append(f"\n{shown.plain(controller['text'])}", "red")
    return head


def _table(*columns: tuple[str, str, int | None]) -> Table:
    """Return a table with columns of (heading, side, width or None for what is left)."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", expand=True)
    for heading, side, width in columns:
        ratio = None if width else 1
        table.add_column(heading, justify=side, no_wrap=True, overflow="ellipsis", width=width, ratio=ratio)  # type: ignore[arg-type]
    return table


def _fill(table: Table, rows: Sequence[Sequence[Text | str]], room: int, total: int | None = None) -> Table:
    many = len(rows) if total is None else total
    kept = rows if many <= room else rows[: max(room - 1, 0)]
    for row in kept:
        table.add_row(*(cell if isinstance(cell, Text) else Text(shown.plain(cell)) for cell in row))
    if many > len(kept):
        table.add_row(Text(f"and {many - len(kept)} more", "dim"), *[""] * (len(table.columns) - 1))
    if not many:
        table.add_row(Text("none", "dim"), *[""] * (len(table.columns) - 1))
    return table


def _nodes(rows: list[dict[str, Any]], room: int) -> Table:
    table = _table(("NODE", "left", 16), ("STATE", "left", 8), ("FREE GPUS", "right", 10), ("DEVICES", "left", None))
    cells = [[row["name"], Text(row["state"], _NODE.get(row["state"], "")), _free(row), _devices(row)] for row in rows]
    return _fill(table, cells, room)


def _free(row: dict[str, Any]) -> str:
    return f"{shown.amount(row['free_gpus'])} of {row['gpus']}" if row["gpus"] else shown.NOTHING


def _devices(row: dict[str, Any]) -> Text:
    """Draw a device as a character: idle, held in part, held, ill."""
    drawn = Text()
    for device in row["devices"][:MOST_DEVICES]:
        held = device["held"]
        if not device["healthy"]:
            drawn.append(_ILL, "red")
        elif not held and not device["gpu_memory"]:
            drawn.append(_IDLE, "dim")
        else:
            drawn.append(_WHOLE if held >= 1 else _PART, "cyan")
    if len(row["devices"]) > MOST_DEVICES:
        drawn.append(" ..")
    return drawn


def _queues(rows: list[dict[str, Any]], room: int) -> Table:
    table = _table(
        ("QUEUE", "left", None), ("RUNNING", "right", 9), ("WAITING", "right", 9), ("GPUS", "right", 8),
        ("GUARANTEE", "right", 10), ("LIMIT", "right", 8),
    )  # fmt: skip
    cells = [
        [
            row["name"],
            str(row["running"]),
            str(row["pending"]),
            *(_gpus(row[key]) for key in ("use", "guarantee", "limit")),
        ]
        for row in rows
    ]
    return _fill(table, cells, room)


def _gpus(amounts: dict[str, float]) -> str:
    return shown.amount(amounts["gpus"]) if "gpus" in amounts else shown.NOTHING


def _running(rows: list[dict[str, Any]], room: int, total: int) -> Table:
    table = _table(
        ("RUNNING", "left", None), ("QUEUE", "left", 12), ("GPUS", "right", 5), ("FOR", "right", 10), ("ON", "left", 20)
    )
    cells = [
        [row["name"], row["queue"], shown.amount(row["gpus"]), shown.between(row["started"], None), _places(row)]
        for row in rows
    ]
    return _fill(table, cells, room, max(total, len(rows)))


def _places(row: dict[str, Any]) -> str:
    return "; ".join(f"{node} {shown.numbers(devices)}" for node, devices in row["devices"].items())


def _waiting(rows: list[dict[str, Any]], room: int, total: int, *, wide: bool) -> Table:
    table = _table(
        ("WAITING", "left", 24 if wide else 16), ("QUEUE", "left", 12), ("GPUS", "right", 5), ("FOR", "right", 10),
        ("BECAUSE", "left", None),
    )  # fmt: skip
    cells = [
        [row["name"], row["queue"], shown.amount(row["gpus"]), shown.between(row["submitted"], None), _because(row)]
        for row in rows
    ]
    return _fill(table, cells, room, max(total, len(rows)))


def _pools(rows: list[dict[str, Any]], room: int) -> Table:
    table = _table(
        ("CALLS OF", "left", None), ("WORKERS", "right", 9), ("RUNNING", "right", 9), ("WAITING", "right", 9)
    )
    cells = [
        [
            ", ".join(row["functions"]) or f"pool {row['pool']}",
            *(str(row[key]) for key in ("workers", "running", "pending")),
        ]
        for row in rows
    ]
    return _fill(table, cells, room)


def _because(row: dict[str, Any]) -> str:
    return row["reason"]["text"] if row["reason"] else shown.NOTHING
