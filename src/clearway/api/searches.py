"""Routes of searches: enter, list, show, cancel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import unquote

from fastapi import Depends, Request, Response
from starlette.concurrency import run_in_threadpool

from clearway.api.admission import admit, defaults_for
from clearway.api.body import read_json
from clearway.api.desk import TheDesk, answer
from clearway.api.entry import check_runs
from clearway.api.roles import guarded
from clearway.api.who import WHO, noted
from clearway.flow.json_text import value_of
from clearway.flow.search import DRAWN, SAMPLERS
from clearway.flow.search_words import read_search
from clearway.model.asks import CancelSearch, LookSearches, SubmitSearch
from clearway.model.errors import InputError, NotFoundError
from clearway.observe.words import sentence

if TYPE_CHECKING:
    from clearway.api.desk import Desk
    from clearway.model.asks import SearchView, TrialView
    from clearway.model.flow import SearchSpec

router = guarded()


async def _name(request: Request) -> str:
    return unquote(request.path_params["search"], errors="replace")


TheName = Annotated[str, Depends(_name)]


def _read(desk: Desk, raw: object) -> SearchSpec:
    """Read a search whose trials run something."""
    job = raw.get("job") if isinstance(raw, dict) else None
    queue = job.get("queue") if isinstance(job, dict) else None
    spec = read_search(raw, defaults_for(desk, queue, job.get("user") if isinstance(job, dict) else None))
    admit(desk, spec.job)
    if spec.sampler in DRAWN and (lacks := desk.controller.points.lacks(spec.sampler)):
        rule = f"{', '.join(SAMPLERS)}; this one needs what the controller lacks: pip install '{lacks}'"
        raise InputError("sampler", spec.sampler, rule, f"search {spec.name}")
    check_runs(desk, spec.job, "a trial", f"search {spec.name}")
    return spec


async def _views(desk: Desk, name: str = "") -> tuple[SearchView, ...]:
    found: tuple[SearchView, ...] = await desk.ask(LookSearches(name))  # type: ignore[assignment]  # the answer to it
    return found


async def _find(desk: Desk, name: str) -> SearchView:
    for view in await _views(desk, name) if name else ():
        return view
    raise NotFoundError(f"there is no search {name!r} among those at hand")


def _row(view: SearchView) -> dict[str, Any]:
    reason = None if view.reason is None else {"code": str(view.reason.code), "text": sentence(view.reason)}
    return {
        "name": view.name, "state": view.state, "wanted": view.wanted, "completed": view.completed,
        "failed": view.failed, "stopped": view.stopped, "direction": view.direction,
        "reason": reason, "best": None if view.best is None else _trial(view, view.best),
    }  # fmt: skip


def _trial(view: SearchView, number: int) -> dict[str, Any]:
    return _shown(view.name, view.trials[number - 1])


def _shown(search: str, trial: TrialView) -> dict[str, Any]:
    return {
        "number": trial.number, "point": value_of(trial.point), "job": f"{search}.{trial.number}", "id": trial.job,
        "state": trial.state or None, "value": value_of(trial.value) if trial.value else None,
        "reports": [{"step": step, "value": value_of(value)} for step, value in trial.reports],
    }  # fmt: skip


def _whole(desk: Desk, view: SearchView) -> dict[str, Any]:
    """Return a search with its trials; those that are not over are as their jobs are."""
    rows = [_shown(view.name, trial) for trial in view.trials]
    for row in rows:
        if row["state"] is None:
            job = desk.board.jobs.get(row["id"])
            row["state"] = "pending" if job is None or job.started_us is None else "running"
    return {**_row(view), "trials": rows}


@router.post("/searches")
async def submit(desk: TheDesk, request: Request) -> Response:
    """Enter a search: the body is a map of its words. It takes the place of one's own of this name that is over."""
    spec = await run_in_threadpool(_read, desk, await read_json(request))
    async with request.app.state.editing:
        for view in await _views(desk, spec.name):
            WHO.get().check_owns(view.owners, f"search {spec.name}")
        await desk.ask(SubmitSearch(spec))
    noted(search=spec.name)
    return answer(_row(await _find(desk, spec.name)), 201)


@router.get("/searches")
async def searches(desk: TheDesk) -> Response:
    """List searches, newest first, with the best trial of each."""
    views = await _views(desk)
    return await run_in_threadpool(lambda: answer({"searches": [_row(view) for view in reversed(views)]}))


@router.get("/searches/{search}")
async def search(desk: TheDesk, name: TheName) -> Response:
    """Return one search with its trials."""
    view = await _find(desk, name)
    return await run_in_threadpool(lambda: answer(_whole(desk, view)))


@router.post("/searches/{search}/cancel")
async def cancel(desk: TheDesk, name: TheName) -> Response:
    """Stop the trials that run, and let no other enter."""
    view = await _find(desk, name)
    WHO.get().check_owns(view.owners, f"search {name}")
    await desk.ask(CancelSearch(name, desk.login))
    return answer(_row(await _find(desk, name)))
