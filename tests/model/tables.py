"""Tables of values to try."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def each(words: Iterable[str], *values: object) -> list[tuple[str, object]]:
    """Return every word with every value."""
    return [(word, value) for word in words for value in values]
