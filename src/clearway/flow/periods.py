"""Periods of the calendar, in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_US = timedelta(microseconds=1)


def begin_us(period: str, wall_us: int) -> int:
    """Return when the day, week (from Monday) or month began in which a moment of the wall clock lies."""
    return (_first(period, wall_us) - _BEGINNING) // _US


def end_us(period: str, wall_us: int) -> int:
    """Return when it is over."""
    first = _first(period, wall_us)
    if period == "day":
        after = first + timedelta(days=1)
    elif period == "week":
        after = first + timedelta(days=7)
    else:
        after = (first + timedelta(days=32)).replace(day=1)
    return (after - _BEGINNING) // _US


def _first(period: str, wall_us: int) -> datetime:
    """Return the beginning of the first day of a period."""
    day = (_BEGINNING + timedelta(microseconds=wall_us)).replace(hour=0, minute=0, second=0, microsecond=0)
    if period == "week":
        return day - timedelta(days=day.weekday())
    return day.replace(day=1) if period == "month" else day
