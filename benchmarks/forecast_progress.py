"""A bar on stderr while a past is played, on a terminal only."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EVERY = 200


@contextmanager
def progress(name: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show a bar while within; yields what takes how many are done."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415  only where somebody looks
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(name, total=total)
        yield lambda done: None if done % EVERY else bars.update(task, completed=done)
