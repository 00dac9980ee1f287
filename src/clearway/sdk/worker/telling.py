"""What is told of an exception, whatever it is: its own text may fail, be no Unicode, or have no end."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

from clearway.calls.wire import Problem
from clearway.sdk.tasks.values import dumps

if TYPE_CHECKING:
    from types import TracebackType

    from clearway.calls.wire import Value

MOST_CHARS = 64 * 1024
"""Of a text or a traceback; the middle of a longer one is left out."""
MOST_TYPES = 100


def told(error: BaseException, frames: TracebackType | None, most_bytes: int) -> tuple[Value, Problem]:
    """Return an exception as bytes (none where it cannot be sent or has more than `most_bytes`), and in words."""
    types = [fit(kind.__name__) for kind in type(error).__mro__ if kind is not object][:MOST_TYPES]
    try:
        value = dumps(error.with_traceback(None))
    except Exception:  # noqa: BLE001  it holds what cannot be sent: its text is
        value = b""
    return value if len(value) <= most_bytes else b"", Problem(types, _text(error), _traceback(error, frames))


def fit(text: str) -> str:
    """Return a text that can be sent and kept."""
    if len(text) > MOST_CHARS:
        half = MOST_CHARS // 2
        text = f"{text[:half]} .. {len(text) - 2 * half} characters left out .. {text[-half:]}"
    return text.encode(errors="backslashreplace").decode()


def _text(error: BaseException) -> str:
    try:
        return fit(str(error))
    except Exception as other:  # noqa: BLE001  its own text fails: that is all that can be said
        return f"(its text cannot be had: {type(other).__name__})"


def _traceback(error: BaseException, frames: TracebackType | None) -> str:
    try:
        return fit("".join(traceback.format_exception(type(error), error, frames)))
    except Exception as other:  # noqa: BLE001  as above
        return f"(its traceback cannot be had: {type(other).__name__})"
