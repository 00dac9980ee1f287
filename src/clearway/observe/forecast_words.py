"""Forecasts of run times as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway.forecast.run_times import NOTHING
from clearway.model.forecast import HALF, HIGH, LOW
from clearway.model.values import SECOND_US
from clearway.observe.odd import rough

if TYPE_CHECKING:
    from clearway.model.events import Progressed
    from clearway.model.forecast import Forecast


def forecast_row(said: Forecast) -> dict[str, Any]:
    """Return a forecast as people read it: the median and the ends of the 80 % interval, in seconds."""
    low, middle, high = (said.at(level) / SECOND_US for level in (LOW, HALF, HIGH))
    return {"median_s": middle, "low_s": low, "high_s": high, "basis": said.basis, "runs": said.runs}


def progress_row(told: Progressed) -> dict[str, Any]:
    """Return how far an attempt said that it is, and how long it runs from its start by that."""
    return {"step": told.step, "total": told.total, **forecast_row(told.forecast)}


def progress_text(told: Progressed) -> str:
    """Return the same in words: `step 3 of 10; about 40 min (80 %: 30 min to 55 min) in all`."""
    total = f" of {told.total}" if told.total else ""
    return f"step {told.step}{total}; {_span(told.forecast)} in all"


def forecast_text(said: Forecast) -> str:
    """Return how long it runs, and by what: `about 40 min (80 %: 30 min to 55 min), by 12 runs of this name`."""
    if said.basis == NOTHING:
        return f"nothing known; taken for {_span(said)}"
    if said.basis.startswith("runs of"):
        by = said.basis.replace("runs", "run", 1) if said.runs == 1 else said.basis
        return f"{_span(said)}, by {said.runs} {by}"
    return f"{_span(said)}, by {said.basis}"


def _span(said: Forecast) -> str:
    low, middle, high = (rough(said.at(level)) for level in (LOW, HALF, HIGH))
    return f"about {middle} (80 %: {low} to {high})"
