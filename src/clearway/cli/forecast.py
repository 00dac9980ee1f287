"""`clearway forecast`."""

from __future__ import annotations

from typing import Any

import click

from clearway.cli import shown
from clearway.cli.past import asked
from clearway.cli.shell import Shell, command
from clearway.cli.table import Column, draw

_COLUMNS = (
    Column("LOAD"), Column("IN", right=True), Column("MIDDLE", right=True), Column("80 %", right=True),
    Column("95 %", right=True), Column("MODEL"), Column("MEAN ERROR", right=True), Column("AS IT IS", right=True),
)  # fmt: skip
_NAMES = {"arrivals": "arrivals in 5 min", "gpus": "GPUs in use"}


@click.group("forecast")
def forecast_command() -> None:
    """Forecasts of what is to come, by what has been."""


@command("load")
@click.option("--queue", metavar="QUEUE", help="Of this queue; by default of all.")
@click.option("--since", default="30d", show_default=True, metavar="TIME", help="Learn from then on, or so long ago.")
def _load(shell: Shell, queue: str | None, since: str) -> None:
    """Forecast arrivals and GPUs in use for 5 and 30 minutes, 1 and 24 hours ahead, with intervals.

    Each horizon is forecast by the model that has beaten "it stays as it is" there on the past, or by that. MEAN ERROR
    is how far it was off on the past, AS IT IS how far staying as it is was. Load breaks are times beyond the interval.
    The controller is asked, and its journal read where none runs.
    """
    found = asked(shell, lambda client: client.load_ahead(queue, since), lambda: _read(shell, queue, since))
    if shell.as_json:
        shell.document(found)
        return
    draw(_COLUMNS, [_cells(series, row) for series in found["series"] for row in series["ahead"]])
    for series in found["series"]:
        for one in series["breaks"]:
            shell.line(f"{_NAMES[series['name']]}: {one['side']} what was forecast from {one['from']} to {one['to']}")


def _read(shell: Shell, queue: str | None, since: str) -> dict[str, Any]:
    from clearway.api.past.load import load
    from clearway.compose.past import past_of

    with past_of(shell.home) as past:
        return load(past, queue, since)


def _cells(series: dict[str, Any], row: dict[str, Any]) -> list[str]:
    return [
        _NAMES[series["name"]],
        shown.span(row["horizon"]),
        f"{row['middle']:.1f}",
        _between(row["within_80"]),
        _between(row["within_95"]),
        row["model"],
        _error(row["error"]),
        _error(row["persistence_error"]),
    ]


def _between(within: list[float] | None) -> str:
    return shown.NOTHING if within is None else f"{within[0]:.1f} to {within[1]:.1f}"


def _error(error: float | None) -> str:
    return shown.NOTHING if error is None else f"{error:.2f}"


forecast_command.add_command(_load)
