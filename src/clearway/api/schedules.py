"""Routes of schedules: set, list, look ahead, pause, resume, remove."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import unquote

from fastapi import Depends, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from clearway.api import tags
from clearway.api.admission import admit, defaults_for
from clearway.api.body import read_json
from clearway.api.desk import TheDesk, answer
from clearway.api.entry import check_runs
from clearway.api.flows import read_workflow
from clearway.api.moments import iso
from clearway.api.roles import guarded
from clearway.api.who import WHO, noted
from clearway.flow.schedule_words import read_schedule
from clearway.flow.ticks import row
from clearway.model.asks import LookSchedules, PauseSchedule, RemoveSchedule, SetSchedule
from clearway.model.errors import NotFoundError

if TYPE_CHECKING:
    from clearway.api.desk import Desk
    from clearway.model.asks import ScheduleView
    from clearway.model.flow import FlowSpec, ScheduleSpec

router = guarded()

MOST_TICKS = 100


async def _name(request: Request) -> str:
    return unquote(request.path_params["schedule"], errors="replace")


TheName = Annotated[str, Depends(_name)]


def _read(desk: Desk, raw: object) -> ScheduleSpec:
    """Read a schedule; its `workflow` is a map of words here."""
    words: dict[str, Any] = dict(raw) if isinstance(raw, dict) else {}
    flows: dict[str, FlowSpec] = {}
    if isinstance(words.get("workflow"), dict):
        flow = read_workflow(desk, words["workflow"])
        flows, words["workflow"] = {flow.name: flow}, flow.name
    job = words.get("job")
    queue = job.get("queue") if isinstance(job, dict) else None
    user = job.get("user") if isinstance(job, dict) else None
    spec = read_schedule(words or raw, flows, defaults_for(desk, queue, user))
    if spec.job is not None:
        admit(desk, spec.job)
        check_runs(desk, spec.job, "a job", f"schedule {spec.name}")
    return spec


def _row(view: ScheduleView) -> dict[str, Any]:
    return {
        "name": view.name, "cron": view.cron, "timezone": view.timezone, "paused": view.paused,
        "next": None if view.next_us is None else iso(view.next_us), "active": list(view.active),
        "last": view.last or None,
    }  # fmt: skip


async def _views(desk: Desk, name: str = "", ahead: int = 0) -> tuple[ScheduleView, ...]:
    found: tuple[ScheduleView, ...] = await desk.ask(LookSchedules(name, ahead))  # type: ignore[assignment]  # the answer to it
    return found


async def _rows(desk: Desk) -> list[dict[str, Any]]:
    return [_row(view) for view in await _views(desk)]


async def _view(desk: Desk, name: str, ahead: int = 0) -> ScheduleView:
    for view in await _views(desk, name, ahead):
        if view.name == name:
            return view
    raise NotFoundError(f"there is no schedule {name!r}")


async def _one(desk: Desk, name: str) -> Response:
    return tags.one(_row(await _view(desk, name)))


async def _check_mine(desk: Desk, name: str) -> None:
    """Raise NotAllowedError where a schedule of this name is another's."""
    for view in await _views(desk, name):
        if view.name == name:
            WHO.get().check_owns(view.owners, f"schedule {name}")


async def _my_name(request: Request, name: TheName) -> str:
    await _check_mine(request.app.state.desk, name)
    return name


MySchedule = Annotated[str, Depends(_my_name)]


@router.get("/schedules/{schedule}")
async def schedule(desk: TheDesk, name: TheName) -> Response:
    """Return one schedule."""
    return await _one(desk, name)


@router.get("/schedules/{schedule}/ticks")
async def ticks(desk: TheDesk, name: TheName, count: Annotated[int, Query(ge=1, le=MOST_TICKS)] = 5) -> Response:
    """Return one schedule with its next ticks, also those that are to be skipped (on excluded days, say)."""
    view = await _view(desk, name, count)
    return answer({**_row(view), "ticks": [row(tick) for tick in view.ahead]})


@router.get("/schedules")
async def schedules(desk: TheDesk, request: Request) -> Response:
    """List schedules with their next ticks and the runs that are there."""
    return tags.listed(request, {"schedules": await _rows(desk)})


@router.post("/schedules")
async def set_schedule(desk: TheDesk, request: Request, if_match: tags.IfMatch = None) -> Response:
    """Create or change a schedule: the body is a map of its words."""
    spec = await run_in_threadpool(_read, desk, await read_json(request))
    async with request.app.state.editing:
        await _check_mine(desk, spec.name)
        if if_match is not None:
            tags.check(if_match, next((row for row in await _rows(desk) if row["name"] == spec.name), None))
        await desk.ask(SetSchedule(spec))
    noted(schedule=spec.name)
    return await _one(desk, spec.name)


@router.post("/schedules/{schedule}/pause")
async def pause(desk: TheDesk, name: MySchedule) -> Response:
    """Have a schedule let its ticks pass."""
    await desk.ask(PauseSchedule(name))
    return await _one(desk, name)


@router.post("/schedules/{schedule}/resume")
async def resume(desk: TheDesk, name: MySchedule) -> Response:
    """Have a schedule fire again."""
    await desk.ask(PauseSchedule(name, paused=False))
    return await _one(desk, name)


@router.post("/schedules/{schedule}/remove")
async def remove(desk: TheDesk, name: MySchedule) -> Response:
    """Have a schedule no longer tick; its runs go on."""
    await desk.ask(RemoveSchedule(name))
    return answer({"name": name, "removed": True})
