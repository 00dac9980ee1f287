"""Of the controller, or of the journal where none runs: what commands ask about the past."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from clearway.model.errors import ConflictError, ControllerError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from clearway.cli.shell import Shell
    from clearway.sdk.client import Client

T = TypeVar("T")
SHOWN_EVERY = 500


@contextmanager
def progress(total: int) -> Iterator[Callable[[int], None]]:
    """Show a bar on a terminal while within; yields what takes the number of the record that was come to."""
    if not sys.stderr.isatty():
        yield lambda _number: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("records"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("records", total=total)
        yield lambda number: None if number % SHOWN_EVERY else bars.update(task, completed=number)


def asked(shell: Shell, running: Callable[[Client], T], otherwise: Callable[[], T]) -> T:
    """Ask the controller; where none runs, do the other thing, which reads the journal here."""
    try:
        client = shell.client()
    except ControllerError:
        return otherwise()
    return running(client)


@contextmanager
def new_file(file: Path) -> Iterator[BinaryIO]:
    """Open a new file for its owner alone, and remove it again where what is to be in it does not come whole."""
    if file.exists():
        raise ConflictError(f"{file} is there already: nothing is written over it")
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise InputError("file", str(file), f"a file that can be written ({error.strerror})") from error
    try:
        with os.fdopen(descriptor, "wb") as opened:
            yield opened
    except BaseException:
        file.unlink(missing_ok=True)
        raise
