"""Errors as people and programs get them: one line, or one JSON document, on stderr, and a number."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import click

from clearway.cli.shown import plain
from clearway.model.errors import (
    ClearwayError,
    ConflictError,
    ControllerError,
    EngineError,
    InputError,
    NotAllowedError,
    NotFoundError,
    StoreError,
    UnknownWordError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FAILED = 1
BAD_INPUT = 2
NO_CONTROLLER = 3
NOT_FOUND = 4
CONFLICT = 5
NOT_ALLOWED = 6
TIMED_OUT = 124
INTERRUPTED = 130
SIGNAL_BASE = 128  # shells show a process that a signal ended as this plus the signal's number
READER_GONE = SIGNAL_BASE + 13  # as a shell shows one that SIGPIPE ended

EXIT_CODES = (
    (0, "done"),
    (
        FAILED,
        (
            "something else failed; of `test`: an expectation is broken; of `wait` and `run --wait`: a job did not "
            "succeed; of `advise` and `eta`: a job would never start; of `audit` and `debug replay`: a plan comes out "
            "otherwise"
        ),
    ),
    (BAD_INPUT, "a word, a value or a file of the command line is refused: the line names field, value and rule"),
    (NO_CONTROLLER, "no controller can be reached or started"),
    (NOT_FOUND, "nothing has this name or number"),
    (CONFLICT, "the request contradicts what is already there"),
    (NOT_ALLOWED, "whoever asks may not do this: a token's role or tenant does not reach so far"),
    (TIMED_OUT, "`wait --timeout` passed and a job still was not over"),
    (INTERRUPTED, "interrupted by Ctrl-C"),
    (
        SIGNAL_BASE,
        (
            "plus a signal's number: from `run --wait`, that signal ended the command; 141 from any command: whoever "
            "read its output went away"
        ),
    ),
)
"""Every number that a command exits with, besides those of the commands that `run --wait` runs."""

_BARE: Any = getattr(click.exceptions, "NoArgsIsHelpError", ())  # older versions write the help themselves


class _Kind(NamedTuple):
    error: type[ClearwayError]
    code: int
    status: int
    title: str


_KINDS = (
    _Kind(UnknownWordError, BAD_INPUT, 422, "unknown word"),
    _Kind(InputError, BAD_INPUT, 422, "refused"),
    _Kind(ControllerError, NO_CONTROLLER, 503, "no controller"),
    _Kind(NotAllowedError, NOT_ALLOWED, 403, "forbidden"),
    _Kind(NotFoundError, NOT_FOUND, 404, "not found"),
    _Kind(ConflictError, CONFLICT, 409, "conflict"),
    _Kind(StoreError, FAILED, 507, "store"),
    _Kind(EngineError, FAILED, 502, "engine"),
    _Kind(ClearwayError, FAILED, 500, "failed"),
)


def guarded(run: Callable[[], object], args: Sequence[str] | None) -> NoReturn:
    """Call `run` and exit with what it returns, or say its error on stderr and exit with the error's number.

    Commands say their own errors; what is left is what is wrong before one has begun, so `args` are looked at.
    """
    words = list(sys.argv[1:] if args is None else args)
    as_json = "--json" in (words[: words.index("--")] if "--" in words else words)
    sys.exit(_outcome(run, words, as_json=as_json))


def _outcome(run: Callable[[], object], words: Sequence[str], *, as_json: bool) -> int:
    stdout = sys.stdout
    try:
        result = run()
        sys.stdout.flush()
    except SystemExit:
        # click notices a closed pipe by itself, puts another stdout in the place of the broken one, and leaves with 1
        if sys.stdout is stdout:
            raise
        return _reader_gone()
    except click.ClickException as error:
        return _say_usage(error, words, as_json=as_json)
    except ClearwayError as error:
        return say(error, as_json=as_json)
    except BrokenPipeError:
        return _reader_gone()
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    return result if isinstance(result, int) else 0


def say(error: ClearwayError, *, as_json: bool) -> int:
    """Write an error to stderr, and return the number to exit with."""
    lines = str(error).splitlines()  # a controller that did not start is shown with the end of its log
    _write(json.dumps(problem(error)) if as_json else "clearway: " + "\n".join(map(plain, lines)))
    return _kind(error).code


def problem(error: ClearwayError) -> dict[str, object]:
    """Return an error as a problem document, with the same keys as the HTTP interface."""
    parts = {}
    if isinstance(error, InputError):
        parts = {"field": error.field, "value": error.value, "rule": error.rule, "place": error.place}
    kind = _kind(error)
    return {"type": "about:blank", "title": kind.title, "status": kind.status, "detail": str(error), **parts}


def _kind(error: ClearwayError) -> _Kind:
    return next(kind for kind in _KINDS if isinstance(error, kind.error))


def _say_usage(error: click.ClickException, words: Sequence[str], *, as_json: bool) -> int:
    context = error.ctx if isinstance(error, click.UsageError) else None
    bare = isinstance(error, _BARE)
    text = "Missing command" if bare else _usage_text(error.format_message().rstrip("."), words)
    if as_json:
        _write(json.dumps({"type": "about:blank", "title": "refused", "status": 422, "detail": text}))
    elif bare and context:
        _write(context.get_help())
    elif context:
        see = f"see: {context.command_path} --help"
        _write(f"clearway: {text}\n{see}" if "\n" in text else f"clearway: {text} ({see})")
    else:
        _write(f"clearway: {text}")
    return BAD_INPUT


def _usage_text(message: str, words: Sequence[str]) -> str:
    """Return click's message with its lines, unless one of them may be of what was typed: then all is one line."""
    if any("\n" in word for word in words):
        return plain(message)
    return "\n".join(map(plain, message.replace("\n\t", "\n    ").split("\n")))


def _reader_gone() -> int:
    """Leave quietly when whoever read our output went away; nothing more may be flushed into the closed pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return READER_GONE


def _write(line: str) -> None:
    click.echo(line, err=True)
