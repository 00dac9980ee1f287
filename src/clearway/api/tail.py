"""Reading what tasks wrote: a part of a file, or a file as it grows. One piece in memory at a time."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool

from clearway.api.pace import PIECE_BYTES
from clearway.model.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from clearway.api.pace import Pace

FIRST_PAUSE_S = 0.02  # a reader sees output this soon after it was written while there is some
LONGEST_PAUSE_S = 0.25  # and this soon after a silence: a silent log costs four looks a second


def size_of(path: Path) -> int:
    """Return the bytes of a log; 0 where nothing was written yet."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from error


def next_data(path: Path, start: int) -> tuple[int, int]:
    """Return from where to where there is data at or behind an offset: a log that was cut has a hole between."""
    try:
        with path.open("rb") as file:
            if start >= os.fstat(file.fileno()).st_size:  # also what no file system could seek
                return start, start
            first = os.lseek(file.fileno(), start, os.SEEK_DATA)
            return first, os.lseek(file.fileno(), first, os.SEEK_HOLE)
    except FileNotFoundError:
        return start, start
    except OSError as error:
        if error.errno == errno.ENXIO:  # nothing but the end lies behind
            return start, start
        raise StoreError(f"{path} cannot be read: {error.strerror}") from error


def read_data(path: Path, start: int, most: int = PIECE_BYTES) -> tuple[int, bytes]:
    """Return the next up to `most` bytes of data at or behind an offset, and the offset at which they stand."""
    first, end = next_data(path, start)
    if end <= first:
        return first, b""
    return first, read_piece(path, first, min(most, end - first))


def read_piece(path: Path, start: int, most: int = PIECE_BYTES) -> bytes:
    """Return up to `most` bytes from `start` on; empty at the end, or where nothing was written yet."""
    try:
        with path.open("rb") as file:
            file.seek(start)
            return file.read(most)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from error


async def data_of(path: Path, start: int, end: int, pace: Pace) -> AsyncIterator[bytes]:
    """Yield the data between two offsets: what was cut between them is left out."""
    while start < end:
        start, piece = await run_in_threadpool(read_data, path, start)
        if not piece:
            return
        await pace.turn(len(piece))
        yield piece[: max(0, end - start)]
        start += len(piece)


async def part_of(path: Path, start: int, end: int, pace: Pace) -> AsyncIterator[bytes]:
    """Yield bytes `start` up to `end`, zeros for what was cut; fewer where the file became shorter."""
    while start < end:
        piece = await run_in_threadpool(read_piece, path, start, min(PIECE_BYTES, end - start))
        if not piece:
            return
        start += len(piece)
        await pace.turn(len(piece))
        yield piece


async def growing(
    path: Path, start: int, over: Callable[[], bool], change: Callable[[float], Awaitable[None]], pace: Pace
) -> AsyncIterator[bytes]:
    """Yield a file from `start` on as it grows, until it is read to its end after `over()` became true.

    `change(timeout_s)` returns when `over` may have become true, at the latest after the timeout.
    """
    pause = FIRST_PAUSE_S
    while True:
        last = over()  # asked before reading: what was written before the end is then read
        start, piece = await run_in_threadpool(read_data, path, start)
        if piece:
            start += len(piece)
            pause = FIRST_PAUSE_S
            await pace.turn(len(piece))
            yield piece
        elif last:
            return
        else:
            await change(pause)
            pause = min(LONGEST_PAUSE_S, pause * 2)


def marked(raw: bytes) -> str:
    """Return bytes as text, those that are no UTF-8 written as escapes (a backslash, x and two digits)."""
    return raw.decode("utf-8", "backslashreplace")
