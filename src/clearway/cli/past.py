"""Moments, progress and jobs for commands that ask the journal about the past."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from clearway.model import values
from clearway.model.errors import NotFoundError
from clearway.model.ids import JobId

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from clearway.loop.world import World

SHOWN_EVERY = 500


def moment(name: str, text: str | None) -> int | None:
    """Return the moment that an option names, None for none; InputError where it is none."""
    return None if text is None else values.instant(name, text)


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


def job_of(world: World, ref: str) -> JobId:
    """Return the job that a number, a name, `id:N` or `name:NAME` meant in a world. NotFoundError: there was none."""
    kind, colon, rest = ref.partition(":")
    number = rest if colon and kind == "id" else ref
    if number.isascii() and number.isdigit() and (int(number) in world.jobs or JobId(int(number)) in world.state.over):
        return JobId(int(number))
    named = world.job_named(rest if colon and kind == "name" else ref)
    if named is None:
        raise NotFoundError(f"there was no job {ref!r} then")
    return named
