"""Forecasts of run times as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway.forecast.run_times import NOTHING
from clearway.model.forecast import HALF, HIGH, LOW
from clearway.model.values import SECOND_US
from clearway.observe.odd import rough

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clearway.model.events import Progressed
    from clearway.model.forecast import Forecast


def forecast_row(said: Forecast) -> dict[str, Any]:
    """Return a forecast as people read it: the median and the ends of the 80 % interval, in seconds."""
    low, middle, high = (said.at(level) / SECOND_US for level in (LOW, HALF, HIGH))
    return {"median_s": middle, "low_s": low, "high_s": high, "basis": said.basis, "runs": said.runs}


def progress_row(told: Progressed) -> dict[str, Any]:
    """Return how far an attempt said that it is, and how long it runs from its start by that."""
    return {"step": told.step, "total": told.total, **forecast_row(told.forecast)}


def forecast_text(row: Mapping[str, Any]) -> str:
    """Return such a row in words: `about 40 min (80 %: 30 min to 55 min), by 12 runs of this name`."""
    basis, runs = row["basis"].replace("all runs", "runs of all"), row["runs"]
    if basis == NOTHING:
        return f"nothing known; taken for {_span(row)}"
    if not basis.startswith("runs "):
        return f"{_span(row)}, by {basis}"
    by = basis.replace("runs", "run", 1) if runs == 1 else basis
    return f"{_span(row)}, by {runs} {by}"


def progress_text(row: Mapping[str, Any]) -> str:
    """Return such a row in words: `step 3 of 10; about 40 min (80 %: 30 min to 55 min) in all`."""
    total = f" of {row['total']}" if row["total"] else ""
    return f"step {row['step']}{total}; {_span(row)} in all"


def _span(row: Mapping[str, Any]) -> str:
    low, middle, high = (rough(int(row[key] * SECOND_US)) for key in ("low_s", "median_s", "high_s"))
    return f"about {middle} (80 %: {low} to {high})"


TEXTS: dict[str, Callable[[Mapping[str, Any]], str]] = {"forecast": forecast_text, "progress": progress_text}
"""How events of a kind are told."""
