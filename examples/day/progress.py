"""How the day goes on: a table that moves on a terminal, a line for each change elsewhere."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.table import Table

Rows = list[dict[str, Any]]
STYLE = {"pending": "yellow", "running": "cyan", "succeeded": "green"}


@contextmanager
def progress() -> Iterator[Callable[[Rows], None]]:
    """Give what shows a list of jobs, as often as it is called."""
    if not sys.stdout.isatty():
        yield _Lines()
        return
    from rich.live import Live  # noqa: PLC0415 - only a terminal needs it

    with Live(transient=True) as live:
        yield lambda rows: live.update(_table(rows))


class _Lines:
    """Says what has changed since it last looked."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}
        self._begun = time.monotonic()

    def __call__(self, rows: Rows) -> None:
        for row in rows:
            if self._known.get(row["id"]) != row["state"]:
                self._known[row["id"]] = row["state"]
                at = f"{time.monotonic() - self._begun:5.1f} s"
                print(f"{at}  {row['name']:<14}{row['state']:<11}{where_or_why(row)}".rstrip(), flush=True)


def _table(rows: Sequence[dict[str, Any]]) -> Table:
    from rich.table import Table  # noqa: PLC0415 - only a terminal needs it

    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("JOB", "QUEUE", "STATE", "DEVICES, OR WHY NOT YET"):
        table.add_column(heading, no_wrap=True)
    for row in rows:
        state = row["state"]
        table.add_row(row["name"], row["queue"], f"[{STYLE.get(state, 'red')}]{state}", where_or_why(row))
    return table


def where_or_why(row: dict[str, Any]) -> str:
    """Return the devices of a job that runs or ran, the reason of one that waits or failed."""
    if row["reason"]:
        return str(row["reason"]["text"]).partition(";")[0]
    devices = sorted({device for held in row["devices"].values() for device in held})
    return ("on device " if len(devices) == 1 else "on devices ") + ", ".join(map(str, devices)) if devices else ""
