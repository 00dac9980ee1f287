"""How forecasts of run times are told."""

from __future__ import annotations

import pytest

from clearway.model.forecast import LEVELS, Forecast
from clearway.model.values import SECOND_US
from clearway.observe.forecast_words import forecast_row, forecast_text

MINUTES = tuple(minutes * 60 * SECOND_US for minutes in range(2, 2 + len(LEVELS)))


@pytest.mark.parametrize(
    ("basis", "runs", "text"),
    [
        ("nothing known", 0, "nothing known; taken for about 8 min (80 %: 4 min to 12 min)"),
        ("runs of this name", 12, "about 8 min (80 %: 4 min to 12 min), by 12 runs of this name"),
        ("all runs", 12, "about 8 min (80 %: 4 min to 12 min), by 12 runs of all"),
        ("runs of this name", 1, "about 8 min (80 %: 4 min to 12 min), by 1 run of this name"),
        ("runs with this estimate", 3, "about 8 min (80 %: 4 min to 12 min), by 3 runs with this estimate"),
        ("the user's estimate", 7, "about 8 min (80 %: 4 min to 12 min), by the user's estimate"),
    ],
)
def test_what_it_rests_on_is_said(basis: str, runs: int, text: str) -> None:
    assert forecast_text(forecast_row(Forecast(MINUTES, MINUTES[6], basis, runs))) == text
