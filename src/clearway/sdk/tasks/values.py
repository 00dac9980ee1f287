"""Values to bytes and back: the one place where pickles are made and read, in a user's program and in workers alone."""

from __future__ import annotations

import pickle
from typing import Any

import cloudpickle

PLAIN = frozenset({int, float, str, bytes, bool, type(None)})
DEEP = 3
WIDE = 1000


def dumps(value: object) -> bytes:
    """Return a value as bytes. Functions and classes of the program itself go with it."""
    if _plain(value, DEEP):
        return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    found: bytes = cloudpickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    return found


def loads(content: bytes) -> Any:  # noqa: ANN401  whatever it was
    """Return the value of `dumps`."""
    return pickle.loads(content)  # noqa: S301  made by the same user's program or worker


def _plain(value: object, deep: int) -> bool:
    """Whether a value is made of simple things alone, which the faster way reads the same everywhere."""
    kind = type(value)
    if kind in PLAIN:
        return True
    if not deep:
        return False
    if kind is tuple or kind is list:
        return len(value) <= WIDE and all(_plain(one, deep - 1) for one in value)  # type: ignore[arg-type,attr-defined]
    if kind is dict:
        return len(value) <= WIDE and all(  # type: ignore[arg-type]
            type(key) in PLAIN and _plain(one, deep - 1)
            for key, one in value.items()  # type: ignore[attr-defined]
        )
    return False
