"""Moments as the API shows them: ISO 8601 in UTC, in values and inside sentences."""

from __future__ import annotations

from clearway.observe.moments import iso
from clearway.observe.timeline import Face

__all__ = ["FACE", "iso", "iso_or_none"]


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
        return iso(us, "seconds")


FACE = WallClock()
