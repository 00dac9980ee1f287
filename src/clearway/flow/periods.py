"""Periods of the calendar, in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_US = timedelta(microseconds=1)


def end_us(period: str, wall_us: int) -> int:
    """Return when the day, week (from Monday) or month is over in which a moment of the wall clock lies."""
    day = (_BEGINNING + timedelta(microseconds=wall_us)).replace(hour=0, minute=0, second=0, microsecond=0)
    if period == "day":
        after = day + timedelta(days=1)
    elif period == "week":
        after = day + timedelta(days=7 - day.weekday())
    else:
        after = (day.replace(day=1) + timedelta(days=32)).replace(day=1)
    return (after - _BEGINNING) // _US
