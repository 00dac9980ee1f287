"""The progress of an import: a bar over the source on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SHOWN_EVERY = 1 << 18  # characters
PACKED = (".gz", ".zip")


@contextmanager
def progress(source: Path) -> Iterator[Callable[[int], None]]:
    """Show a bar on stderr while within; yields what hears how many characters were read.

    How long a packed file is when unpacked nobody knows: then only what was read so far is shown.
    """
    if not sys.stderr.isatty() or not source.is_file():
        yield lambda _seen: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    total = None if source.suffix in PACKED else source.stat().st_size
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task, shown = bars.add_task(source.name, total=total), 0

        def told(seen: int) -> None:
            nonlocal shown
            if seen - shown >= SHOWN_EVERY:
                shown = seen
                bars.update(task, completed=seen)

        yield told
