"""Routes of what people do with live jobs: hold, release, requeue, and other words for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import Request, Response
from starlette.concurrency import run_in_threadpool

from clearway.api.admission import admit_change
from clearway.api.body import read_json
from clearway.api.desk import MyJob, TheDesk, answer
from clearway.api.roles import guarded
from clearway.api.rows import job_row
from clearway.model.asks import Hold, Release, Requeue
from clearway.model.verb_words import read_change

if TYPE_CHECKING:
    from clearway.api.desk import Desk
    from clearway.model.asks import Ask
    from clearway.model.ids import JobId

router = guarded()


async def _done(desk: Desk, job: JobId, ask: Ask) -> Response:
    await desk.ask(ask)
    return answer(job_row(desk, await run_in_threadpool(desk.row, job)))


@router.post("/jobs/{ref}/hold")
async def hold(desk: TheDesk, job: MyJob) -> Response:
    """Have a job held back until it is released; one that runs goes on."""
    return await _done(desk, job, Hold(job, desk.login))


@router.post("/jobs/{ref}/release")
async def release(desk: TheDesk, job: MyJob) -> Response:
    """Let a job go that is held back."""
    return await _done(desk, job, Release(job, desk.login))


@router.post("/jobs/{ref}/requeue")
async def requeue(desk: TheDesk, job: MyJob, hold: bool = False) -> Response:  # noqa: FBT001, FBT002
    """Stop a running job, to wait again with its first submit time; with `hold` until it is released."""
    return await _done(desk, job, Requeue(job, desk.login, hold))


@router.post("/jobs/{ref}/set")
async def change(desk: TheDesk, job: MyJob, request: Request) -> Response:
    """Give a job another priority, queue or time limit: the body is a map of these words."""
    asked = read_change(job, await read_json(request), desk.login)
    await run_in_threadpool(admit_change, desk, asked)
    return await _done(desk, job, asked)
