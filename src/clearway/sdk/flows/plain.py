"""Values between steps: JSON where they are plain, else a pickle in a file beside the result, and its name."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

from clearway.sdk.tasks.values import dumps, loads

FILE = "clearway_pickle"
"""The only key of a map that stands for a value in a file."""
MOST, SMALL = 900_000, 20_000
"""Letters of a result, of which a controller takes a million; and of a part of a longer one that stays in it."""


def to_plain(value: object, beside: Path, *, planned: bool = False) -> Any:  # noqa: ANN401  JSON
    """Return a value as JSON can hold it; what cannot be put there is kept in files beside a path.

    So is what is long, of a map its long values. `planned`: it is a round of a graph, whose nodes stay where they are.
    """
    files = _Files(beside)
    found = files.plain(value)
    if len(json.dumps(found)) <= MOST:
        return found
    found = _shorter_round(found, files) if planned else files.shorter(found)
    return found if planned or len(json.dumps(found)) <= MOST else files.put(value)


class _Files:
    """Values in files beside a path."""

    def __init__(self, beside: Path) -> None:
        self._beside, self._numbers = beside, itertools.count()

    def put(self, value: object) -> dict[str, str]:
        path = self._beside.with_name(f"{self._beside.name}.{next(self._numbers)}.pickle")
        path.write_bytes(dumps(value))
        return {FILE: str(path)}

    def plain(self, one: object) -> Any:  # noqa: ANN401  JSON
        if _is_plain(one):
            return one
        if type(one) is dict and all(isinstance(key, str) for key in one):
            return {key: self.plain(inner) for key, inner in one.items()}
        return [self.plain(inner) for inner in one] if type(one) is list else self.put(one)

    def shorter(self, one: Any) -> Any:  # noqa: ANN401  JSON
        """Return a plain value with what is long of it in files."""
        if len(json.dumps(one)) <= SMALL:
            return one
        if isinstance(one, dict):
            return {key: self.shorter(inner) for key, inner in one.items()}
        return self.put(from_plain(one))


def _shorter_round(round_: dict[str, Any], files: _Files) -> dict[str, Any]:
    """Return a round of a graph with what is long of its state in files: all its nodes read the same."""
    state = files.shorter(round_["state"])

    def task(one: dict[str, Any]) -> dict[str, Any]:
        return {**one, "state": state, **({"arg": files.shorter(one["arg"])} if "arg" in one else {})}

    tasks = {node: [task(one) for one in ones] for node, ones in round_["tasks"].items()}
    kept = {
        word: [{key: files.shorter(value) for key, value in one.items()} for one in round_.get(word) or []] or None
        for word in ("held", "asked", "answered")
    }
    return {**round_, "state": state, "tasks": tasks, **{word: ones for word, ones in kept.items() if ones}}


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
