"""Numbers of traces and spans (W3C Trace Context), worked out from job and attempt: whoever knows these knows them.

So the controller that exports a span and the engine that hands its number to a process need not talk about it, and a
controller that takes over goes on with the same ones.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from clearway.model.events import TaskRef

_FORM = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?")
_TRACE_BYTES, _SPAN_BYTES = 16, 8
_SAMPLED = 1


class Trace(NamedTuple):
    """A job's trace: its number, the span of whoever submitted it ("" where nobody said), and whether it is wanted."""

    number: str
    parent: str = ""
    sampled: bool = True

    def span(self, *key: object) -> str:
        """Return the number of the span of this trace that has these words."""
        return _digest(_SPAN_BYTES, self.number, *key)

    def header(self, span: str) -> str:
        """Return what hands a span on, as `traceparent`."""
        return f"00-{self.number}-{span}-{_SAMPLED if self.sampled else 0:02x}"


def read_traceparent(text: str) -> str:
    """Return a `traceparent` as it is kept, "" where it is none: what is not understood is as if nobody had said it."""
    found = _FORM.fullmatch(text.strip().lower())
    if found is None or (text.startswith("00") and "-" in text.strip()[55:]):
        return ""
    return f"00-{found[1]}-{found[2]}-{int(found[3], 16) & _SAMPLED:02x}"


def trace_of(seed: str, number: int, traceparent: str) -> Trace:
    """Return the trace of a job: that of whoever submitted it, else one of its own. `seed` tells journals apart."""
    if traceparent:
        _, trace, parent, flags = traceparent.split("-")
        return Trace(trace, parent, flags == f"{_SAMPLED:02x}")
    return Trace(_digest(_TRACE_BYTES, seed, "job", number))


def task_header(seed: str, task: TaskRef, traceparent: str) -> str:
    """Return the `traceparent` that a task's process finds: that of the span of this task."""
    trace = trace_of(seed, task.job, traceparent)
    return trace.header(trace.span("task", task.job, task.attempt, task.role, task.index))


def _digest(size: int, *words: object) -> str:
    return hashlib.blake2b(repr(words).encode(), digest_size=size).hexdigest()
