"""Readers that `benchmarks.window` sets upon a controller: `python -m benchmarks.window_load KIND SOCKET JOB`.

`streams`: so many open streams of events, read along. `slow`: readers that ask for large answers and take a byte now
and then, and connections whose request never comes whole. `log`: one log of 100 MB, again and again. Ends when stdin
does.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket as stream
import sys

STREAMS, SLOW, HALF = 500, 100, 100
PAUSE_S = 0.5
PIECE = 1 << 16


async def _asked(socket: str, path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_unix_connection(socket, limit=PIECE)
    writer.write(f"GET /api/v1/{path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    return reader, writer


async def _read_along(socket: str) -> None:
    """Read all streams along, in few steps: what is measured is the controller, not who reads."""
    peers = [stream.socket(stream.AF_UNIX) for _ in range(STREAMS)]
    for peer in peers:
        peer.connect(socket)
        peer.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: x\r\n\r\n")
        peer.setblocking(False)  # noqa: FBT003  the name of the module's own word
    while True:
        await asyncio.sleep(PAUSE_S)
        for peer in peers:
            with contextlib.suppress(BlockingIOError):
                if not peer.recv(PIECE * 4):
                    raise ConnectionError("a stream was cut off though it is read")


async def _read_slowly(socket: str, path: str) -> None:
    while True:
        reader, writer = await _asked(socket, path)
        writer.transport.set_write_buffer_limits(1)
        for _ in range(60):
            await reader.read(1)
            await asyncio.sleep(PAUSE_S)
        writer.close()


async def _ask_slowly(socket: str) -> None:
    while True:
        _reader, writer = await asyncio.open_unix_connection(socket)
        for letter in b"GET /api/v1/jobs HTTP/1.1\r\nHost: x\r\n":
            if writer.is_closing():
                break
            writer.write(bytes([letter]))
            await asyncio.sleep(PAUSE_S)
        writer.close()


async def _read_log(socket: str, job: str) -> None:
    while True:
        reader, writer = await _asked(socket, f"jobs/id:{job}/logs")
        await reader.readuntil(b"\r\n\r\n")
        left = 100 * 10**6
        while left > 0 and (piece := await reader.read(PIECE)):
            left -= len(piece)
        writer.close()


async def _load(kind: str, socket: str, job: str) -> None:
    tasks = []
    if kind in ("streams", "all"):
        tasks.append(_read_along(socket))
    if kind in ("slow", "all"):
        tasks += [_read_slowly(socket, path) for path in ("timeline", "devices") for _ in range(SLOW // 2)]
        tasks += [_ask_slowly(socket) for _ in range(HALF)]
    if kind in ("log", "all"):
        tasks.append(_read_log(socket, job))
    running = [asyncio.ensure_future(task) for task in tasks]
    await asyncio.sleep(1)
    print("ready", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(_load(*sys.argv[1:4]))
