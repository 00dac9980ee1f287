"""Lines in order of time, with bounded memory.

A first look finds out whether the lines are in order already. If so they are streamed; if not, they are sorted in
pieces of a fixed size, written to a temporary file each, and merged.
"""

from __future__ import annotations

import heapq
import tempfile
from itertools import islice, pairwise
from typing import IO, TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PIECE_LINES = 50_000  # lines sorted at once: some 50 MB


class Line(NamedTuple):
    """One line of a file: the moment it tells of, its number from 1, and its fields."""

    at_us: int
    number: int
    fields: list[str]


def in_order(look: Callable[[], Iterator[Line]], read: Callable[[], Iterator[Line]]) -> Iterator[Line]:
    """Yield the lines of `read` by time, equal ones as they stand; `look` yields the same lines for a first look."""
    if all(a.at_us <= b.at_us for a, b in pairwise(look())):
        return read()
    return merged(read())


def merged(lines: Iterator[Line]) -> Iterator[Line]:
    """Yield lines by time, read only once: pieces of them are sorted on disk and put together."""
    pieces: list[IO[bytes]] = []
    try:
        while piece := sorted(islice(lines, PIECE_LINES), key=lambda line: line[:2]):
            pieces.append(_written(piece))
        yield from heapq.merge(*map(_read, pieces), key=lambda line: line[:2])
    finally:
        for file in pieces:
            file.close()


def _written(piece: list[Line]) -> IO[bytes]:
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it when the merge is over
    encoder = msgspec.msgpack.Encoder()
    for line in piece:
        raw = encoder.encode(tuple(line))
        file.write(len(raw).to_bytes(4))
        file.write(raw)
    file.seek(0)
    return file


def _read(file: IO[bytes]) -> Iterator[Line]:
    decoder = msgspec.msgpack.Decoder(tuple[int, int, list[str]])
    while size := file.read(4):
        yield Line(*decoder.decode(file.read(int.from_bytes(size))))
