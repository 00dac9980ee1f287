"""Problem answers (RFC 9457) back into the errors that they were."""

from __future__ import annotations

import json
from typing import Any

from clearway.model.errors import (
    ClearwayError,
    ConflictError,
    ControllerError,
    EngineError,
    FullError,
    InputError,
    NotAllowedError,
    NotFoundError,
    StoreError,
    UnknownWordError,
)

_BY_TITLE: dict[str, type[ClearwayError]] = {
    "not found": NotFoundError,
    "forbidden": NotAllowedError,
    "conflict": ConflictError,
    "store": StoreError,
    "engine": EngineError,
    "no controller": ControllerError,
    "not allowed": ControllerError,
}


def error_of(status: int, body: bytes) -> ClearwayError:
    """Return the error that an answer tells of; ControllerError where it is none of ours."""
    try:
        told = json.loads(body)
    except ValueError:
        told = None
    if not isinstance(told, dict) or "detail" not in told:
        return ControllerError(f"the controller answered {status}: {body[:200].decode('utf-8', 'backslashreplace')}")
    if "field" in told and "rule" in told:
        return _input_error(told)
    if isinstance(after_s := told.get("retry_after_s"), int):
        return FullError(str(told["detail"]), after_s)
    return _BY_TITLE.get(str(told.get("title")), ControllerError)(str(told["detail"]))


def _input_error(told: dict[str, Any]) -> InputError:
    kind = UnknownWordError if told.get("title") == "unknown word" else InputError
    error = kind(str(told["field"]), None, str(told["rule"]), str(told.get("place", "")))
    error.value = str(told.get("value", ""))  # already as it is shown: not to be quoted once more
    error.args = (str(told["detail"]),)
    return error
