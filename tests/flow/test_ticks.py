"""Ticks: beside a walk through every minute in real time, in zones whose clocks change in different ways."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from clearway.flow.schedule_words import read_schedule
from clearway.flow.ticks import check_cron, check_zone, latest, next_ones, shown, ticks
from clearway.model.errors import InputError
from clearway.model.flow import ScheduleSpec
from clearway.model.values import SECOND_US

if TYPE_CHECKING:
    from collections.abc import Iterator

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def micros(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


def at(text: str) -> int:
    return micros(datetime.fromisoformat(text))


def first(spec: ScheduleSpec, after: str, many: int) -> list[str]:
    return [shown(t.at_us) for t in islice(ticks(spec, at(after)), many)]


def walk(hours: range, minute: int, zone: str, begin: datetime, minutes: int) -> Iterator[datetime]:
    """Yield what a clock on the wall shows at that minute of these hours, each time it does."""
    for n in range(minutes):
        local = (begin + timedelta(minutes=n)).astimezone(ZoneInfo(zone))
        if local.minute == minute and local.hour in hours:
            yield begin + timedelta(minutes=n)


ZONES = [
    ("America/New_York", "2024-03-09T12:00:00+00:00"), ("America/New_York", "2024-11-02T12:00:00+00:00"),
    ("Europe/Berlin", "2024-03-30T12:00:00+00:00"), ("Europe/Berlin", "2024-10-26T12:00:00+00:00"),
    ("Australia/Lord_Howe", "2024-04-06T00:00:00+00:00"), ("Australia/Lord_Howe", "2024-10-05T00:00:00+00:00"),
    ("America/Santiago", "2024-09-07T12:00:00+00:00"), ("UTC", "2024-03-09T12:00:00+00:00"),
]  # fmt: skip


@pytest.mark.parametrize(("zone", "begin"), ZONES)
@pytest.mark.parametrize("minute", [0, 15, 30, 45])
def test_both_times_of_a_repeated_hour_are_those_that_a_clock_shows(zone: str, begin: str, minute: int) -> None:
    spec = ScheduleSpec("S", f"{minute} 0-5 * * *", zone, skipped="skip", repeated="both")
    start = datetime.fromisoformat(begin)
    end = start + timedelta(days=2)
    mine = [t.at_us for t in islice(ticks(spec, micros(start) - 1), 100) if t.at_us < micros(end) and not t.skipped]
    assert mine == [micros(t) for t in walk(range(6), minute, zone, start, 2 * 24 * 60)]


@pytest.mark.parametrize(("zone", "begin"), ZONES)
def test_every_hour_goes_on_in_real_time(zone: str, begin: str) -> None:
    """With a star there is a pass in every hour of real time where clocks change by whole hours, whatever they show."""
    if zone == "Australia/Lord_Howe":
        return
    spec = ScheduleSpec("S", "0 * * * *", zone, skipped="skip", repeated="first")
    found = [t.at_us for t in islice(ticks(spec, at(begin)), 60)]
    assert {b - a for a, b in pairwise(found)} == {3_600_000_000}
    assert not any(t.skipped for t in islice(ticks(spec, at(begin)), 60))


def test_every_second_hour_loses_no_pass() -> None:
    spec = ScheduleSpec("S", "0 */2 * * *", "America/New_York")
    assert first(spec, "2024-03-10T04:59:59+00:00", 3) == [
        "2024-03-10T05:00:00Z", "2024-03-10T07:00:00Z", "2024-03-10T08:00:00Z",
    ]  # fmt: skip


def test_the_hour_left_out() -> None:
    run, skip = (ScheduleSpec("S", "30 2 * * *", "America/New_York", skipped=word) for word in ("run", "skip"))
    assert first(run, "2024-03-09T08:00:00+00:00", 2) == ["2024-03-10T07:30:00Z", "2024-03-11T06:30:00Z"]
    assert first(skip, "2024-03-09T08:00:00+00:00", 2) == ["2024-03-10T07:30:00Z", "2024-03-11T06:30:00Z"]
    assert [t.skipped for t in islice(ticks(skip, at("2024-03-09T08:00:00+00:00")), 2)] == [True, False]


def test_a_day_left_out_is_not_run_twice() -> None:
    """Samoa had no 30 December 2011; what would have run then falls onto a tick that is there."""
    spec = ScheduleSpec("S", "0 12 * * *", "Pacific/Apia")
    assert first(spec, "2011-12-29T00:00:00+00:00", 3) == [
        "2011-12-29T22:00:00Z", "2011-12-30T22:00:00Z", "2011-12-31T22:00:00Z",
    ]  # fmt: skip


def test_bounds_seconds_and_names() -> None:
    spec = ScheduleSpec(
        "S", "*/20 * * * * *", from_us=at("2024-01-01T00:00:20+00:00"), to_us=at("2024-01-01T00:01:00+00:00")
    )
    assert first(spec, "2023-01-01T00:00:00+00:00", 9) == [f"2024-01-01T00:0{t}Z" for t in ("0:20", "0:40", "1:00")]
    assert first(ScheduleSpec("S", "@daily"), "2024-01-01T00:00:00+00:00", 1) == ["2024-01-02T00:00:00Z"]
    assert first(ScheduleSpec("S", "0 0 29 2 *"), "2024-03-01T00:00:00+00:00", 1) == ["2028-02-29T00:00:00Z"]


@given(
    st.integers(0, 10**9),
    st.integers(0, 10**5),
    st.integers(1, 40),
    st.sampled_from(["*/17 * * * *", "30 2 * * *", "0 0 1 * *"]),
)
def test_the_latest_are_the_last_of_all(begin_s: int, length_s: int, most: int, cron: str) -> None:
    spec = ScheduleSpec("S", cron, "Europe/Berlin")
    begin_us, end_us = begin_s * 10**6, (begin_s + length_s) * 10**6
    everything = [t for t in islice(ticks(spec, begin_us), 400) if t.at_us <= end_us]
    assert latest(spec, begin_us, end_us, most) == everything[-most:]


@pytest.mark.parametrize(
    "cron", ["", "* * * *", "61 * * * *", "* * * * * * *", "@sometimes", "0 0 30 2 *", "a b c d e"]
)
def test_what_is_no_cron(cron: str) -> None:
    with pytest.raises(InputError):
        check_cron("cron", cron)


@pytest.mark.parametrize("zone", ["Mars/Base", "", "../etc/passwd", "europe berlin", "/etc/localtime"])
def test_what_is_no_zone(zone: str) -> None:
    with pytest.raises(InputError):
        check_zone("timezone", zone)


def test_excluded_days_are_those_of_the_time_zone() -> None:
    spec = ScheduleSpec(
        "S", "0 0,23 * * *", "Asia/Tokyo", exclude=(("2026-03-02", "2026-03-02"), ("2026-03-04", "2026-03-05"))
    )
    found = [(shown(t.at_us), t.excluded) for t in islice(ticks(spec, at("2026-03-01T00:00:00+00:00")), 10)]
    assert [text[5:13] for text, excluded in found if excluded] == [
        "03-01T15",
        "03-02T14",
        "03-03T15",
        "03-04T14",
        "03-04T15",
        "03-05T14",
    ]
    late = latest(spec, at("2026-03-01T00:00:00+00:00"), at("2026-03-05T12:00:00+00:00"), 1)
    assert [shown(t.at_us) for t in late] == ["2026-03-03T14:00:00Z"]


@pytest.mark.parametrize(
    "bad", ["2026-12-24", ["24.12.2026"], [{"from": "2026-12-24"}], [{"from": "2026-12-24", "to": "2026-12-23"}], [7]]
)
def test_days_that_are_refused(bad: object) -> None:
    with pytest.raises(InputError) as caught:
        read_schedule({"name": "S", "cron": "@daily", "exclude": bad, "job": {"run": "true"}}, {})
    assert "exclude" in f"{caught.value.field} {caught.value}"


def test_jitter_delays_each_tick_by_a_part_that_follows_from_name_and_tick() -> None:
    spec = ScheduleSpec("S", "*/5 * * * *", jitter_us=240 * SECOND_US)
    found = list(islice(ticks(spec, 0), 50))
    delays = [tick.due_us - tick.at_us for tick in found]
    assert all(0 <= delay <= 240 * SECOND_US for delay in delays)
    assert len(set(delays)) > 40
    assert [tick.due_us for tick in islice(ticks(spec, 0), 50)] == [tick.due_us for tick in found]
    other = [t.due_us for t in islice(ticks(replace(spec, name="T"), 0), 50)]
    assert other != [tick.due_us for tick in found]


def test_a_jitter_longer_than_the_period_keeps_the_order_of_ticks_also_where_they_are_shown() -> None:
    spec = read_schedule({"name": "s", "cron": "* * * * * *", "jitter": "10m", "job": {}}, {})
    due = [tick.due_us for tick in islice(ticks(spec, 0), 1000)]
    assert due == sorted(due)
    assert [tick.due_us for tick in next_ones(spec, 0, 50)] == due[:50]
