from __future__ import annotations

import numpy as np

from clearway.forecast.load.breaks import Break, load_breaks

LOW, HIGH = np.full(8, 1.0), np.full(8, 3.0)


def test_three_in_a_row_on_one_side_are_a_break() -> None:
    values = np.array([2.0, 4.0, 5.0, 4.0, 4.0, 2.0, 0.0, 0.0])
    assert load_breaks(values, LOW, HIGH) == [Break("above", 1, 3, 4, 2.0)]


def test_a_break_that_goes_on_is_told_too() -> None:
    values = np.array([2.0, 2.0, 2.0, 2.0, 2.0, 0.5, 0.0, 0.5])
    assert load_breaks(values, LOW, HIGH) == [Break("below", 5, 7, 7, 1.0)]


def test_one_side_after_the_other_is_none() -> None:
    assert load_breaks(np.array([4.0, 0.0, 4.0, 0.0, 4.0, 0.0, 4.0, 0.0]), LOW, HIGH) == []


def test_gaps_neither_end_nor_lengthen_one() -> None:
    values = np.array([4.0, np.nan, 4.0, np.nan, 2.0, 2.0, 2.0, 2.0])
    assert load_breaks(values, LOW, HIGH) == []
    values[3] = 4.0
    assert load_breaks(values, LOW, HIGH) == [Break("above", 0, 3, 3, 1.0)]
    low = LOW.copy()
    low[2] = np.nan
    assert load_breaks(values, low, HIGH) == []


def test_the_edge_is_inside() -> None:
    assert load_breaks(HIGH, LOW, HIGH) == load_breaks(LOW, LOW, HIGH) == []
