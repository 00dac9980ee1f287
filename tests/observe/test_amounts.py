from __future__ import annotations

import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearway.model.values import duration as read_duration
from clearway.model.values import size as read_size
from clearway.observe import amounts


@pytest.mark.parametrize(
    ("n", "text"),
    [(0, "0"), (1, "0.001"), (600, "0.6"), (180, "0.18"), (1000, "1"), (4000, "4"), (7200, "7.2"), (-500, "-0.5")],
)
def test_thousandths(n: int, text: str) -> None:
    assert amounts.thousandths(n) == text


@pytest.mark.parametrize(
    ("n", "text"),
    [
        (0, "0 bytes"), (1, "1 byte"), (1023, "1023 bytes"), (1024, "1 KiB"), (1000, "1 kB"), (24 * 10**9, "24 GB"),
        (24 * 2**30, "24 GiB"), (46068 * 2**20, "46068 MiB"), (1536 * 2**20, "1536 MiB"), (2**40, "1 TiB"),
    ],
)  # fmt: skip
def test_size(n: int, text: str) -> None:
    assert amounts.size(n) == text


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (0, "0 s"), (1, "0.000001 s"), (500_000, "0.5 s"), (30_000_000, "30 s"), (90_000_000, "1 min 30 s"),
        (5_400_000_000, "1 h 30 min"), (93_600_000_000, "1 d 2 h"), (60_000_001, "1 min 0.000001 s"),
    ],
)  # fmt: skip
def test_duration(us: int, text: str) -> None:
    assert amounts.duration(us) == text


@given(st.integers(0, 2**53))
def test_a_size_loses_nothing(n: int) -> None:
    number, unit = amounts.size(n).split()
    assert read_size("memory", int(number) if unit.startswith("byte") else number + unit) == n


@given(st.integers(0, 10**16))
def test_a_duration_loses_nothing(us: int) -> None:
    # Read by hand: the reader of durations takes no blanks and calls minutes m.
    text = amounts.duration(us).replace("min", "m").replace(" ", "")
    assert read_duration("time", text) == us


@given(st.integers(-(10**9), 10**9))
def test_a_decimal_loses_nothing(n: int) -> None:
    text = amounts.thousandths(n)
    assert Fraction(text) * 1000 == n
    assert re.fullmatch(r"-?\d+(\.\d*[1-9])?", text)


def test_a_moment_counts_seconds() -> None:
    assert amounts.seconds(100_000_000) == "100 s"
    assert amounts.seconds(1_500_000) == "1.5 s"
