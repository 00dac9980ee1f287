"""`clearway nodes`."""

from __future__ import annotations

from typing import Any

from clearway.cli import shown
from clearway.cli.shell import Shell, command
from clearway.cli.table import Cell, Column, draw
from clearway.cli.told import counted_only

_STYLE = {"ready": "green", "drained": "yellow", "quiet": "yellow", "lost": "red"}
_COLUMNS = (
    Column("NODE", cut=True),
    Column("STATE"),
    Column("FREE GPUS", right=True),
    Column("MODEL", cut=True),
    Column("GPU MEMORY", right=True),
    Column("FREE CPUS", right=True),
    Column("FREE MEMORY", right=True),
    Column("TASKS", right=True),
    Column("DEVICES HELD", cut=True),
)


@command("nodes")
def nodes_command(shell: Shell) -> None:
    """List nodes and what is free on them."""
    rows = shell.client().nodes()
    if shell.as_json:
        shell.document({"nodes": rows})
        return
    if not rows:
        shell.line("no nodes")
        return
    draw(_COLUMNS, [_cells(row) for row in rows])
    if said := counted_only(sum(row["gpus"] for row in rows if row["counted_only"])):
        shell.line(said)


def _cells(row: dict[str, Any]) -> list[str | Cell]:
    state = row["state"]
    marks = [f"{len(row['unhealthy'])} unhealthy"] if row["unhealthy"] else []
    if row["drained"] and state != "drained":
        marks.append("drained")
    return [
        row["name"],
        Cell(", ".join([state, *marks]), _STYLE.get(state, "")),
        f"{shown.amount(row['free_gpus'])} of {row['gpus']}" if row["gpus"] else "",
        row["gpu_model"] or "",
        shown.size(row["gpu_memory"]) if row["gpu_memory"] else "",
        _free(row, "cpus", shown.amount),
        _free(row, "memory", shown.size),
        str(row["tasks"]),
        ", ".join(filter(None, [_held(row["devices"]), *_slices(row["slices"])])),
    ]


def _free(row: dict[str, Any], resource: str, write: Any) -> str:  # noqa: ANN401 - a function of any amount
    if row[resource] is None:
        return "plenty"
    left = row[resource] - row["use"].get(resource, 0)
    return f"{write(round(left, 3))} of {write(row[resource])}"


def _held(devices: list[dict[str, Any]]) -> str:
    """Return the devices that are held: whole ones by number, parts of one with what is held of it."""
    whole = [d["number"] for d in devices if d["held"] == 1]
    parts = [
        f"{d['number']} ({_part(d)})" for d in devices if d["number"] not in whole and (d["held"] or d["gpu_memory"])
    ]
    return ", ".join(parts + ([shown.numbers(whole)] if whole else []))


def _slices(slices: list[dict[str, Any]]) -> list[str]:
    """Return the slices that are held, by number and profile."""
    return [f"{one['number']} ({one['profile']})" for one in slices if one["held"]]


def _part(device: dict[str, Any]) -> str:
    return shown.amount(device["held"]) if device["held"] else shown.size(device["gpu_memory"])
