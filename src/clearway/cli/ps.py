"""`clearway ps`."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import click

from clearway.cli import shown
from clearway.cli.choices import complete_queue
from clearway.cli.shell import Shell, command
from clearway.cli.table import Cell, Column, draw, state
from clearway.model.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.sdk.client import Client

STATES = ("pending", "running", "succeeded", "failed", "cancelled")
MOST_ROWS = 1000
MOST_NAMES = 3  # of queues that are offered where none is like the one that was asked for

_COLUMNS = (
    Column("JOB", right=True),
    Column("NAME", cut=True),
    Column("STATE"),
    Column("QUEUE", cut=True),
    Column("GPUS", right=True),
    Column("SUBMITTED", right=True),
    Column("RAN", right=True),
    Column("WHERE, OR WHY", cut=True),
)


_PROMISED = Column("STARTS BY", right=True)
_LEFT = Column("LEFT", right=True)


@command("ps")
@click.option("-a", "--all", "everything", is_flag=True, help="Also those that are over.")
@click.option("--state", "wanted", type=click.Choice(STATES), help="Only those in this state.")
@click.option("--queue", metavar="NAME", help="Only those of this queue.", shell_complete=complete_queue)
@click.option("--name", metavar="NAME", help="Only those with this name.")
@click.option("--array", metavar="JOB", help="The jobs of this array; otherwise it stands for all of them.")
@click.option(
    "--limit", type=click.IntRange(1), default=MOST_ROWS, show_default=True, help="At most so many, the newest."
)
def ps_command(
    shell: Shell,
    *,
    everything: bool,
    wanted: str | None,
    queue: str | None,
    name: str | None,
    array: str | None,
    limit: int,
) -> None:
    """List jobs that wait or run; with -a, --state or --name also those that are over."""
    client = shell.client()
    over_too = everything or wanted in STATES[2:] or name is not None
    rows = client.jobs(state=wanted, queue=queue, name=name, array=array, everything=over_too, limit=limit)
    if queue is not None and not rows:
        _check_queue(client, queue)
    if shell.as_json:
        shell.document({"jobs": rows})
        return
    narrowed = queue is not None or name is not None or array is not None or wanted in STATES[2:]
    calls = "" if narrowed else shown.calls(client.status()["calls"])
    if not rows:
        shell.line(_nothing(client, narrowed=over_too or wanted is not None or queue is not None))
    else:
        draw_jobs(rows)
    if calls:
        shell.line(f"and calls of tasks: {calls}; clearway call list shows them")
    if len(rows) == limit:
        shell.note(f"the newest {limit} only; --limit shows more")


def _check_queue(client: Client, queue: str) -> None:
    """Raise NotFoundError, with the names that are nearest, where there is no such queue."""
    names = [row["name"] for row in client.queues()]
    if queue not in names:
        near = get_close_matches(queue, names) or names[:MOST_NAMES]
        raise NotFoundError(f"there is no queue {queue!r}; the nearest: {', '.join(near)}")


def _nothing(client: Client, *, narrowed: bool) -> str:
    if client.jobs(everything=True, limit=1):
        return "no such job" if narrowed else "no job waits or runs; clearway ps -a shows those that are over"
    return "no jobs; try: clearway run --wait -- echo hello"


def draw_jobs(rows: Sequence[dict[str, Any]]) -> None:
    """Draw a table of job rows, with the promised starts and with what is left where there are any."""
    cells, columns = [_cells(row) for row in rows], list(_COLUMNS)
    if any(row.get("promised") for row in rows):
        columns.insert(-1, _PROMISED)
        for row, line in zip(rows, cells, strict=True):
            line.insert(-1, shown.clock(row["promised"]) if row["promised"] else "")
    if any(_left(row) for row in rows):
        columns.insert(-1, _LEFT)
        for row, line in zip(rows, cells, strict=True):
            line.insert(-1, _left(row))
    draw(columns, cells)


def _left(row: dict[str, Any]) -> str:
    found = row.get("left")
    return f"about {shown.roughly(found['median_s'])}" if found and found["median_s"] is not None else ""


def _cells(row: dict[str, Any]) -> list[str | Cell]:
    gpus = "" if not row["gpus"] else shown.amount(row["gpus"])
    return [
        str(row["id"]), row["name"], state(inner(row)), row["queue"], gpus,
        shown.ago(row["submitted"]), ran(row), where_or_why(row),
    ]  # fmt: skip


def ran(row: dict[str, Any]) -> str:
    """Return how long the present or last attempt of a job has run; nothing while it waits for another."""
    return "" if row["state"] == "pending" else shown.between(row["started"], row["stopped"] or row["ended"])


def inner(row: dict[str, Any]) -> str:
    """Return the state, and in brackets what it is exactly where that says more."""
    exact = row.get("inner_state")
    return row["state"] if exact in (None, row["state"]) else f"{row['state']} ({exact})"


def where_or_why(row: dict[str, Any]) -> str:
    """Return where a job runs or ran, or why it waits or ended otherwise than well."""
    if row.get("array") and row["ended"] is None:
        reason = f"; {row['reason']['text']}" if row["reason"] else ""
        return f"{progress(row['array'])}{reason}"
    if row["state"] in ("pending", "failed", "refused", "cancelled") and row["reason"]:
        return str(row["reason"]["text"])
    odd = row.get("odd")
    return f"{odd['text']}; on {placed(row)}" if odd else placed(row)


def progress(array: dict[str, Any]) -> str:
    """Return how far an array has come: `3 of 10 succeeded, 2 running, 5 waiting`."""
    parts = [f"{array['succeeded']} of {array['jobs']} succeeded"]
    return ", ".join(
        parts + [f"{array[how]} {how}" for how in ("failed", "cancelled", "running", "waiting") if array[how]]
    )


def placed(row: dict[str, Any]) -> str:
    """Return nodes with the devices held there: `gpu-0 [0-3], gpu-1 [0]`."""
    devices = row.get("devices") or {}
    return ", ".join(f"{node} [{shown.numbers(devices[node])}]" if devices.get(node) else node for node in row["nodes"])
