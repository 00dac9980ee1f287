"""What was worked out once is kept for next time, but not for ever: there is no end of different demands."""

from __future__ import annotations

from typing import TypeVar

MOST_KNOWN = 1024  # as many as classes that are kept without jobs; working one out anew takes microseconds
K = TypeVar("K")
V = TypeVar("V")


def note(known: dict[K, V], key: K, value: V) -> V:
    """Keep a value for a key, and return it; of those that are too many, all are forgotten."""
    if len(known) >= MOST_KNOWN:
        known.clear()
    known[key] = value
    return value
