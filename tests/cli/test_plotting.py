"""Plots for a terminal."""

from __future__ import annotations

from clearway.cli.plotting import HIGH, MOST_WIDE, plot


def test_values_and_the_best_so_far() -> None:
    lines = list(plot([5, 3, 4, 1], smallest=True))
    assert len(lines) == HIGH + 1
    assert lines[0] == "        5 |@"
    assert lines[HIGH - 1] == "        1 |   @"
    assert "".join(line[11:] for line in lines[:HIGH]).count("o") == 1
    assert lines[-1].endswith("4 values")


def test_the_largest_may_be_the_best() -> None:
    top = next(iter(plot([1.0, 2.5, 2.0], smallest=False)))
    assert top == "      2.5 | @_"


def test_many_values_fit() -> None:
    lines = list(plot([float(i % 7) for i in range(1000)], smallest=True))
    assert max(map(len, lines[:-1])) <= MOST_WIDE + 11


def test_equal_values_and_too_few_of_them() -> None:
    assert list(plot([1.0], smallest=True)) == []
    assert next(iter(plot([2.0, 2.0], smallest=True))).endswith("@@")
