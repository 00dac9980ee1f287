"""Routes of workflows: enter, list, show, cancel, run again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import unquote

from fastapi import Depends, Request, Response
from msgspec.structs import replace

from clearway.api.admission import admit, defaults_for
from clearway.api.body import read_json, read_json_or
from clearway.api.desk import TheDesk, answer
from clearway.api.moments import iso
from clearway.api.roles import guarded
from clearway.api.who import WHO, noted
from clearway.flow.json_text import text_of, value_of
from clearway.flow.reworded import reworded
from clearway.flow.words import read_flow
from clearway.model import values as v
from clearway.model.asks import CancelFlow, LookFlows, RerunFlow, ResumeFlow, SkipStep, SubmitFlow
from clearway.model.errors import ConflictError, InputError, NotFoundError
from clearway.model.flow import NULL
from clearway.model.words import Word, read_words
from clearway.observe.words import sentence

if TYPE_CHECKING:
    from clearway.api.desk import Desk
    from clearway.model.asks import FlowView, StepView
    from clearway.model.flow import FlowSpec

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
        if not job.run:
            raise InputError("run", None, "a step has a command to run", f"workflow {flow.name}: step {step}")
        if not job.workdir.startswith("/"):
            raise InputError("workdir", job.workdir, "a whole path: the controller runs in another directory")
        admit(desk, job)
    return replace(flow, words=text_of("workflow", raw))


async def _views(desk: Desk) -> tuple[FlowView, ...]:
    found: tuple[FlowView, ...] = await desk.ask(LookFlows())  # type: ignore[assignment]  # the answer to it
    return found


async def _find(desk: Desk, ref: str) -> FlowView:
    """Return the workflow of a number (`id:N`, `N`), or the newest one of a name: no name hides a number."""
    views = (await _views(desk))[::-1]
    for view in (*(one for one in views if ref in {str(one.id), f"id:{one.id}"}), *views):
        if ref in {view.name, str(view.id), f"id:{view.id}"}:
            return view
    raise NotFoundError(f"there is no workflow {ref!r} among those at hand")


async def _mine(desk: Desk, ref: str) -> FlowView:
    """Return a workflow that whoever asks may change."""
    view = await _find(desk, ref)
    WHO.get().check_owns(view.owners, f"workflow {view.name}")
    return view


def _row(view: FlowView) -> dict[str, Any]:
    counts: dict[str, int] = {}
    for step in view.steps:
        counts[step.state] = counts.get(step.state, 0) + 1
    reason = None if view.reason is None else {"code": str(view.reason.code), "text": sentence(view.reason)}
    return {
        "id": view.id, "name": view.name, "state": view.state, "run": view.run, "began": iso(view.began_us),
        "reason": reason, "steps": counts, "part_of": view.part_of,
    }  # fmt: skip


def _step(step: StepView) -> dict[str, Any]:
    reason = None if step.reason is None else {"code": str(step.reason.code), "text": sentence(step.reason)}
    return {
        "name": step.name, "state": step.state, "after": list(step.after), "input": value_of(step.input),
        "result": value_of(step.result), "reason": reason, "jobs": step.jobs, "until": step.until or None,
        "pause": step.pause or None, "size": step.size, "ended": step.ended,
    }  # fmt: skip


@router.post("/flows")
async def submit(desk: TheDesk, request: Request) -> Response:
    """Enter a workflow: the body is a map of its words."""
    flow = await desk.ask(SubmitFlow(read_workflow(desk, await read_json(request))))
    noted(flow=flow)
    return answer(_row(await _find(desk, f"id:{flow}")), 201)


@router.get("/flows")
async def flows(desk: TheDesk) -> Response:
    """List workflows, newest first."""
    return answer({"flows": [_row(view) for view in reversed(await _views(desk))]})


@router.get("/flows/{flow}")
async def flow(desk: TheDesk, ref: TheRef) -> Response:
    """Return one workflow with its steps."""
    view = await _find(desk, ref)
    return answer({**_row(view), "steps": [_step(step) for step in view.steps]})


@router.post("/flows/{flow}/cancel")
async def cancel(desk: TheDesk, ref: TheRef) -> Response:
    """Stop what runs of a workflow, and let nothing else of it start."""
    view = await _mine(desk, ref)
    await desk.ask(CancelFlow(view.id, desk.login))
    return answer(_row(await _find(desk, f"id:{view.id}")))


@router.post("/flows/{flow}/resume")
async def resume(desk: TheDesk, ref: TheRef, request: Request) -> Response:
    """Answer a step that waits for a person: the body is `{"value": .., "step": ..}`; without `step` the only one."""
    view, given = await _mine(desk, ref), read_words("body", await read_json(request), _ANSWER_WORDS)
    await desk.ask(ResumeFlow(view.id, given.get("step", ""), given.get("value", NULL), desk.login))
    return answer(_row(await _find(desk, f"id:{view.id}")))


@router.post("/flows/{flow}/retry")
async def retry(desk: TheDesk, ref: TheRef, request: Request) -> Response:
    """Run a workflow again that did not succeed, from what has succeeded on.

    The body may be `{"from": [steps that run anew with all behind them], "skip": [steps], "set": {step: {word: ..}}}`.
    """
    view = await _mine(desk, ref)
    given = read_words("body", await read_json_or(request, {}), _RETRY_WORDS)
    spec = _said_otherwise(desk, view, given["set"]) if "set" in given else None
    await desk.ask(RerunFlow(view.id, spec, desk.login, given.get("from", ()), given.get("skip", ())))
    return answer(_row(await _find(desk, f"id:{view.id}")))


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
    return answer(_row(await _find(desk, f"id:{view.id}")))
