"""Moments as the API shows them: ISO 8601 in UTC, in values and inside sentences."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from clearway.observe.timeline import Face

_FIRST_MOMENT = datetime(1970, 1, 1, tzinfo=UTC)


def iso(us: int) -> str:
    """Return microseconds since 1970 as a time with milliseconds."""
    return (_FIRST_MOMENT + timedelta(microseconds=us)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def iso_or_none(us: int | None) -> str | None:
    """Return a moment, or None where there is none."""
    return None if us is None else iso(us)


class WallClock(Face):
    """The face of a timeline whose moments are dates."""

    def at(self, us: int) -> str:
        """Return a moment as a value."""
        return iso(us)

    def moment(self, us: int) -> str:
        """Return a moment inside a sentence, in whole seconds."""
        return (_FIRST_MOMENT + timedelta(microseconds=us)).isoformat(timespec="seconds").replace("+00:00", "Z")


FACE = WallClock()
