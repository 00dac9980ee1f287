"""Routes of queues: how each stands, and other words for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import unquote

from fastapi import Depends, Request, Response
from starlette.concurrency import run_in_threadpool

from clearway.api import tags
from clearway.api.body import read_json
from clearway.api.desk import TheDesk  # noqa: TC001  FastAPI reads the annotations while the program runs
from clearway.api.roles import guarded
from clearway.api.rows import amounts, plain, queue_row
from clearway.api.who import noted
from clearway.control import QueueRow
from clearway.model.asks import Look, SetQueue
from clearway.model.errors import ClearwayError, InputError, NotFoundError
from clearway.model.fleet import QueueSpec
from clearway.model.machine_words import read_queue
from clearway.model.verb_words import read_queue_change

if TYPE_CHECKING:
    from clearway.api.desk import Desk
    from clearway.model.asks import Standing

router = guarded()
DEFAULT = "default"  # the queue of jobs that name none


async def _name(request: Request) -> str:
    return unquote(request.path_params["queue"], errors="replace")


TheQueue = Annotated[str, Depends(_name)]


async def _standings(desk: Desk) -> dict[str, Standing]:
    """Return how each queue stands; nothing while the controller cannot say (its journal cannot be written)."""
    try:
        found: tuple[Standing, ...] = await desk.ask(Look())  # type: ignore[assignment]  # the answer to a Look
    except ClearwayError:
        return {}
    return {one.name: one for one in found}


def _row(row: QueueRow, standing: Standing | None) -> dict[str, Any]:
    """Return a queue with its words, its own jobs, and what it and all below it hold, want and may have."""
    told = {**queue_row(row), "total_use": None, "wants": None, "share": None, "past": None}
    if standing is not None:
        told["total_use"] = amounts(standing.use)
        told["wants"] = amounts(standing.wants)
        told["share"] = {standing.measure: plain(standing.share)}
        told["past"] = None if standing.past is None else {standing.measure: plain(standing.past)}
    return told


def _rows(desk: Desk, standings: dict[str, Standing]) -> dict[str, dict[str, Any]]:
    found = {DEFAULT: QueueRow(QueueSpec(DEFAULT)), **desk.board.queues}  # a copy, and there is always one queue
    return {name: _row(found[name], standings.get(name)) for name in sorted(found)}


def _told(raw: dict[str, Any]) -> dict[str, Any]:
    """Return what was said of a queue but its defaults: these may hold an environment with secrets."""
    return {word: value for word, value in raw.items() if word != "defaults"}


@router.get("/queues/{queue}")
async def queue(desk: TheDesk, queue: TheQueue) -> Response:
    """Show one queue."""
    rows = _rows(desk, await _standings(desk))
    if queue not in rows:
        raise NotFoundError(f"there is no queue {queue!r}")
    return tags.one(rows[queue])


@router.get("/queues")
async def queues(desk: TheDesk, request: Request) -> Response:
    """List queues with what each holds, wants and may have."""
    rows = _rows(desk, await _standings(desk))
    return tags.listed(request, {"queues": list(rows.values())})


@router.post("/queues")
async def set_queue(desk: TheDesk, request: Request, if_match: tags.IfMatch = None) -> Response:
    """Create a queue, or change it to just these words."""
    raw = await read_json(request)
    if not isinstance(raw, dict):
        raise InputError("body", raw, "a map of the words of a queue")
    spec = await run_in_threadpool(read_queue, raw)
    async with request.app.state.editing:
        tags.check(if_match, _rows(desk, {}).get(spec.name))
        await desk.ask(SetQueue(spec))
    noted(queue=spec.name, words=_told(raw))
    return tags.one(queue_row(desk.board.queues[spec.name]))


@router.post("/queues/{queue}")
async def change_queue(desk: TheDesk, queue: TheQueue, request: Request, if_match: tags.IfMatch = None) -> Response:
    """Create a queue, or change only the words that are given."""
    raw = await read_json(request)
    if not isinstance(raw, dict):
        raise InputError("body", raw, "a map of the words of a queue")
    change = await run_in_threadpool(read_queue_change, queue, raw)
    async with request.app.state.editing:
        tags.check(if_match, _rows(desk, {}).get(queue))
        await desk.ask(change)
    noted(queue=queue, words=_told(raw))
    return tags.one(_rows(desk, await _standings(desk))[queue])
