"""Routes of calls. Bodies and answers are MessagePack; values in them are bytes that nobody here understands."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
from fastapi import Query, Request, Response
from starlette.concurrency import run_in_threadpool

from clearway.api.body import read_bytes
from clearway.api.desk import LARGEST, TheCall, TheDesk, answer
from clearway.api.roles import guarded
from clearway.calls import read, wire
from clearway.model.errors import InputError, NotFoundError

if TYPE_CHECKING:
    from concurrent.futures import Future

    from clearway.api.desk import Desk

MOST_WAIT_MS = 3_600_000
MEDIA_TYPE = "application/msgpack"
T = TypeVar("T")

router = guarded()


@router.post("/calls")
async def enter(desk: TheDesk, request: Request) -> Response:
    """Enter calls, all or none; answered when they are on disk."""
    said = await _read(request, wire.Enter)
    entered = await asyncio.wrap_future(desk.calls.enter(said))
    return _answer(entered)


@router.post("/calls/parts")
async def part(desk: TheDesk, request: Request) -> Response:
    """Keep values of a map that is entered later; answered when they are on disk."""
    await asyncio.wrap_future(desk.calls.part(await _read(request, wire.Part)))
    return _answer(None)


@router.post("/calls/turn")
async def turn(desk: TheDesk, request: Request) -> Response:
    """Hand calls to a worker; waits for some as long as it says."""
    said = await _read(request, wire.Turn)
    hand = await _until_stopping(desk, desk.calls.turn(said), wire.Hand())
    return _answer(hand)


@router.post("/calls/report")
async def report(desk: TheDesk, request: Request) -> Response:
    """Take in what a worker has done; answered when it is on disk."""
    await asyncio.wrap_future(desk.calls.report(await _read(request, wire.Report)))
    return _answer(None)


@router.post("/calls/poll")
async def poll(desk: TheDesk, request: Request) -> Response:
    """Say which calls are over; waits for some as long as asked."""
    said = await _read(request, wire.Poll)
    polled = await _until_stopping(desk, desk.calls.poll(said), wire.Polled([]))
    return _answer(polled)


@router.get("/calls/{call}/members")
async def members(
    desk: TheDesk,
    call: TheCall,
    first: Annotated[int, Query(ge=0, le=LARGEST)] = 0,
    most: Annotated[int, Query(ge=1, le=LARGEST)] = 1000,
) -> Response:
    """Return the results of a group's members from a position on."""

    def found() -> wire.Members:
        with desk.calls.reading() as connection:
            return read.members_of(connection, call, first, most)

    return _answer(await run_in_threadpool(found))


@router.get("/calls/{call}/items")
async def items(
    desk: TheDesk,
    call: TheCall,
    first: Annotated[int, Query(ge=0, le=LARGEST)] = 0,
    most: Annotated[int, Query(ge=1, le=LARGEST)] = 1000,
    wait_ms: Annotated[int, Query(ge=0, le=MOST_WAIT_MS)] = 0,
) -> Response:
    """Return what a call of a generator has yielded from a position on; waits for some as long as asked."""
    found = await _until_stopping(desk, desk.calls.items(call, first, most, wait_ms), wire.Yielded())
    return _answer(found)


@router.get("/calls/{call}/failure")
async def failure(desk: TheDesk, call: TheCall) -> Response:
    """Return the call whose failure is that of this one."""

    def found() -> wire.Over | None:
        with desk.calls.reading() as connection:
            return read.failure_of(connection, call)

    over = await run_in_threadpool(found)
    if over is None:
        raise NotFoundError(f"call {call} has not failed")
    return _answer(over)


@router.post("/calls/actors/{key}/end")
async def end_actor(desk: TheDesk, key: str) -> Response:
    """End an actor; its calls that are not over fail."""
    await asyncio.wrap_future(desk.calls.end_actor(key))
    return answer({"actor": key})


@router.post("/calls/{call}/cancel")
async def cancel(desk: TheDesk, call: TheCall) -> Response:
    """Cancel a call, or a chain or group with all that is part of it."""
    await asyncio.wrap_future(desk.calls.cancel(call))
    return answer({"id": call})


async def _read(request: Request, kind: type[T]) -> T:
    content = await read_bytes(request, request.app.state.body_limit)
    try:
        return msgspec.msgpack.decode(content, type=kind)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InputError("body", f"{len(content)} bytes", f"MessagePack of {kind.__name__} ({error})") from error


async def _until_stopping(desk: Desk, found: Future[T], otherwise: T) -> T:
    """Return an answer, or `otherwise` where the controller stops before there is one."""
    waited = asyncio.wrap_future(found)
    stopping = asyncio.ensure_future(desk.stopping.wait())
    either: set[asyncio.Future[Any]] = {waited, stopping}
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        if not waited.done():
            waited.cancel()
    return waited.result() if not waited.cancelled() else otherwise


def _answer(message: object) -> Response:
    return Response(wire.encode(message), media_type=MEDIA_TYPE)
