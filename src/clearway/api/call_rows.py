"""Routes by which people and their programs look at calls."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import Query
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from clearway.api.desk import TheCall, TheDesk, answer
from clearway.api.logs import BYTES
from clearway.api.moments import FACE, iso_or_none
from clearway.api.roles import guarded
from clearway.api.rows import waits_for
from clearway.api.tail import read_data
from clearway.calls import read
from clearway.model.events import TaskRef
from clearway.model.ids import JobId
from clearway.model.values import rate_text
from clearway.observe.words import sentence

if TYPE_CHECKING:
    from clearway.api.desk import Desk
    from clearway.calls.rates import Bound
    from clearway.calls.read import CallRow
    from clearway.calls.service import Place

MOST_ROWS = 10_000
MOST_LOG_BYTES = 2**24

router = guarded()


@router.get("/calls")
def calls(
    desk: TheDesk,
    everything: bool = False,  # noqa: FBT001, FBT002  a word of the query
    limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 1000,
) -> Response:
    """List calls, chains and groups as they were entered, newest first: those that are not over, or all."""
    with desk.calls.reading() as connection:
        found = read.rows(connection, limit, everything=everything)
    return answer({"calls": [call_row(desk, row) for row in found]})


@router.get("/calls/{call}")
def call(desk: TheDesk, call: TheCall) -> Response:
    """Show one call, chain or group."""
    return answer(call_row(desk, _row(desk, call)))


@router.get("/calls/{call}/why")
async def why(desk: TheDesk, call: TheCall) -> Response:
    """Tell why a call waits, runs or ended, and when it is expected to be over."""
    row = await run_in_threadpool(_row, desk, call)
    place = await asyncio.wrap_future(desk.calls.place(row))
    return answer(await run_in_threadpool(_told, desk, row, place))


@router.get("/calls/{call}/logs")
def logs(desk: TheDesk, call: TheCall, stream: Literal["stdout", "stderr"] = "stdout") -> Response:
    """Send what a call wrote in its last attempt that has ended."""
    row = _row(desk, call)
    if row.log is None:
        return Response(b"", media_type=BYTES)
    task, _, offsets = row.log.partition(":")
    job, attempt = map(int, task.split("."))
    numbers = list(map(int, offsets.split(",")))
    first, last = numbers[:2] if stream == "stdout" else numbers[2:]
    path = desk.log_path(TaskRef(JobId(job), attempt, 0, 0), stream)
    if last <= first or not path.exists():
        return Response(b"", media_type=BYTES)
    at, content = read_data(path, first, min(last - first, MOST_LOG_BYTES))
    return Response(content[: max(0, last - at)], media_type=BYTES)


def _row(desk: Desk, call: int) -> CallRow:
    with desk.calls.reading() as connection:
        return read.row_of(connection, call)


def call_row(desk: Desk, row: CallRow) -> dict[str, Any]:
    """Return what is shown of a call."""
    return {
        "id": row.id,
        "name": desk.calls.name_of(row),
        "kind": row.kind,
        "state": row.state,
        "root": row.root,
        "parts": row.total,
        "over": row.over,
        "failed": row.failed,
        "attempt": row.attempt,
        "failures": row.failures,
        "losses": row.losses,
        "job": row.job,
        "entered": iso_or_none(row.entered_us),
        "started": iso_or_none(row.started_us),
        "ended": iso_or_none(row.ended_us),
        "took_s": None if row.took_us is None else row.took_us / 1e6,
        "problem": None if row.problem is None else f"{row.problem.types[0]}: {row.problem.message}",
    }


def _told(desk: Desk, row: CallRow, place: Place) -> dict[str, Any]:
    lease = next((found for job in place.waiting if (found := desk.board.jobs.get(JobId(job)))), None)
    reasons = [] if lease is None or place.workers else [*waits_for(desk, lease)]
    told = [{"code": str(reason.code), "text": sentence(reason, FACE.moment)} for reason in reasons]
    now_us = desk.controller.now_us()
    return {
        "state": row.state,
        "text": _text(row, place, "; ".join(one["text"] for one in told)),
        "before": place.before,
        "workers": place.workers,
        "waits_for_job": lease.id if told and lease is not None else None,
        "reasons": told,
        "expected_end": iso_or_none(_expected_us(row, place, now_us)),
    }


def _text(row: CallRow, place: Place, reasons: str) -> str:
    if row.state in {"succeeded", "cancelled"}:
        return f"it {'has succeeded' if row.state == 'succeeded' else 'was cancelled'}"
    if row.state == "failed":
        said = "" if row.problem is None else f": {row.problem.types[0]}: {row.problem.message}"
        return f"it has failed{said}"
    if row.kind != "call":
        return f"{row.over} of its {row.total} parts are over"
    if row.state == "running":
        return f"it is in the hand of the worker that is job {row.job}, attempt {row.attempt}"
    if row.due_us is not None:
        return f"it failed {row.failures} times, and is tried again at {FACE.moment(row.due_us)}"
    before = f"{place.before} calls like it are before it{_rate(place.bound)}"
    if place.workers:
        return f"{before}; {place.workers} workers work on them"
    return f"{before}; a worker waits for a place: {reasons}" if reasons else f"{before}; a worker is being started"


def _rate(bound: Bound | None) -> str:
    if bound is None:
        return ""
    most = rate_text((bound.calls, bound.period_us))
    return f"; queue {bound.queue!r} hands over {most} at most, the next at {FACE.moment(bound.next_us)}"


def _expected_us(row: CallRow, place: Place, now_us: int) -> int | None:
    if row.ended_us is not None or not place.workers:
        return None
    left = max(row.total - row.over, 1) if row.kind != "call" else 1
    steady_us = (place.before + left) * place.mean_us // place.workers
    bound = place.bound
    if bound is None:
        return now_us + steady_us
    slow_us = max(0, bound.next_us - now_us) + (place.before + left - 1) * bound.period_us // bound.calls
    return now_us + max(steady_us, slow_us + place.mean_us)
