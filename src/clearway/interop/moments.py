"""Moments as other systems write them: with an offset, without one, or as a number since 1970."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING

from clearway.model.errors import InputError
from clearway.model.values import MAX_DURATION_US, SECOND_US

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

NEVER = frozenset({"", "none", "unknown", "n/a", "null", "nan", "-", "-1"})
"""How sources write that something has not happened."""
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
NUMBER = re.compile(r"[0-9]{1,19}(?:\.[0-9]{1,9})?")
RULE = "a time such as 2026-01-05T12:00:00, with or without an offset, or seconds since 1970"
UNITS_US = {
    "us": 1, "ms": 1000, "s": SECOND_US, "min": 60 * SECOND_US, "h": 3600 * SECOND_US, "d": 86_400 * SECOND_US,
}  # fmt: skip


def moment_us(field: str, text: str, zone: ZoneInfo, unit_us: int = SECOND_US) -> int | None:
    """Return a moment in microseconds since 1970, None for one that never came.

    What has no offset is local time in `zone`; of an hour that the clock shows twice the first is meant. A plain number
    counts units of `unit_us`. Raises InputError.
    """
    text = text.strip()
    if text.lower() in NEVER:
        return None
    found = amount_us(text, unit_us) if NUMBER.fullmatch(text) else _calendar_us(text, zone)
    if found is None or not 0 <= found <= MAX_DURATION_US:
        raise InputError(field, text, RULE)
    return found


def amount_us(text: str, unit_us: int) -> int:
    """Return a plain number of units in microseconds, exactly."""
    whole, _, part = text.partition(".")
    return int(whole) * unit_us + (int(part) * unit_us // 10 ** len(part) if part else 0)


@lru_cache(4096)
def _calendar_us(text: str, zone: ZoneInfo) -> int | None:
    try:
        read = datetime.fromisoformat(text)
        at = read if read.tzinfo is not None else read.replace(tzinfo=zone)
        return (at - BEGINNING) // timedelta(microseconds=1)
    except (ValueError, OverflowError):
        return None
