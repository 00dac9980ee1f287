"""Values that users make up, as JSON texts in one canonical form."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from clearway.model.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_BYTES = 1_000_000
"""The longest text of one value: a result is a summary, data belong into files."""
MOST_HANDED = 16_000_000
"""The longest text that is made of several: the results of many instances, what a step is handed."""
MOST_DEEP = 100
"""Lists and maps inside one another in a value that comes from outside, or leaves a workflow."""

_TEXTS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def text_of(field: str, value: object, most: int = MOST_BYTES) -> str:
    """Return the canonical text of a value; InputError where JSON cannot hold it."""
    try:
        found = msgspec.json.encode(value, order="deterministic").decode()
    except (TypeError, ValueError, UnicodeError, RecursionError):
        raise InputError(field, value, "a value that JSON can hold") from None
    if len(found) > most:
        raise InputError(field, "a long value", f"at most {most} characters as JSON")
    if is_deep(found):
        raise InputError(field, "a deep value", f"lists and maps inside one another at most {MOST_DEEP} times")
    return found


def is_deep(text: str) -> bool:
    """Return whether a text has more lists and maps inside one another than can safely be read anywhere."""
    if text.count("[") + text.count("{") <= MOST_DEEP:
        return False
    return _is_left(text) and _is_left(_TEXTS.sub("", text))  # the first is quick; brackets in texts may mislead it


def _is_left(text: str) -> bool:
    left = text.encode().translate(None, _NO_BRACKETS)
    for _ in range(MOST_DEEP):
        left = left.replace(b"[]", b"").replace(b"{}", b"")
    return bool(left)


def value_of(text: str) -> Any:  # noqa: ANN401  whatever JSON can hold
    """Return the value of a text."""
    return msgspec.json.decode(text)


def joined(field: str, texts: Iterable[str]) -> str:
    """Return the text of the list of these values; InputError where that is too long."""
    return f"[{','.join(_within(field, texts))}]"


def mapped(field: str, texts: Iterable[tuple[str, str]]) -> str:
    """Return the text of the map of these names to values; InputError where that is too long."""
    parts = (f"{msgspec.json.encode(name).decode()}:{text}" for name, text in sorted(texts))
    return "{" + ",".join(_within(field, parts)) + "}"


def _within(field: str, texts: Iterable[str]) -> list[str]:
    """Return texts that are together no longer than what may be handed on; the rest is not even looked at."""
    found, size = list[str](), 0
    for text in texts:
        size += len(text) + 1
        if size > MOST_HANDED:
            raise InputError(field, "a long value", f"at most {MOST_HANDED} characters as JSON")
        found.append(text)
    return found
