"""Tables. Rich is imported when one is drawn, because importing it takes longer than most commands."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple

from clearway.cli.shown import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

UNBOUNDED_WIDTH = 10_000  # into a file or a pipe nothing is cut, so that a line can be searched

STATE_STYLE = {
    "pending": "yellow", "running": "cyan", "succeeded": "green",
    "failed": "red", "cancelled": "magenta", "refused": "red",
}  # fmt: skip


class Column(NamedTuple):
    """A heading; `right` for numbers; `wraps` for sentences, which go on in a next line where others are cut."""

    heading: str
    right: bool = False
    wraps: bool = False


class Cell(NamedTuple):
    """A text with a style of its own."""

    text: str
    style: str = ""


def state(name: object) -> Cell:
    """Return the cell of a state, in its colour."""
    return Cell(str(name), STATE_STYLE.get(str(name).partition(" ")[0], ""))


def draw(columns: Sequence[Column], rows: Iterable[Sequence[str | Cell]], *, headings: bool = True) -> None:
    """Draw a table to stdout: as wide as the terminal, without colour where that is none or NO_COLOR is set."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=headings, header_style="bold", padding=(0, 2, 0, 0))
    for c in columns:
        table.add_column(
            c.heading,
            justify="right" if c.right else "left",
            no_wrap=not c.wraps,
            overflow="fold" if c.wraps else "ellipsis",
        )
    for row in rows:
        cells = (cell if isinstance(cell, Cell) else Cell(cell) for cell in row)
        table.add_row(*(Text(plain(cell.text), style=cell.style) for cell in cells))
    Console(file=sys.stdout, width=_width(), highlight=False, no_color="NO_COLOR" in os.environ or None).print(table)


def _width() -> int | None:
    return None if sys.stdout.isatty() else UNBOUNDED_WIDTH


def pairs(rows: Iterable[tuple[str, str | Cell]]) -> None:
    """Draw names with their values, one a line."""
    draw((Column(""), Column("", wraps=True)), [(Cell(name, "bold"), value) for name, value in rows], headings=False)
