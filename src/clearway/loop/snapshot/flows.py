"""Workflows in a snapshot: their forms, how they are taken down and built again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from clearway.flow.json_text import value_of
from clearway.flow.track import FlowTrack, Instance
from clearway.loop.flow_state import Part
from clearway.model.flow import NULL, FlowSpec
from clearway.model.flow_events import FlowStopping
from clearway.model.ids import FlowId, JobId
from clearway.model.reasons import Reason
from clearway.model.states import State, StepState

if TYPE_CHECKING:
    from clearway.flow.track import StepTrack
    from clearway.loop.flow_state import Flows


class InstanceKept(msgspec.Struct, frozen=True, omit_defaults=True):
    """A `flow.track.Instance`, slot by slot; `item` is its number in its step."""

    item: int
    turn: int = 0
    run: int = 0
    good: bool = False
    job: JobId | None = None
    flow: FlowId | None = None
    live: bool = False
    state: StepState | None = None
    result: str = NULL


class StepKept(msgspec.Struct, frozen=True, omit_defaults=True):
    """A `flow.track.StepTrack`, slot by slot; `items` as JSON, "" for none."""

    name: str
    state: StepState = StepState.PENDING
    reason: Reason | None = None
    chosen: tuple[str, ...] | None = None
    unchosen: str = ""
    skip: Reason | None = None
    input: str = NULL
    result: str = NULL
    succeeded: int = 0
    failed: int = 0
    skipped: int = 0
    next: int = 0
    live: int = 0
    ended: int = 0
    items: str = ""
    passed: tuple[int, ...] = ()
    instances: tuple[InstanceKept, ...] = ()


class FlowKept(msgspec.Struct, frozen=True, omit_defaults=True):
    """A workflow and its present run. `todo`: the steps that the next turn looks at."""

    id: FlowId
    spec: FlowSpec
    began_us: int
    run: int = 1
    gate: str = ""
    jobs: tuple[JobId, ...] = ()
    state: State | None = None
    reason: Reason | None = None
    stopping: FlowStopping | None = None
    left: int = 0
    steps: tuple[StepKept, ...] = ()
    error: StepKept | None = None
    undos: tuple[StepKept, ...] = ()
    todo: tuple[str, ...] = ()


class FlowsKept(msgspec.Struct, frozen=True, omit_defaults=True):
    """All workflows, what each job is of them, and each of those inside others. `stirred`: what is looked at next."""

    tracks: tuple[FlowKept, ...] = ()
    names: dict[str, FlowId] = {}
    next: int = 1
    parts: tuple[tuple[JobId, FlowId, str, int], ...] = ()
    loose: tuple[JobId, ...] = ()
    over: tuple[FlowId, ...] = ()
    stirred: tuple[FlowId, ...] = ()
    inner: tuple[tuple[FlowId, FlowId, str, int], ...] = ()


_STEP = ("state", "reason", "chosen", "unchosen", "skip", "input", "result", "succeeded", "failed", "skipped", "next",
         "live", "ended")  # fmt: skip
_INSTANCE = ("turn", "run", "good", "job", "flow", "live", "state", "result")
_TRACK = ("run", "gate", "state", "reason", "stopping", "left")


def take_flows(flows: Flows) -> FlowsKept:
    """Return what is known of workflows, but for the jobs that can be run again."""
    loose, over = flows.taken()
    return FlowsKept(
        tuple(_track(track) for track in flows.tracks.values()),
        dict(flows.names),
        flows.next,
        tuple((job, *part) for job, part in flows.parts.items()),
        loose,
        over,
        tuple(flows.stirred),
        tuple((flow, *part) for flow, part in flows.inner.items()),
    )


def _track(track: FlowTrack) -> FlowKept:
    return FlowKept(
        track.id,
        track.spec,
        track.began_us,
        **_of(track, _TRACK),
        jobs=tuple(track.jobs),
        steps=tuple(_step(step) for step in track.steps.values()),
        error=None if track.error is None else _step(track.error),
        undos=tuple(_step(undo) for undo in track.undos.values()),
        todo=tuple(track.todo),
    )


def _step(step: StepTrack) -> StepKept:
    return StepKept(
        step.spec.name,
        **_of(step, _STEP),
        items="" if step.items is None else msgspec.json.encode(step.items).decode(),
        passed=tuple(step.passed),
        instances=tuple(InstanceKept(item, **_of(one, _INSTANCE)) for item, one in step.instances.items()),
    )


def _of(one: object, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(one, name) for name in names}


def restore_flows(flows: Flows, kept: FlowsKept) -> None:
    """Have workflows stand as they were kept."""
    flows.tracks = {one.id: _track_again(one) for one in kept.tracks}
    flows.names, flows.next = dict(kept.names), kept.next
    flows.parts = {job: Part(flow, step, item) for job, flow, step, item in kept.parts}
    flows.inner = {inner: Part(flow, step, item) for inner, flow, step, item in kept.inner}
    flows.stirred = dict.fromkeys(kept.stirred)
    flows.put_back(kept.loose, kept.over)


def _track_again(kept: FlowKept) -> FlowTrack:
    track = FlowTrack(kept.id, kept.spec, kept.began_us)
    _set(track, kept, _TRACK)
    track.jobs = list(kept.jobs)
    for one in kept.steps:
        _step_again(track.steps[one.name], one)
    if kept.error is not None and track.error is not None:
        _step_again(track.error, kept.error)
    for undo in kept.undos:
        _step_again(track.undos[undo.name], undo)
    track.todo = dict.fromkeys(kept.todo)
    return track


def _step_again(step: StepTrack, kept: StepKept) -> None:
    _set(step, kept, _STEP)
    step.items = value_of(kept.items) if kept.items else None
    step.passed.extend(kept.passed)
    for one in kept.instances:
        instance = step.instances[one.item] = Instance()
        _set(instance, one, _INSTANCE)


def _set(one: object, kept: object, names: tuple[str, ...]) -> None:
    for name in names:
        setattr(one, name, getattr(kept, name))
