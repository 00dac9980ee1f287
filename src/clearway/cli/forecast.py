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
    if not any(series["ahead"] for series in found["series"]):
        shell.line(
            f"nothing to forecast from yet: less than five minutes are known, since {shown.clock(found['from'])}"
        )
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


_SCORES = (
    Column("RUNS OF"), Column("RUNS", right=True), Column("IN 80 %", right=True), Column("IN 95 %", right=True),
    Column("WIDTH", right=True), Column("OFF BY", right=True), Column("ESTIMATE", right=True),
    Column("LAST RUN", right=True), Column("MEDIAN", right=True), Column("LOSS", right=True),
    Column("BEST RIVAL", right=True),
)  # fmt: skip
_BY = ("queue", "tenant", "user", "basis", "length")


@command("report")
@click.option("--since", default="30d", show_default=True, metavar="TIME", help="Forecasts made since, or so long ago.")
@click.option("--by", type=click.Choice(_BY), default="queue", show_default=True, help="A row for each of these.")
@click.option("--starts", is_flag=True, help="Also judge ETAs, at moments of the past: takes up to a minute.")
def _report(shell: Shell, since: str, by: str, starts: bool) -> int:  # noqa: FBT001  click's way
    """Tell how good forecasts of run times and starts were, beside what came.

    IN 80 % and IN 95 %: the part of the runs inside intervals that are to hold so many. WIDTH: the factor between the
    ends of the 80 % interval. OFF BY: the factor between the median said and the run time, in the middle; beside it
    those of users' estimates, of the last run of the same user, and of the median of runs of the same user, queue and
    size. LOSS: the quantile loss of the logarithm, and that of the best of these rivals. The controller is asked, and
    its journal read where none runs.
    """
    found = asked(
        shell, lambda client: client.forecasts(since, by, starts=starts), lambda: _judge(shell, since, by, starts)
    )
    if shell.as_json:
        shell.document(found)
        return 0
    if not found["runs"][0]["runs"]:
        shell.line(f"no run that was forecast since {shown.clock(found['from'])} has ended by itself")
    else:
        draw(_SCORES, map(_score_cells, found["runs"]))
    if found["broken_off"]:
        shell.line(f"{found['broken_off']} runs were broken off and are not judged")
    if found["drifted"]:
        shell.line("run times have drifted: the last fifty or so were held for less than half as likely as usual")
    if found["starts"] is not None:
        shell.line(_of_starts(found["starts"]))
    return 0


def _judge(shell: Shell, since: str, by: str, starts: bool) -> dict[str, Any]:  # noqa: FBT001
    from clearway.api.past.forecasts import forecasts
    from clearway.compose.past import past_of

    with past_of(shell.home) as past:
        return forecasts(past, since, by, starts=starts)


def _score_cells(row: dict[str, Any]) -> list[str]:
    def told(key: str, form: str) -> str:
        return shown.NOTHING if row[key] is None else form.format(row[key])

    factors = ("width", "error", "estimate_error", "last_error", "median_error")
    return [
        row["name"] or shown.NOTHING,
        str(row["runs"]),
        *(told(key, "{:.1f}") for key in ("within_80", "within_95")),
        *(told(key, "{:.2f}×") for key in factors),
        *(told(key, "{:.3f}") for key in ("pinball", "rival_pinball")),
    ]


def _of_starts(found: dict[str, Any]) -> str:
    if not found["judged"]:
        return "starts: nobody waited at the moments that were looked at, or nothing came of it yet"
    text = (
        f"starts: {found['within_80']:.1f} % of {found['judged']} inside the interval of 80 %, asked at"
        f" {found['moments']} moments"
    )
    if found["error"] is None:
        return text
    place = "" if found["place_error"] is None else f" (place × mean run time: {shown.span(found['place_error'])})"
    return f"{text}; off by {shown.span(found['error'])}{place} where {shown.span(found['wait'])} were waited"


forecast_command.add_command(_load)
forecast_command.add_command(_report)
