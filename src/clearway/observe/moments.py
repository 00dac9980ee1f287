"""Moments as people and other programs read them: ISO 8601 in UTC, in values and inside sentences."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from clearway.observe.words import sentence

if TYPE_CHECKING:
    from clearway.model.reasons import Reason

_FIRST_MOMENT = datetime(1970, 1, 1, tzinfo=UTC)


def iso(us: int, timespec: str = "milliseconds") -> str:
    """Return microseconds since 1970 as a time, with milliseconds if not said otherwise."""
    return (_FIRST_MOMENT + timedelta(microseconds=us)).isoformat(timespec=timespec).replace("+00:00", "Z")


def said(reason: Reason) -> str:
    """Return a reason as a sentence; moments in it are in whole seconds."""
    return sentence(reason, lambda us: iso(us, "seconds"))
