"""Has a process answer a question about the past, and hands its answer on. Few at once; none outlives who asked."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.responses import Response

from clearway.api.events import TRANSPORT
from clearway.api.pace import PIECE_BYTES
from clearway.api.past.child import FOLDER, Question
from clearway.api.past.shadowing import ONE_THREAD
from clearway.model.errors import ControllerError, FullError

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncIterator, Awaitable
    from pathlib import Path

    from starlette.types import Receive, Scope, Send

    from clearway.api.desk import Desk
    from clearway.api.pace import Pace

MODULE = "clearway.api.past.child"
AT_ONCE = 2
MOST_WAITING = 20
ASK_AGAIN_S = 5
STALL_S = 60.0
"""So long a reader may take nothing of what he is sent while others wait."""
ABOUT = "Clearway-About"
"""The header in which stands, as JSON, what is to be said beside a file that is sent."""


class Relay:
    """All questions about the past that are put to one controller."""

    def __init__(self, home: Path, at_once: int = AT_ONCE) -> None:
        """Answer so many at once; remove what a controller that was killed may have left."""
        self._room, self._waiting = asyncio.Semaphore(at_once), 0
        for left in home.glob(f"{FOLDER}*"):
            shutil.rmtree(left, ignore_errors=True)

    @property
    def full(self) -> bool:
        """Whether somebody waits for room."""
        return self._waiting > 0

    @asynccontextmanager
    async def child(self, question: Question) -> AsyncIterator[Process]:
        """Have a process work on a question within. FullError: too many wait already."""
        if self._waiting >= MOST_WAITING:
            raise FullError(f"{MOST_WAITING} questions about the past wait already", ASK_AGAIN_S)
        self._waiting += 1
        try:
            await self._room.acquire()
        finally:
            self._waiting -= 1
        try:
            pipe = asyncio.subprocess.PIPE
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", MODULE, stdin=pipe, stdout=pipe, env={**os.environ, **ONE_THREAD}
            )
            try:
                yield await _asked(process, question)
            finally:
                await _ended(process)
        finally:
            self._room.release()


async def _asked(process: Process, question: Question) -> Process:
    if process.stdin is None or process.stdout is None:
        raise ControllerError("the process that answers has no ear")
    process.stdin.write(msgspec.json.encode(question) + b"\n")
    await process.stdin.drain()
    return process


async def _ended(process: Process) -> None:
    """End a process that is there still: it ends when its stdin does, and leaves nothing then."""
    if process.stdin is not None:
        process.stdin.close()
    if process.returncode is None and process.stdout is not None:
        while await process.stdout.read(PIECE_BYTES):
            pass  # what it has written is in the way of its end
    await process.wait()


class Relayed(Response):
    """The answer of a process, sent as it comes."""

    def __init__(self, relay: Relay, question: Question, pace: Pace) -> None:
        """Begin nothing yet."""
        super().__init__()
        self._relay, self._question, self._pace = relay, question, pace

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, until that is done or nobody listens any more."""
        sent = asyncio.ensure_future(self._send(scope, send))
        gone = asyncio.ensure_future(_gone(receive))
        try:
            await asyncio.wait({sent, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            sent.cancel()
            (result,) = await asyncio.gather(sent, return_exceptions=True)
        if isinstance(result, Exception):
            raise result

    async def _send(self, scope: Scope, send: Send) -> None:
        async with self._relay.child(self._question) as process:
            out = process.stdout
            line = b"" if out is None else await out.readline()
            if out is None or not line:
                raise ControllerError("the process that answers has ended; the controller's log says more")
            head: dict[str, Any] = json.loads(line)
            headers = {"Content-Length": str(head["size"]), "Cache-Control": "private, no-store"}
            if head["about"]:
                headers[ABOUT] = json.dumps(head["about"])
            begun = Response(None, head["status"], headers, head["media"])
            raw = [(name, value) for name, value in begun.raw_headers if name != b"content-length"]
            raw.append((b"content-length", str(head["size"]).encode()))
            await send({"type": "http.response.start", "status": head["status"], "headers": raw})
            if scope["method"] != "HEAD":
                while piece := await out.read(PIECE_BYTES):
                    await self._pace.turn(len(piece))
                    await self._taken(scope, send({"type": "http.response.body", "body": piece, "more_body": True}))
            await send({"type": "http.response.body", "body": b""})

    async def _taken(self, scope: Scope, sending: Awaitable[None]) -> None:
        """Send a piece; cut off who takes nothing for long while others wait for the end of his process."""
        sent = asyncio.ensure_future(sending)
        try:
            while not (await asyncio.wait({sent}, timeout=STALL_S))[0]:
                if self._relay.full:
                    scope["state"][TRANSPORT].abort()
        finally:
            sent.cancel()


async def _gone(receive: Receive) -> None:
    """Return when whoever asked has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


def relayed(desk: Desk, relay: Relay, what: str, **said: object) -> Response:
    """Return the answer to a question about the past of a desk's controller."""
    return Relayed(relay, Question(what, str(desk.settings.home), desk.settings.store, said), desk.pace)
