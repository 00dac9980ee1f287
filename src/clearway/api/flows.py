"""Routes of workflows: enter, list, show, cancel, run again."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import unquote

from fastapi import Depends, Request, Response
from msgspec.structs import replace
from starlette.concurrency import run_in_threadpool

from clearway.api.admission import admit, defaults_for
from clearway.api.body import read_json, read_json_or
from clearway.api.desk import TheDesk, answer
from clearway.api.entry import check_runs
from clearway.api.flow_rows import FlowRows
from clearway.api.roles import guarded
from clearway.api.who import WHO, noted
from clearway.flow.json_text import MOST_HANDED, text_of, value_of
from clearway.flow.reworded import reworded
from clearway.flow.words import read_flow
from clearway.model import values as v
from clearway.model.asks import CancelFlow, LookFlows, RerunFlow, ResumeFlow, SkipStep, SubmitFlow
from clearway.model.errors import ConflictError, InputError, NotFoundError
from clearway.model.flow import NULL
from clearway.model.words import Word, read_words

if TYPE_CHECKING:
    from clearway.api.desk import Desk
    from clearway.model.asks import FlowView
    from clearway.model.flow import FlowSpec
    from clearway.model.ids import FlowId

router = guarded()


async def _ref(request: Request) -> str:
    return unquote(request.path_params["flow"], errors="replace")


_ANSWER_WORDS = {
    "step": Word(v.name, "text", "the step that waits"),
    "value": Word(text_of, "nested", "its result"),
}
_RETRY_WORDS = {
    "from": Word(v.names, "names", "steps that run anew, with all behind them"),
    "skip": Word(v.names, "names", "steps that are left out"),
    "set": Word(lambda _, value: value, "nested", "other words for steps: {step: {word: value}}"),
}
_SKIP_WORDS = {"step": Word(v.name, "text", "the step")}
TheRef = Annotated[str, Depends(_ref)]


def read_workflow(desk: Desk, raw: object) -> FlowSpec:
    """Read a workflow whose steps all run something."""
    flow = read_flow(raw, lambda queue: defaults_for(desk, queue))
    for step, job in flow.jobs():
        admit(desk, job)
        check_runs(desk, job, "a step", f"workflow {flow.name}: step {step}")
    return replace(flow, words=text_of("workflow", raw, MOST_HANDED))


async def _views(desk: Desk, ref: str = "") -> tuple[FlowView, ...]:
    """Return the workflow of a name or number with those inside it; without one, or where there is none, all."""
    found: tuple[FlowView, ...] = await desk.ask(LookFlows(ref))  # type: ignore[assignment]  # the answer to it
    return found if found or not ref else await _views(desk)


def _found(views: tuple[FlowView, ...], ref: str) -> FlowView:
    """Return the workflow of a number (`id:N`, `N`), or the newest one of a name: no name hides a number."""
    newest = views[::-1]
    for view in (*(one for one in newest if ref in {str(one.id), f"id:{one.id}"}), *newest):
        if ref in {view.name, str(view.id), f"id:{view.id}"}:
            return view
    near = get_close_matches(ref, {view.name for view in newest if view.part_of is None}, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise NotFoundError(f"there is no workflow {ref!r} among those at hand{hint}")


async def _row(desk: Desk, flow: FlowId) -> dict[str, Any]:
    views = await _views(desk, f"id:{flow}")
    return FlowRows(desk, views).row(_found(views, f"id:{flow}"))


async def _mine(desk: Desk, ref: str) -> FlowView:
    """Return a workflow that whoever asks may change."""
    view = _found(await _views(desk, ref), ref)
    WHO.get().check_owns(view.owners, f"workflow {view.name}")
    return view


@router.post("/flows")
async def submit(desk: TheDesk, request: Request) -> Response:
    """Enter a workflow: the body is a map of its words."""
    spec = await run_in_threadpool(read_workflow, desk, await read_json(request))
    flow: FlowId = await desk.ask(SubmitFlow(spec))  # type: ignore[assignment]
    noted(flow=flow)
    return answer(await _row(desk, flow), 201)


@router.get("/flows")
async def flows(desk: TheDesk) -> Response:
    """List workflows, newest first."""
    views = await _views(desk)
    return await run_in_threadpool(lambda: answer({"flows": FlowRows(desk, views).all()}))


@router.get("/flows/{flow}")
async def flow(desk: TheDesk, ref: TheRef) -> Response:
    """Return one workflow with its steps."""
    views = await _views(desk, ref)
    return await run_in_threadpool(lambda: answer(FlowRows(desk, views).whole(_found(views, ref))))


@router.post("/flows/{flow}/cancel")
async def cancel(desk: TheDesk, ref: TheRef) -> Response:
    """Stop what runs of a workflow, and let nothing else of it start."""
    view = await _mine(desk, ref)
    await desk.ask(CancelFlow(view.id, desk.login))
    return answer(await _row(desk, view.id))


@router.post("/flows/{flow}/resume")
async def resume(desk: TheDesk, ref: TheRef, request: Request) -> Response:
    """Answer a step that waits for a person: the body is `{"value": .., "step": ..}`; without `step` the only one.

    A step of a workflow inside it is called as `asks` of the workflow calls it.
    """
    view, given = await _mine(desk, ref), read_words("body", await read_json(request), _ANSWER_WORDS)
    flow, step = FlowRows(desk, await _views(desk, f"id:{view.id}")).asking(view, given.get("step", ""))
    await desk.ask(ResumeFlow(flow, step, given.get("value", NULL), desk.login))
    return answer(await _row(desk, view.id))


@router.post("/flows/{flow}/retry")
async def retry(desk: TheDesk, ref: TheRef, request: Request) -> Response:
    """Run a workflow again that did not succeed, from what has succeeded on.

    The body may be `{"from": [steps that run anew with all behind them], "skip": [steps], "set": {step: {word: ..}}}`.
    """
    view = await _mine(desk, ref)
    given = read_words("body", await read_json_or(request, {}), _RETRY_WORDS)
    spec = await run_in_threadpool(_said_otherwise, desk, view, given["set"]) if "set" in given else None
    await desk.ask(RerunFlow(view.id, spec, desk.login, given.get("from", ()), given.get("skip", ())))
    return answer(await _row(desk, view.id))


def _said_otherwise(desk: Desk, view: FlowView, said: object) -> FlowSpec:
    if not view.words:
        raise ConflictError(f"workflow {view.name}: its words are not known any more; submit it anew")
    return replace(read_workflow(desk, reworded(value_of(view.words), said, view.name)), name=view.name)


@router.post("/flows/{flow}/skip")
async def skip(desk: TheDesk, ref: TheRef, request: Request) -> Response:
    """Have a step left out that is not over: the body is `{"step": ..}`."""
    view, given = await _mine(desk, ref), read_words("body", await read_json(request), _SKIP_WORDS)
    if "step" not in given:
        raise InputError("step", None, "the step to leave out", "body")
    await desk.ask(SkipStep(view.id, given["step"], desk.login))
    return answer(await _row(desk, view.id))
