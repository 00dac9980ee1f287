"""The route of what tasks wrote."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from fastapi import Depends, Header, Query
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from clearway.api.desk import LARGEST, TheDesk, TheJob, answer
from clearway.api.jobs import until_over
from clearway.api.ranges import wanted_part
from clearway.api.roles import guarded
from clearway.api.tail import (
    FIRST_PAUSE_S,
    LONGEST_PAUSE_S,
    data_of,
    growing,
    marked,
    next_data,
    part_of,
    read_data,
    size_of,
)
from clearway.model import events as ev
from clearway.model.errors import NotFoundError
from clearway.model.states import State

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from clearway.api.desk import Desk
    from clearway.control import JobRow
    from clearway.model.events import Grant
    from clearway.model.ids import JobId

LISTED_BYTES = 2**20  # one JSON answer holds so much of a log; `next` says where the next one begins
BYTES = "application/octet-stream"

router = guarded()


class Wanted(NamedTuple):
    """Which log: a task's stdout or stderr, of the latest attempt where none is given, from an offset in bytes."""

    task: int
    attempt: int | None
    stream: str
    offset: int


def _wanted(
    task: Annotated[int, Query(ge=0)] = 0,
    attempt: Annotated[int | None, Query(ge=1)] = None,
    stream: Literal["stdout", "stderr"] = "stdout",
    offset: Annotated[int, Query(ge=0, le=LARGEST)] = 0,
) -> Wanted:
    return Wanted(task, attempt, stream, offset)


@router.get("/jobs/{ref}/logs")
async def logs(
    desk: TheDesk,
    job: TheJob,
    wanted: Annotated[Wanted, Depends(_wanted)],
    follow: bool = False,  # noqa: FBT001, FBT002  a word of the query
    format: Literal["raw", "json"] = "raw",  # noqa: A002  the query's word
    range: Annotated[str | None, Header()] = None,  # noqa: A002  the header's name
) -> Response:
    """Send what a task of the latest (or given) attempt wrote: bytes as they are, from `offset` or of a Range.

    What was cut from a log that grew too long is left out, or zeros in a Range.

    `follow`: goes on as it grows, until the job (or the given attempt) is over. `format=json`: a piece of text in
    which bytes that are no UTF-8 are written as escapes, and where the next piece begins.
    """
    row = await run_in_threadpool(desk.row, job)
    if row.progress is not None:
        first = f"{row.name}[{row.progress.array.index(0)}]"
        raise NotFoundError(f"job {row.id} ({row.name}) is an array: each of its jobs has logs, such as {first}")
    if follow:
        await _check(desk, row, wanted)
        return StreamingResponse(_follow(desk, job, wanted), media_type=BYTES)
    number = wanted.attempt or row.attempt
    if not number:
        return answer(_listed(b"", 0, 0)) if format == "json" else Response(b"", media_type=BYTES)
    path = await _path(desk, row, number, wanted)
    if format == "json":
        return answer(await run_in_threadpool(_list, path, wanted.offset))
    return await _send(desk, path, wanted.offset, range)


async def _send(desk: Desk, path: Path, offset: int, header: str | None) -> Response:
    size = await run_in_threadpool(size_of, path)
    if header is None and (await run_in_threadpool(next_data, path, 0))[1] < size:
        return StreamingResponse(
            data_of(path, offset, size, desk.pace), media_type=BYTES
        )  # it was cut: how long it is shows then
    part = wanted_part(header if not offset else f"bytes={offset}-" if offset < size else None, size)
    start = min(offset, size) if part.whole else part.start
    headers = {"Accept-Ranges": "bytes", "Content-Length": str(part.end - start)}
    if not part.whole and not offset:
        headers["Content-Range"] = part.content_range
    status = 206 if "Content-Range" in headers else 200
    return StreamingResponse(part_of(path, start, part.end, desk.pace), status, headers, BYTES)


def _list(path: Path, offset: int) -> dict[str, object]:
    size = size_of(path)
    offset, raw = read_data(path, offset, LISTED_BYTES)
    if offset + len(raw) < size:
        raw = raw[: len(raw) - _cut_character(raw)]
    return _listed(raw, offset, size)


def _listed(raw: bytes, offset: int, size: int) -> dict[str, object]:
    return {"text": marked(raw), "offset": offset, "next": offset + len(raw), "size": size}


def _cut_character(raw: bytes) -> int:
    """Return how many bytes at the end begin a character that goes on behind it."""
    for back in range(1, min(4, len(raw)) + 1):
        lead = raw[-back]
        if lead & 0xC0 != 0x80:  # noqa: PLR2004  not a continuation byte
            length = 4 if lead >= 0xF0 else 3 if lead >= 0xE0 else 2 if lead >= 0xC0 else 1  # noqa: PLR2004
            return back if length > back else 0
    return 0


async def _check(desk: Desk, row: JobRow, wanted: Wanted) -> None:
    if number := wanted.attempt or row.attempt:
        await _path(desk, row, number, wanted)
    elif wanted.task >= row.tasks:
        raise NotFoundError(f"job {row.id} has tasks 0 to {row.tasks - 1}")


async def _path(desk: Desk, row: JobRow, attempt: int, wanted: Wanted) -> Path:
    if attempt > row.attempt:
        raise NotFoundError(f"job {row.id} has no attempt {attempt}: there were {row.attempt}")
    grants = row.grants if attempt == row.attempt else ()
    grants = grants or await run_in_threadpool(_grants, desk, row.id, attempt)
    if wanted.task >= len(grants):
        raise NotFoundError(f"attempt {attempt} of job {row.id} has tasks 0 to {len(grants) - 1}")
    grant = grants[wanted.task]  # in the order of ranks
    return desk.log_path(ev.TaskRef(row.id, attempt, grant.role, grant.index), wanted.stream)


def _grants(desk: Desk, job: JobId, attempt: int) -> tuple[Grant, ...]:
    for entry in desk.journal.of_job(job):
        if isinstance(entry.record, ev.Started) and entry.record.attempt == attempt:
            return entry.record.grants
    raise NotFoundError(f"job {job} has no attempt {attempt}")


async def _follow(desk: Desk, job: JobId, wanted: Wanted) -> AsyncIterator[bytes]:
    number, start = wanted.attempt or 0, wanted.offset

    async def change(timeout_s: float) -> None:
        if job in desk.board.jobs and not desk.stopping.is_set():
            await until_over(desk, job, timeout_s)
        else:
            await asyncio.sleep(timeout_s)

    while (row := await _started(desk, job, number)) is not None:
        number = number or row.attempt
        path = await _path(desk, row, number, wanted)
        async for piece in growing(path, start, lambda n=number: _attempt_over(desk, job, n), change, desk.pace):  # type: ignore[misc]
            yield piece
        if wanted.attempt:
            return
        number, start = number + 1, 0


async def _started(desk: Desk, job: JobId, number: int) -> JobRow | None:
    """Return the row once attempt `number` (0: any) has started; None if the job is over without it."""
    pause = FIRST_PAUSE_S
    while True:
        row = await run_in_threadpool(desk.row, job)
        if row.attempt and row.attempt >= number:
            return row
        if row.over:
            return None
        await until_over(desk, job, pause)
        pause = min(LONGEST_PAUSE_S, pause * 2)


def _attempt_over(desk: Desk, job: JobId, attempt: int) -> bool:
    row = desk.board.jobs.get(job)
    return row is None or row.over or row.attempt > attempt or row.state is State.PENDING
