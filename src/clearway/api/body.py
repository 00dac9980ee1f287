"""The body of a request: JSON of a bounded size, each key once, whatever else it may hold."""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING, Any, BinaryIO

from starlette.concurrency import run_in_threadpool

from clearway.api.problems import HttpFault
from clearway.model.errors import InputError, StoreError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from starlette.requests import Request

BODY_S = 120.0
"""Whoever needs longer for a body is told so: a connection that sends a byte now and then holds nothing for ever."""


PIECE_S = 30.0
"""So long a body that is written as it comes may stand still: how long all of it takes depends on its size."""
WRITE_BYTES = 2**20
LEFT_BYTES = 64 * 2**20
"""What is sent leaves so much of the disk free, of a small one the twentieth part: the journal needs it."""


async def read_json(request: Request, most: int | None = None) -> Any:  # noqa: ANN401  whatever was sent
    """Return the body, read as JSON. `app.state.body_limit` bounds its bytes, and `most` where that is less.

    Raises HttpFault 413 for a larger one, 415 for another content type, 400 for what is no JSON; InputError for a
    key that stands twice. NaN and infinities come through as numbers: the rule of their field refuses them.
    """
    _check_type(request)
    limit: int = request.app.state.body_limit
    content = await read_bytes(request, limit if most is None else min(limit, most))
    return await run_in_threadpool(decode, content)


async def read_json_or(request: Request, otherwise: object) -> Any:  # noqa: ANN401  whatever was sent
    """Return the body, read as `read_json` does; `otherwise` where none was sent."""
    content = await read_bytes(request, request.app.state.body_limit)
    if not content:
        return otherwise
    _check_type(request)
    return await run_in_threadpool(decode, content)


def decode(content: bytes) -> Any:  # noqa: ANN401
    """Read JSON bytes strictly."""
    try:
        return json.loads(content.decode("utf-8"), object_pairs_hook=_once)
    except InputError:
        raise
    except (ValueError, RecursionError) as error:  # also bytes that are not UTF-8, and integers beyond all bounds
        raise HttpFault(400, "malformed", f"the body is no JSON: {error}") from error


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise InputError(key, "(not shown)", "a key stands once in a map", "body")
            seen.add(key)
    return found


def _check_type(request: Request) -> None:
    kind, _, parameters = request.headers.get("content-type", "").partition(";")
    charset = parameters.replace('"', "").strip().lower()
    if kind.strip().lower() != "application/json" or charset not in {"", "charset=utf-8"}:
        raise HttpFault(415, "content type", "the body must be application/json in UTF-8")
    if request.headers.get("content-encoding", "identity") != "identity":
        raise HttpFault(415, "content type", "the body must not be compressed")


async def read_bytes(request: Request, limit: int) -> bytes:
    """Return the bytes of a body as they are. Raises HttpFault 413 where there are more than `limit`."""
    said = request.headers.get("content-length", "")
    if said.isascii() and said.isdigit() and int(said) > limit:
        raise _too_large(limit)
    found = bytearray()
    try:
        async with asyncio.timeout(BODY_S):
            async for piece in request.stream():
                found += piece
                if len(found) > limit:
                    raise _too_large(limit)
    except TimeoutError:
        raise HttpFault(
            408, "too slow", f"the body did not come within {BODY_S:g} s", {"Connection": "close"}
        ) from None
    return bytes(found)


async def received(request: Request, file: BinaryIO, limit: int) -> None:
    """Write a body to a file as it comes, and have it on the disk.

    Raises HttpFault 413 for more than `limit` bytes, 408 where none come for a while; StoreError where the disk would
    be left too full for the controller to go on.
    """
    said = request.headers.get("content-length", "")
    if said.isascii() and said.isdigit():
        if int(said) > limit:
            raise _too_large(limit)
        check_room(file.fileno(), int(said))
    pieces, held, size = aiter(request.stream()), bytearray(), 0
    while (piece := await _next(pieces)) is not None:
        held += piece
        size += len(piece)
        if size > limit:
            raise _too_large(limit)
        if len(held) >= WRITE_BYTES:
            check_room(file.fileno(), len(held))
            await run_in_threadpool(file.write, bytes(held))
            held.clear()
    await run_in_threadpool(_finish, file, bytes(held))


async def _next(pieces: AsyncIterator[bytes]) -> bytes | None:
    """Return the next piece of a body, None at its end."""
    try:
        async with asyncio.timeout(PIECE_S):
            return await anext(pieces, None)
    except TimeoutError:
        raise HttpFault(408, "too slow", f"nothing came for {PIECE_S:g} s", {"Connection": "close"}) from None


def _finish(file: BinaryIO, rest: bytes) -> None:
    file.write(rest)
    file.flush()
    os.fsync(file.fileno())


def check_room(place: int | Path, size: int) -> None:
    """Raise StoreError where so many more bytes would leave the disk of a file or folder without some room."""
    try:
        disk = os.statvfs(place)
    except OSError as error:
        raise StoreError(f"how much room its disk has cannot be told: {error.strerror}") from error
    left = min(LEFT_BYTES, disk.f_blocks * disk.f_frsize // 20)
    if disk.f_bavail * disk.f_frsize - size < left:
        raise StoreError(f"the disk would be left with less than {left >> 20} MiB, which the journal needs")


def _too_large(limit: int) -> HttpFault:
    rule = f"at most {limit} bytes; jobs can be sent in several requests"
    return HttpFault(413, "too large", f"the body is too large: {rule}", field="body", value="this body", rule=rule)
