"""Values as people see them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearway.cli import shown

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)


@given(st.text())
def test_no_character_of_a_name_can_act_on_a_terminal(text: str) -> None:
    seen = shown.plain(text)
    assert seen.isprintable()
    if text.isprintable():
        assert seen == text


def test_control_characters_are_written_out() -> None:
    assert shown.plain("a\x1b[31mb\n\x9b\u202e\udcff") == "a\\x1b[31mb\\n\\x9b\\u202e\\udcff"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0.0 s"), (-1, "0.0 s"), (0.44, "0.4 s"), (9.96, "10 s"), (59.4, "59 s"), (185, "3 m 05 s"),
     (8040, "2 h 14 m"), (3 * 86400 + 4 * 3600, "3 d 4 h")],
)  # fmt: skip
def test_lengths_of_time(seconds: float, text: str) -> None:
    assert shown.span(seconds) == text


@pytest.mark.parametrize(
    ("iso", "text"),
    [
        ("2026-01-05T11:57:00Z", "3 m ago"),
        ("2026-01-05T11:59:59.4+00:00", "0 s ago"),
        ("2026-01-05T14:00:00+01:00", "in 1 h"),
        ("2026-01-02T12:00:00Z", "3 d ago"),
        (None, "-"),
    ],
)
def test_moments_are_told_relative_to_now(iso: str | None, text: str) -> None:
    assert shown.ago(iso, NOW) == text


def test_a_run_that_goes_on_lasts_until_now() -> None:
    assert shown.between("2026-01-05T11:57:00Z", None, NOW) == "3 m 00 s"
    assert shown.between("2026-01-05T11:57:00Z", "2026-01-05T11:57:05Z", NOW) == "5.0 s"
    assert shown.between(None, None, NOW) == "-"


@pytest.mark.parametrize(
    ("count", "text"),
    [(80 * 2**30, "80 GiB"), (3 * 2**29, "1.5 GiB"), (512 * 2**20, "512 MiB"), (0, "0 GiB"), (None, "-"), (True, "-")],
)
def test_sizes(count: int | None, text: str) -> None:
    assert shown.size(count) == text


@pytest.mark.parametrize(("value", "text"), [(2.0, "2"), (2, "2"), (0.5, "0.5"), (100, "100"), (0, "0"), (None, "-")])
def test_amounts(value: float | None, text: str) -> None:
    assert shown.amount(value) == text


@pytest.mark.parametrize(("values", "text"), [([], "-"), ([3], "3"), ([2, 0, 1, 6], "0-2, 6"), ([0, 2], "0, 2")])
def test_device_numbers(values: list[int], text: str) -> None:
    assert shown.numbers(values) == text


@pytest.mark.parametrize(
    ("code", "text"),
    [(0, "exit code 0"), (3, "exit code 3"), (-15, "ended by signal 15 (SIGTERM)"), (-999, "ended by signal 999")],
)
def test_endings(code: int, text: str) -> None:
    assert shown.ending(code) == text


def test_one_of_something_is_not_many() -> None:
    assert shown.resources({"gpus": 1, "cpus": 1, "memory": 2**30, "seats": 2}) == "1 GPU, 1 CPU, 1 GiB memory, 2 seats"
    assert shown.resources({"gpus": 2, "cpus": 0.5}) == "2 GPUs, 0.5 CPUs"
