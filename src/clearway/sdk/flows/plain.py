"""Values between steps: JSON where they are plain, else a pickle in a file beside the result, and its name."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

from clearway.sdk.tasks.values import dumps, loads

FILE = "clearway_pickle"
"""The only key of a map that stands for a value in a file."""


def to_plain(value: object, beside: Path) -> Any:  # noqa: ANN401  JSON
    """Return a value as JSON can hold it; what cannot be put there is kept in files beside a path."""
    numbers = itertools.count()

    def plain(one: object) -> Any:  # noqa: ANN401  JSON
        if _is_plain(one):
            return one
        if type(one) is dict and all(isinstance(key, str) for key in one):
            return {key: plain(inner) for key, inner in one.items()}
        if type(one) is list:
            return [plain(inner) for inner in one]
        path = beside.with_name(f"{beside.name}.{next(numbers)}.pickle")
        path.write_bytes(dumps(one))
        return {FILE: str(path)}

    return plain(value)


def from_plain(value: Any) -> Any:  # noqa: ANN401  JSON in, anything out
    """Return what a value of JSON stands for."""
    if isinstance(value, dict):
        if list(value) == [FILE]:
            return loads(Path(value[FILE]).read_bytes())
        return {key: from_plain(one) for key, one in value.items()}
    return [from_plain(one) for one in value] if isinstance(value, list) else value


def _is_plain(value: object) -> bool:
    """Return whether JSON gives back the same."""
    try:
        return type(value) is not tuple and bool(json.loads(json.dumps(value, allow_nan=False)) == value)
    except (TypeError, ValueError, RecursionError):
        return False
