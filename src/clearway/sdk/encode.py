"""Words as Python gives them, as the JSON that is sent. Values are judged by the controller alone."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import PurePath
from typing import TYPE_CHECKING

from clearway.model.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_RULE = "a text, a number, true or false, a list or a map"


def encode_jobs(jobs: Sequence[Mapping[str, object]]) -> bytes:
    """Return the body of a submit. Raises InputError for a value that no file could hold."""
    return b'{"jobs":[' + b",".join(encode_words(job) for job in jobs) + b"]}"


def encode_words(words: Mapping[str, object]) -> bytes:
    """Return one map of words as JSON. NaN and the like are sent on, to be refused by their word's rule."""
    try:
        return json.dumps(dict(words), default=_plain).encode()
    except (TypeError, ValueError, RecursionError):
        for word, value in words.items():
            _check(str(word), value)
        raise


def _check(word: str, value: object) -> None:
    try:
        json.dumps(value, default=_plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(word, value, _RULE) from error


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(f"{type(value).__name__} is no plain value")
