"""Python that goes with a job: packed into a variable of it, unpacked in the job's own process alone."""

from __future__ import annotations

import base64
import os
import sys
import zlib
from typing import Any

from clearway.model.errors import InputError
from clearway.sdk.tasks.values import dumps, loads

FUNCTION, KIND = "CLEARWAY_FUNCTION", "CLEARWAY_STEP"
MODULE = "clearway.sdk.flows.at_work"
MOST = 100_000
"""Letters of a variable: a system passes no more than 128 KiB in one."""


def packed(thing: object) -> str:
    """Return a thing as letters. What lies in an importable module goes by its name, all else goes whole."""
    text = base64.b85encode(zlib.compress(dumps(thing))).decode()
    if len(text) > MOST:
        rule = f"at most {MOST} letters when packed: put it into a module, or its data into a file"
        raise InputError("function", f"{len(text)} letters", rule)
    return text


def unpacked(text: str) -> Any:  # noqa: ANN401  whatever it was
    """Return the thing again."""
    return loads(zlib.decompress(base64.b85decode(text)))


def job_words(kind: str, thing: object, words: dict[str, object]) -> dict[str, object]:
    """Return the words of a job that does something with a thing, as `kind` says."""
    paths = [os.path.abspath(path) for path in sys.path if not _installed(path)]  # noqa: PTH100  texts
    given = words.get("env")
    env = {
        "PYTHONPATH": os.pathsep.join(paths),
        **(given if isinstance(given, dict) else {}),
        KIND: kind,
        FUNCTION: packed(thing),
    }
    own = {"run": [sys.executable, "-m", MODULE], "workdir": os.getcwd()}  # noqa: PTH109  a text, not a path
    return {**own, **words, "env": env}


def _installed(path: str) -> bool:
    return path.startswith((sys.prefix, sys.base_prefix)) or path.endswith(".zip")
