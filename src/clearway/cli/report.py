"""`clearway report`."""

from __future__ import annotations

import csv
import re
import sys
from typing import Any

import click

from clearway.cli import shown
from clearway.cli.budgets import draw_budgets
from clearway.cli.past import asked, progress
from clearway.cli.shell import Shell, command
from clearway.cli.table import Column, draw

_COLUMNS = (
    Column("GPU HOURS", right=True), Column("USED", right=True), Column("OVER-ASKED", right=True),
    Column("LOST", right=True), Column("COST", right=True),
    Column("STARTS", right=True), Column("MEAN WAIT", right=True), Column("SUCCEEDED", right=True),
    Column("FAILED", right=True), Column("CANCELLED", right=True),
)  # fmt: skip
_FORMULA = re.compile(r"[=+\-@\t\r]")


@command("report")
@click.option("--since", default="30d", show_default=True, metavar="TIME", help="From then on, or so long ago: 30d.")
@click.option("--until", metavar="TIME", help="Up to this moment, or up to so long ago; by default now.")
@click.option(
    "--by", type=click.Choice(["tenant", "user", "queue"]), default="queue", show_default=True, help="Whose accounts."
)
@click.option("--csv", "as_csv", is_flag=True, help="Write a table for a spreadsheet.")
def report_command(shell: Shell, since: str, until: str | None, by: str, as_csv: bool) -> None:  # noqa: FBT001 - click calls it by name
    """Account for what tenants, users or queues held in a time: GPU-hours, money, waits, and how jobs ended.

    What is held counts from the decision until it is free again, also in attempts that were stopped; LOST is that of
    attempts that did not succeed, USED what the devices really worked, of the hours in which that was measured,
    OVER-ASKED those of devices, or of the memory of a share, for which a task had no use at all from its start to its
    end. The cost of a task is the price of its node, times its part of it, times that time. Where there are budgets, it
    tells how each stood at the end of the time, in its own period.
    The controller is asked, and its journal read where none runs.
    """
    found = asked(shell, lambda client: client.report(since, until, by), lambda: _read(shell, since, until, by))
    rows = found["accounts"]
    if shell.as_json:
        shell.document(found)
    elif as_csv:
        _csv(rows, by)
    else:
        _tell(shell, rows, found["budgets"], by)


def _tell(shell: Shell, rows: list[dict[str, Any]], budgets: list[dict[str, Any]], by: str) -> None:
    """Draw the accounts, and below them the budgets where there are any."""
    if rows:
        draw((Column(by.upper(), cut=True), *_COLUMNS), [_cells(row) for row in rows])
    else:
        shell.line("nothing was held, and no job ended, in that time")
    if budgets:
        shell.line("")
        draw_budgets(budgets)


def _read(shell: Shell, since: str, until: str | None, by: str) -> dict[str, Any]:
    from clearway.api.past.questions import report
    from clearway.compose.past import past_of

    with past_of(shell.home) as past, progress(past.last()):
        return report(past, since, until, by)


def _cells(row: dict[str, Any]) -> list[str]:
    wait = shown.NOTHING if row["mean_wait"] is None else shown.span(row["mean_wait"])
    return [
        row["name"] or shown.NOTHING, f"{row['gpu_hours']:.2f}", _used(row), _over(row), f"{row['lost_gpu_hours']:.2f}",
        f"{row['cost']:.2f}",
        str(row["starts"]), wait, str(row["succeeded"]), str(row["failed"]), str(row["cancelled"]),
    ]  # fmt: skip


def _used(row: dict[str, Any]) -> str:
    """Return what was really used, of that which was measured."""
    if row["used_gpu_hours"] is None:
        return shown.NOTHING
    return f"{row['used_gpu_hours']:.2f} of {row['measured_gpu_hours']:.2f}"


def _over(row: dict[str, Any]) -> str:
    """Return for what there was no use at all."""
    return shown.NOTHING if row["over_asked_gpu_hours"] is None else f"{row['over_asked_gpu_hours']:.2f}"


def _csv(rows: list[dict[str, Any]], by: str) -> None:
    """Write rows; a name that a spreadsheet would take for a formula has a quote before it."""
    names = [
        "name",
        "gpu_hours",
        "measured_gpu_hours",
        "used_gpu_hours",
        "over_asked_gpu_hours",
        "over_asked_cost",
        "lost_gpu_hours",
        "cost",
        "starts",
        "mean_wait",
        "succeeded",
        "failed",
        "cancelled",
    ]
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow([by, *names[1:]])
    for row in rows:
        name = "'" + row["name"] if _FORMULA.match(row["name"]) else row["name"]
        out.writerow([shown.plain(name), *("" if row[key] is None else row[key] for key in names[1:])])
