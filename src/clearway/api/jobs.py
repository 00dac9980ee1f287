"""Routes of jobs: submit, list, look at, end."""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from fastapi import Depends, Header, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from clearway.api.body import read_json
from clearway.api.desk import MyJob, TheDesk, TheJob, answer
from clearway.api.entry import read_jobs, traced, with_key
from clearway.api.moments import FACE
from clearway.api.roles import guarded
from clearway.api.rows import job_row, plain, waits_for
from clearway.api.story import events_of, story_of
from clearway.api.who import noted
from clearway.model import values as v
from clearway.model.asks import Cancel, Resume, Submit, Suspend, Weigh, Weighed
from clearway.model.errors import ClearwayError, InputError
from clearway.model.reasons import Code, Reason
from clearway.model.states import State, shown
from clearway.observe.words import sentence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clearway.api.desk import Desk
    from clearway.control import JobRow
    from clearway.model.ids import JobId

LONGEST_WAIT_S = 60.0
MOST_NOTED = 100  # numbers of jobs in the line that says who submitted them
MOST_ROWS = 1000
"""So many rows has an answer at most: the next ones are another question, and nobody waits for a big one."""

router = guarded()


TheKey = Annotated[str | None, Header(description="The `idempotency_key` of jobs that have none: KEY, or KEY/N of N")]


@router.post("/jobs")
async def submit(desk: TheDesk, request: Request, idempotency_key: TheKey = None) -> Response:
    """Enter jobs, all or none.

    With `Idempotency-Key` the same request, sent again, enters nothing and answers with the jobs of the first one.
    """
    raw = with_key(await read_json(request), idempotency_key)
    specs = traced(request, await run_in_threadpool(read_jobs, desk, raw))
    numbers: tuple[JobId, ...] = await desk.ask(Submit(specs))  # type: ignore[assignment]  # the answer to a Submit
    noted(jobs=list(numbers[:MOST_NOTED]), count=len(numbers))
    told = [
        {"id": n, "name": spec.name, "warnings": _warnings(desk, n)} for n, spec in zip(numbers, specs, strict=True)
    ]
    return answer({"jobs": told}, 201)


class Wanted(NamedTuple):
    """Which jobs a list is to show."""

    state: State | None
    queue: str | None
    user: str | None
    tenant: str | None
    name: str | None
    since_us: int | None
    over: bool

    def fits(self, row: JobRow) -> bool:
        """Whether a job is among them."""
        name = self.name
        return (
            (self.state is None or self.state in (row.state, shown(row.state)))
            and (self.queue is None or row.queue == self.queue)
            and (self.user is None or row.user == self.user)
            and (self.tenant is None or row.tenant == self.tenant)
            and (name is None or row.name == name or (name.endswith("*") and row.name.startswith(name[:-1])))
            and (self.since_us is None or row.submitted_us >= self.since_us)
            and (self.over or not row.over)
        )


def _wanted(
    state: str | None = None,
    queue: str | None = None,
    user: str | None = None,
    tenant: str | None = None,
    name: Annotated[str | None, Query(description="A name; with a star at its end all that begin so")] = None,
    since: Annotated[str | None, Query(description="Submitted at this moment or later, in ISO 8601")] = None,
    everything: Annotated[bool, Query(description="Also jobs that are over")] = False,  # noqa: FBT002
) -> Wanted:
    wanted, since_us = _state(state), None if since is None else v.instant("since", since)
    return Wanted(wanted, queue, user, tenant, name, since_us, everything or wanted is not None)


@router.get("/jobs")
def jobs(
    desk: TheDesk,
    wanted: Annotated[Wanted, Depends(_wanted)],
    array: Annotated[str | None, Query(description="The jobs of this array; otherwise it stands for them")] = None,
    reason: Annotated[str | None, Query(description="Only those that wait for this before all: its code")] = None,
    cursor: Annotated[str | None, Query(description="`next` of the answer before: what follows it")] = None,
    limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = MOST_ROWS,
    oldest: Annotated[bool, Query(description="Those that came first go first")] = False,  # noqa: FBT002
) -> Response:
    """List jobs, newest first; those that are over only with `everything`, or where `state` asks for them.

    `next` is the `cursor` with which the list goes on, null at its end.
    """
    whose = None if array is None else desk.job_id(array)
    rows_in_order = _in_order(desk, cursor, oldest=oldest)
    fitting = (row for row in rows_in_order if row.array == whose and wanted.fits(row) and _waits(desk, row, reason))
    found = list(islice(fitting, limit + 1))
    rows = [job_row(desk, row) for row in found[:limit]]
    return answer({"jobs": rows, "next": str(found[limit - 1].id) if len(found) > limit else None})


@router.get("/jobs/{ref}")
def job(desk: TheDesk, job: TheJob) -> Response:
    """Show one job with its attempts and waits."""
    row = desk.row(job)
    return answer({**job_row(desk, row), **story_of(desk, job).shown(desk, row)})


@router.get("/jobs/{ref}/events")
def events(desk: TheDesk, job: TheJob) -> Response:
    """Tell what happened to a job, oldest first."""
    desk.row(job)
    return answer({"events": events_of(desk, job)})


@router.get("/jobs/{ref}/why")
async def why(desk: TheDesk, job: TheJob) -> Response:
    """Tell why a job waits, started or ended; of one that waits also what each order of the policy says of it."""
    row = await run_in_threadpool(desk.row, job)
    story = await run_in_threadpool(story_of, desk, job)
    return answer({**story.why(desk, row), "order": await _order(desk, row)})


async def _order(desk: Desk, row: JobRow) -> dict[str, Any] | None:
    """Return what each order says of a job; nothing where it does not stand in the line, or nobody can say it now."""
    if row.state is not State.PENDING or row.cls is None:
        return None
    try:
        found: Weighed | None = await desk.ask(Weigh(row.id))  # type: ignore[assignment]  # the answer to a Weigh
    except ClearwayError:
        return None
    if found is None:
        return None
    return {"summed": found.summed, "parts": {name: plain(part) for name, part in found.parts}}


@router.post("/jobs/{ref}/cancel")
async def cancel(desk: TheDesk, job: MyJob) -> Response:
    """End a job; one that is over stays as it is."""
    row = await run_in_threadpool(desk.row, job)
    if not row.over:
        await desk.ask(Cancel(job, desk.login))
    return answer(job_row(desk, await run_in_threadpool(desk.row, job)))


@router.post("/jobs/{ref}/suspend")
async def suspend(desk: TheDesk, job: MyJob) -> Response:
    """Have a running job stand still."""
    await desk.ask(Suspend(job))
    return answer(job_row(desk, desk.row(job)))


@router.post("/jobs/{ref}/resume")
async def resume(desk: TheDesk, job: MyJob) -> Response:
    """Have a job that stands still go on."""
    await desk.ask(Resume(job))
    return answer(job_row(desk, desk.row(job)))


@router.get("/jobs/{ref}/wait")
async def wait(desk: TheDesk, job: TheJob, timeout: Annotated[float, Query(ge=0)] = LONGEST_WAIT_S) -> Response:  # noqa: ASYNC109
    """Answer when the job is over, or after `timeout` seconds (60 at most) with what it is then."""
    if job in desk.board.jobs:
        await until_over(desk, job, min(timeout, LONGEST_WAIT_S))
    return answer(job_row(desk, await run_in_threadpool(desk.row, job)))


async def until_over(desk: Desk, job: JobId, timeout_s: float) -> None:
    """Return when a job on the board is over, when the controller stops, or after the timeout."""
    over = asyncio.wrap_future(desk.board.when_over(job))
    stopping = asyncio.ensure_future(desk.stopping.wait())
    either: set[asyncio.Future[Any]] = {over, stopping}
    await asyncio.wait(either, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not over.done():
        over.cancel()
    else:
        over.exception()  # forgotten in this very moment: the caller looks into the journal


def _warnings(desk: Desk, job: JobId) -> list[str]:
    row = desk.board.jobs.get(job)
    reasons = waits_for(desk, row) if row is not None else ()
    return [sentence(reason, FACE.moment) for reason in reasons if _hopeless(reason)]


def _hopeless(reason: Reason) -> bool:
    """Whether a job waits for what cannot come true as things are: no node, or no limit, is large enough."""
    beyond = reason.code is Code.QUEUE_LIMIT and int(reason.get("need", 0)) > int(reason.get("limit", 0))
    return beyond or reason.code is Code.NEVER_FITS


def _waits(desk: Desk, row: JobRow, code: str | None) -> bool:
    """Whether a job waits for this before all else."""
    if code is None:
        return True
    reasons = desk.board.reasons(row) if row.state is State.PENDING else ()
    return bool(reasons) and reasons[0].code == code


def _in_order(desk: Desk, cursor: str | None, *, oldest: bool) -> Iterator[JobRow]:
    """Return the jobs on the board from the highest number down, or from the lowest up; behind a cursor."""
    numbers = sorted(list(desk.board.jobs))  # noqa: C414  a copy: the loop changes it
    if cursor is not None:
        if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 19):  # noqa: PLR2004  it fits 64 bits
            raise InputError("cursor", cursor, "`next` of an earlier answer", "query")
        if oldest:
            del numbers[: bisect_right(numbers, int(cursor))]
        else:
            del numbers[bisect_left(numbers, int(cursor)) :]
    rows = map(desk.board.jobs.get, numbers if oldest else reversed(numbers))
    return (row for row in rows if row is not None)


def _state(said: str | None) -> State | None:
    if said is None:
        return None
    try:
        return State(said)
    except ValueError:
        raise InputError("state", said, "one of " + ", ".join(State), "query") from None
