"""Large answers leave at a pace that all who read share. Only lower bounds of time are looked at."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

from clearway.api.pace import PIECE_BYTES, Pace
from clearway.api.tail import data_of, growing, part_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

PIECES, PIECES_PER_S = 4, 20


async def _never(_timeout_s: float) -> None:
    raise AssertionError("there is nothing to wait for")


def _reader(kind: str, path: Path, pace: Pace) -> AsyncIterator[bytes]:
    size = PIECES * PIECE_BYTES
    if kind == "growing":
        return growing(path, 0, lambda: True, _never, pace)
    return {"part": part_of, "data": data_of}[kind](path, 0, size, pace)


async def _read(readers: list[AsyncIterator[bytes]]) -> list[int]:
    async def whole(reader: AsyncIterator[bytes]) -> int:
        return sum([len(piece) async for piece in reader])

    return await asyncio.gather(*(whole(reader) for reader in readers))


@pytest.mark.parametrize("kinds", [["part"], ["data"], ["growing"], ["part", "data", "growing"]], ids="+".join)
def test_all_readers_together_take_no_more(tmp_path: Path, kinds: list[str]) -> None:
    (tmp_path / "log").write_bytes(b"x" * (PIECES * PIECE_BYTES))

    async def read() -> list[int]:
        pace = Pace(PIECES_PER_S * PIECE_BYTES)
        return await _read([_reader(kind, tmp_path / "log", pace) for kind in kinds])

    begun_s = time.monotonic()
    assert asyncio.run(read()) == [PIECES * PIECE_BYTES] * len(kinds)
    assert time.monotonic() - begun_s >= (PIECES * len(kinds) - 1) / PIECES_PER_S
