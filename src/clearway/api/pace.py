"""How fast large answers leave a controller: all of them together so many bytes a second, whoever reads them."""

from __future__ import annotations

import asyncio

PIECE_BYTES = 128 * 1024
"""Large answers are read and sent in such pieces: each is a turn that the thread which decides waits for."""
BYTES_PER_S = 32 * 2**20
"""A reader that is as fast as it can be would keep the thread of the server busy for as long as it reads, and Python's
threads take turns: at this rate `python -m benchmarks window` finds that an ask takes little longer than without."""


class Pace:
    """The bytes of large answers that may leave now. Belongs to the server's loop."""

    def __init__(self, bytes_per_s: int = BYTES_PER_S) -> None:
        """Begin with nothing sent."""
        self._bytes_per_s, self._free_s = bytes_per_s, 0.0

    async def turn(self, size: int) -> None:
        """Wait until so many bytes may be sent, behind all that asked before."""
        now_s = asyncio.get_running_loop().time()
        begin_s = max(now_s, self._free_s)
        self._free_s = begin_s + size / self._bytes_per_s
        await asyncio.sleep(begin_s - now_s)
