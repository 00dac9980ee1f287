"""Arrays: one entry that stands for many like jobs, each with an index of its own."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING

import msgspec

from clearway.model import values as v
from clearway.model.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

_PIECE = re.compile(r"([0-9]{1,7})(?:-([0-9]{1,7})(?::([0-9]{1,7}))?)?")
_RULE = (
    f"a whole number from 1 to {v.MAX_COUNT}, or indices like 0-99, 1-9:2, 3,5,7-8, with %10 behind them: 10 at once"
)


class Array(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The indices of an array, as ranges (first, last, step) in order; at most `at_once` are let in at a time."""

    ranges: tuple[tuple[int, int, int], ...]
    at_once: int = 0

    @property
    def size(self) -> int:
        """How many indices there are."""
        return sum(map(_length, self.ranges))

    def index(self, position: int) -> int:
        """Return the index at a position, from 0 on."""
        for (_, last, step), end in zip(self.ranges, accumulate(map(_length, self.ranges)), strict=True):
            if position < end:
                return last - (end - 1 - position) * step
        raise IndexError(position)

    def position(self, index: int) -> int | None:
        """Return the position of an index; None where the array has no such index."""
        before = 0
        for first, last, step in self.ranges:
            if first <= index <= last and (index - first) % step == 0:
                return before + (index - first) // step
            before += _length((first, last, step))
        return None

    def text(self) -> str:
        """Return it as it is written: `0-99`, `1-9:2,20%5`."""
        return ",".join(_written(one) for one in self.ranges) + (f"%{self.at_once}" if self.at_once else "")


def _length(one: tuple[int, int, int]) -> int:
    first, last, step = one
    return (last - first) // step + 1


def _written(one: tuple[int, int, int]) -> str:
    first, last, step = one
    return f"{first}-{last}" + (f":{step}" if step > 1 else "")


def read_array(field: str, value: object) -> Array:
    """Return an array from how many there are (0 to n - 1), or from indices as text."""
    if not isinstance(value, str) or (value.isascii() and value.isdigit()):
        many = int(value) if isinstance(value, str) and len(value) < len(str(v.MAX_COUNT)) + 1 else value
        return Array(((0, v.count(field, many, 1) - 1, 1),))
    listed, percent, most = value.partition("%")
    if percent and not (most.isascii() and most.isdigit() and 1 <= int(most[:9]) <= v.MAX_COUNT):
        raise InputError(field, value, _RULE)
    found = Array(tuple(_pieces(field, value, listed)), int(most) if percent else 0)
    _check(field, value, found)
    return found


def _pieces(field: str, value: object, listed: str) -> Iterator[tuple[int, int, int]]:
    for piece in listed.split(","):
        match = _PIECE.fullmatch(piece)
        if match is None:
            raise InputError(field, value, _RULE)
        first, step = int(match[1]), int(match[3] or 1)
        last = int(match[2] or first)
        if last < first or step < 1 or last > v.MAX_COUNT:
            raise InputError(field, value, _RULE)
        yield first, last - (last - first) % step, step


def _check(field: str, value: object, found: Array) -> None:
    if found.size > v.MAX_COUNT:
        raise InputError(field, value, _RULE)
    if len({i for first, last, step in found.ranges for i in range(first, last + 1, step)}) < found.size:
        raise InputError(field, value, "each index stands once")
