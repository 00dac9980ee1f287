"""Routes by which people and their programs look at calls."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

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
    row, part, cause = await run_in_threadpool(_looked_up, desk, call)
    place = await asyncio.wrap_future(desk.calls.place(part))
    return answer(await run_in_threadpool(_told, desk, Asked(row, part, cause, place)))


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


class Asked(NamedTuple):
    """What is known of a call that is asked about.

    `part`: the call that it waits for, itself where it is one; `cause`: that whose failure is its own; `place`: where
    `part` stands.
    """

    row: CallRow
    part: CallRow
    cause: CallRow | None
    place: Place


def _looked_up(desk: Desk, call: int) -> tuple[CallRow, CallRow, CallRow | None]:
    with desk.calls.reading() as connection:
        row = read.row_of(connection, call)
        failed = read.failure_of(connection, call) if row.state == "failed" and row.kind != "call" else None
        cause = None if failed is None else read.row_of(connection, failed.call)
        return row, read.open_part(connection, row), cause


def _told(desk: Desk, asked: Asked) -> dict[str, Any]:
    row, place = asked.row, asked.place
    lease = next((found for job in place.waiting if (found := desk.board.jobs.get(JobId(job)))), None)
    waits = asked.part.state == "pending" and not place.workers
    reasons = [*waits_for(desk, lease)] if lease is not None and waits else []
    told = [{"code": str(reason.code), "text": sentence(reason, FACE.moment)} for reason in reasons]
    now_us = desk.controller.now_us()
    return {
        "state": row.state,
        "text": _text(desk, asked, "; ".join(one["text"] for one in told), now_us),
        "before": place.before,
        "workers": place.workers,
        "waits_for_job": lease.id if told and lease is not None else None,
        "reasons": told,
        "expected_end": iso_or_none(_expected_us(asked, now_us)),
    }


def _text(desk: Desk, asked: Asked, reasons: str, now_us: int) -> str:
    row, part = asked.row, asked.part
    if row.state in {"succeeded", "cancelled"}:
        return f"it {'has succeeded' if row.state == 'succeeded' else 'was cancelled'}"
    if row.state == "failed":
        return _failed(desk, row, asked.cause)
    waits = _waits(part, asked.place, reasons, now_us)
    if row.kind == "call":
        return waits
    over = f"{row.over} of its {counted(row.total, 'part')} {'is' if row.over == 1 else 'are'} over"
    return (
        f"{over}; {waits}" if part.id == row.id else f"{over}; of call {part.id} ({desk.calls.name_of(part)}): {waits}"
    )


def _failed(desk: Desk, row: CallRow, cause: CallRow | None) -> str:
    of = row if cause is None else cause
    where = "" if cause is None else f", since call {cause.id} ({desk.calls.name_of(cause)}) has"
    many = f"; {row.failed} of its {counted(row.total, 'part')} failed" if row.kind not in {"call", "chain"} else ""
    return (
        f"it has failed{where}"
        + ("" if of.problem is None else f": {of.problem.types[0]}: {of.problem.message}")
        + many
    )


def _waits(row: CallRow, place: Place, reasons: str, now_us: int) -> str:
    if row.state == "running" and row.kind == "call":
        return f"it is in the hand of the worker that is job {row.job}, attempt {row.job_attempt}"
    if row.due_us is not None:
        times = counted(row.failures, "time")
        return f"it failed {times}, and is tried again at {FACE.moment(max(row.due_us, now_us))}"
    are = "is" if place.before == 1 else "are"
    before = f"{counted(place.before, 'call')} like it {are} before it{_rate(place.bound, now_us)}"
    if place.workers:
        return f"{before}; {counted(place.workers, 'worker')} {'works' if place.workers == 1 else 'work'} on them"
    return f"{before}; a worker waits for a place: {reasons}" if reasons else f"{before}; a worker is being started"


def _rate(bound: Bound | None, now_us: int) -> str:
    if bound is None:
        return ""
    most = rate_text((bound.calls, bound.period_us))
    following = f"the next at {FACE.moment(bound.next_us)}" if bound.next_us > now_us else "and the next may go now"
    return f"; queue {bound.queue!r} hands over {most} at most, {following}"


def _expected_us(asked: Asked, now_us: int) -> int | None:
    """Return when it is expected to be over; None where nothing is known of how long calls like it take."""
    row, place = asked.row, asked.place
    if row.ended_us is not None or not place.workers or place.took_us is None or row.kind in {"chain", "group"}:
        return None
    if row.kind == "call" and row.state == "running":
        return None if row.started_us is None else max(now_us, row.started_us + place.took_us)
    left = max(row.total - row.over, 1) if row.kind != "call" else 1
    steady_us = (place.before * place.mean_us + left * place.took_us) // place.workers
    bound = place.bound
    if bound is None:
        return now_us + max(steady_us, place.took_us)
    slow_us = max(0, bound.next_us - now_us) + (place.before + left - 1) * bound.period_us // bound.calls
    return now_us + max(steady_us, slow_us + place.took_us)


def counted(count: int, what: str) -> str:
    """Return a number with its noun: `1 worker`, `2 workers`."""
    return f"{count} {what}{'' if count == 1 else 's'}"
