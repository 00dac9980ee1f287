"""Amounts over time keep their integral however long the run, in bounded memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearway.sim.results.curves import BINS, Curves


@given(st.lists(st.tuples(st.integers(0, 10**7), st.integers(-5, 5)), max_size=40))
def test_no_time_is_lost_when_bins_are_merged(changes: list[tuple[int, int]]) -> None:
    curves, now, total, rate = Curves(width_us=7), 0, 0, 0
    for gap, by in changes:
        total += rate * gap
        now, rate = now + gap, rate + by
        curves.change("x", by, now)
    curves.close(now)
    assert sum(curves.totals().values()) == pytest.approx(total)
    assert all(len(values) <= BINS for values in curves.means(now).values())


def test_means_are_those_of_each_bin() -> None:
    curves = Curves(width_us=10)
    curves.change("x", 2, 5)
    curves.change("x", -1, 20)
    curves.close(25)
    assert curves.means(25) == {"x": [1.0, 2.0, 1.0]}


def test_a_change_at_the_very_end_of_the_last_bin_counts() -> None:
    curves = Curves(width_us=1)
    curves.change("x", 1, BINS)
    curves.change("x", 1, BINS)
    curves.change("x", -2, BINS + 1)
    assert curves.totals() == {"x": 2.0}
