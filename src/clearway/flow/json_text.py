"""Values that users make up, as JSON texts in one canonical form."""

from __future__ import annotations

from typing import Any

import msgspec

from clearway.model.errors import InputError

MOST_BYTES = 1_000_000
"""The longest text of one value: a result is a summary, data belong into files."""


def text_of(field: str, value: object) -> str:
    """Return the canonical text of a value; InputError where JSON cannot hold it."""
    try:
        found = msgspec.json.encode(value, order="deterministic").decode()
    except (TypeError, ValueError, UnicodeError, RecursionError):
        raise InputError(field, value, "a value that JSON can hold") from None
    if len(found) > MOST_BYTES:
        raise InputError(field, "a long value", f"at most {MOST_BYTES} characters as JSON")
    return found


def value_of(text: str) -> Any:  # noqa: ANN401  whatever JSON can hold
    """Return the value of a text."""
    return msgspec.json.decode(text)


def joined(texts: list[str]) -> str:
    """Return the text of the list of these values."""
    return "[" + ",".join(texts) + "]"
