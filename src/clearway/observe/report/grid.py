"""Columns of text that are never cut: side by side where there is room, else stacked."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

if TYPE_CHECKING:
    from collections.abc import Sequence

GAP = 2
LONGEST_HEAD = 26  # a longer name is folded into more lines: a name can be read so, a number could not


class Grid(NamedTuple):
    """Headings of one or more lines, rows, and how many columns at the left are words."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1

    @property
    def width(self) -> int:
        """Cells that the longest line may take."""
        return sum(self._widths()) + GAP * (len(self.heads) - 1)

    def _widths(self) -> list[int]:
        cells = [[*head.split("\n"), *(row[i] for row in self.rows)] for i, head in enumerate(self.heads)]
        return [max(map(cell_len, column)) for column in cells]

    def head_lines(self) -> list[str]:
        """Return the headings, the last line of each at the bottom."""
        parts = [head.split("\n") for head in self.heads]
        high = max(map(len, parts))
        return [self._line([([""] * (high - len(p)) + p)[i] for p in parts]) for i in range(high)]

    def row_lines(self) -> list[str]:
        """Return the rows."""
        return [self._line(row) for row in self.rows]

    def _line(self, cells: Sequence[str]) -> str:
        padded = []
        for i, (cell, width) in enumerate(zip(cells, self._widths(), strict=True)):
            room = " " * (width - cell_len(cell))
            padded.append(cell + room if i < self.words else room + cell)
        return (" " * GAP).join(padded).rstrip()


def folded(name: str) -> str:
    """Return a name for the head of a column, in more lines where it is long."""
    return "\n".join(wrap(name, LONGEST_HEAD) or [""])


def stacked(figures: Sequence[str], columns: Sequence[tuple[str, Sequence[str]]], room: int) -> list[Grid]:
    """Return a row a figure and as many columns, a name and its cells each, as `room` holds; the others below."""
    grids: list[Grid] = []
    taken: list[tuple[str, Sequence[str]]] = []
    for column in columns:
        if taken and _stack(figures, [*taken, column]).width > room:
            grids.append(_stack(figures, taken))
            taken = []
        taken.append(column)
    return [*grids, _stack(figures, taken)] if taken else grids


def _stack(figures: Sequence[str], columns: Sequence[tuple[str, Sequence[str]]]) -> Grid:
    heads = ("", *(folded(name) for name, _ in columns))
    return Grid(heads, tuple(zip(figures, *(cells for _, cells in columns), strict=True)))
