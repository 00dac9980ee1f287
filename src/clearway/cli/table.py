"""Tables. Rich is imported when one is drawn, because importing it takes longer than most commands."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple

import click

from clearway.cli.shown import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

UNBOUNDED_WIDTH = 1_000_000  # into a file or a pipe nothing is cut, so that a line can be searched
LEAST_WIDTH = 12  # to which a text that does not fit is cut or wrapped; below it nothing is recognised
GAP = 2

STATE_STYLE = {
    "pending": "yellow", "running": "cyan", "succeeded": "green",
    "failed": "red", "cancelled": "magenta", "refused": "red",
}  # fmt: skip


class Column(NamedTuple):
    """A heading; `right` for numbers. Where the terminal is too narrow a text is `cut`, or `wraps` into more lines."""

    heading: str
    right: bool = False
    cut: bool = False
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

    texts = [[Text(plain(cell.text), cell.style) for cell in map(_cell, row)] for row in rows]
    natural = [max([len(c.heading), *(row[i].cell_len for row in texts)]) for i, c in enumerate(columns)]
    no_color = "NO_COLOR" in os.environ or None
    room = Console(file=sys.stdout).width if sys.stdout.isatty() else UNBOUNDED_WIDTH
    table = Table(box=None, pad_edge=False, show_header=headings, header_style="bold", padding=(0, GAP, 0, 0))
    for c, width in zip(columns, fitted(columns, natural, room), strict=True):
        side, overflow = "right" if c.right else "left", "fold" if c.wraps else "ellipsis"
        table.add_column(c.heading, justify=side, no_wrap=not c.wraps, overflow=overflow, width=width)  # type: ignore[arg-type]
    for cells in texts:
        table.add_row(*cells)
    console = Console(file=sys.stdout, width=UNBOUNDED_WIDTH, highlight=False, no_color=no_color)
    with console.capture() as drawn:
        console.print(table)
    for line in drawn.get().splitlines():
        click.echo(line.rstrip())


def _cell(value: str | Cell) -> Cell:
    return value if isinstance(value, Cell) else Cell(value)


def fitted(columns: Sequence[Column], natural: Sequence[int], room: int) -> list[int]:
    """Return a width for each column: its natural one, less where the whole would not fit, the widest first."""
    widths = list(natural)
    over = sum(widths) + GAP * (len(widths) - 1) - room
    while over > 0:
        shrinking = [i for i, c in enumerate(columns) if (c.cut or c.wraps) and widths[i] > LEAST_WIDTH]
        if not shrinking:
            break
        widest = max(shrinking, key=lambda i: widths[i])
        others = [widths[i] for i in shrinking if widths[i] < widths[widest]]
        by = min(over, max(1, widths[widest] - max([LEAST_WIDTH, *others])))
        widths[widest] -= by
        over -= by
    return widths


def pairs(rows: Iterable[tuple[str, str | Cell]]) -> None:
    """Draw names with their values, one a line."""
    draw((Column(""), Column("", wraps=True)), [(Cell(name, "bold"), value) for name, value in rows], headings=False)
