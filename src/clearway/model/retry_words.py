"""Which own failures of a job are tried again: how `retry_on` is read, and what it names."""

from __future__ import annotations

import re
from difflib import get_close_matches

from clearway.model.errors import InputError
from clearway.model.reasons import Code, Reason
from clearway.model.states import End

OWN = ("failed", "oom", "timed_out", "start_failed")
"""Kinds of own failures that `retry_on` may name, beside exit codes.

`failed`: any exit code other than 0. `oom`: the engine saw that memory ran out, or KILLED, for SIGKILL that nobody of
ours sent is how the system takes memory back.
"""

NOT_OWN = ("lost", "evicted", "preempted")
"""Ends after which a job is tried again anyway (`max_losses` counts the first two); naming them changes nothing."""

MAX_CODE = 255
KILLED = 137  # 128 + SIGKILL
_SIGNALS_FROM = 128
_EXIT = re.compile(r"exit ([0-9]{1,3})(?:-([0-9]{1,3}))?")
_RULE = f"exit N or exit N-M with codes from 1 to {MAX_CODE}, or one of {', '.join((*OWN, *NOT_OWN))}"


def read_retry_on(field: str, value: object) -> tuple[str, ...]:
    """Return the causes, each once, as they were written; at least one."""
    causes = [value] if isinstance(value, str) else value
    if not isinstance(causes, list | tuple) or not causes:
        raise InputError(field, value, f"a list of causes: {_RULE}")
    for cause in causes:
        _check(field, cause)
    return tuple(dict.fromkeys(causes))


def _check(field: str, cause: object) -> None:
    match = _EXIT.fullmatch(cause) if isinstance(cause, str) else None
    if match is None:
        if cause not in (*OWN, *NOT_OWN):
            near = get_close_matches(str(cause), (*OWN, *NOT_OWN), n=1, cutoff=0.5)
            raise InputError(field, cause, _RULE + (f"; did you mean {near[0]!r}?" if near else ""))
        return
    first, last = int(match[1]), int(match[2] or match[1])
    if not 1 <= first <= last <= MAX_CODE:
        raise InputError(field, cause, _RULE)


def shell_code(code: int) -> int:
    """Return an exit code as a shell shows it: 128 and the signal's number for what a signal ended."""
    return code if code >= 0 else _SIGNALS_FROM - code


def kind_of(end: End, cause: Reason) -> str:
    """Return which own failure it was: one of OWN, or nothing where it was none that could be tried again."""
    if end is End.TIMED_OUT:
        return "timed_out" if cause.code is Code.TIME_LIMIT else ""
    if end is not End.FAILED or cause.code is Code.TOO_LONG:  # it would give back the same again
        return ""
    if cause.code is Code.START_FAILED:
        return "start_failed"
    return "oom" if cause.get("oom", 0) or _code(cause) == KILLED else "failed"


def names(retry_on: tuple[str, ...], end: End, cause: Reason) -> bool:
    """Return whether an own failure is to be tried again, as far as `max_retries` goes.

    Where nothing is said (empty), that is whatever ended by itself with an exit code: no time-out, no failed start.
    """
    kind = kind_of(end, cause)
    if not retry_on:
        return kind in ("failed", "oom")
    if not kind or kind in retry_on:
        return bool(kind)
    return kind in ("failed", "oom") and ("failed" in retry_on or _has_code(retry_on, _code(cause)))


def _code(cause: Reason) -> int:
    code = cause.get("exit_code", 0)
    return shell_code(code) if isinstance(code, int) else 0


def _has_code(retry_on: tuple[str, ...], code: int) -> bool:
    found = (_EXIT.fullmatch(one) for one in retry_on)
    return any(int(match[1]) <= code <= int(match[2] or match[1]) for match in found if match)
