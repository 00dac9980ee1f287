"""Lines come in order of time, whatever the order of the file, in bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from clearway.sim.workloads import open_workload, order
from clearway.sim.workloads.order import Line, in_order

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


@given(st.lists(st.integers(-5, 5)), st.integers(1, 4))
def test_lines_are_sorted_and_equal_ones_keep_their_order(moments: list[int], piece: int) -> None:
    lines = [Line(at, n, [str(n), "ä,\n"]) for n, at in enumerate(moments)]
    before, order.PIECE_LINES = order.PIECE_LINES, piece
    try:
        found = list(in_order(lambda: iter(lines), lambda: iter(lines)))
    finally:
        order.PIECE_LINES = before
    assert found == sorted(lines, key=lambda line: line.at_us)


def test_a_file_in_order_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "_written", None)
    lines = [Line(0, 1, []), Line(0, 2, []), Line(3, 3, [])]
    assert list(in_order(lambda: iter(lines), lambda: iter(lines))) == lines


def test_philly_is_out_of_order_and_comes_out_in_order(data: Path) -> None:
    moments = [a.at_us for a in open_workload(data / "philly" / "philly.csv.gz").arrivals()]
    assert moments == sorted(moments)


def test_load_divides_the_times_between_arrivals_and_nothing_else(data: Path) -> None:
    trace = open_workload(data / "itp-elasticflow" / "195job.csv.gz")
    for plain, loaded in zip(trace.arrivals(), trace.arrivals(1.3), strict=True):
        assert loaded.at_us == round(plain.at_us / 1.3)
        assert loaded.truth == plain.truth
        assert loaded.spec.deadline_us is not None
        assert plain.spec.deadline_us is not None
        assert loaded.spec.deadline_us - loaded.at_us == plain.spec.deadline_us - plain.at_us
