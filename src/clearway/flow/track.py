"""Where a run of a workflow is. Changed only by applying records; what follows is decided in `flow.advance`."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from clearway.flow.expression import look_up, path_of
from clearway.flow.graph import Graph
from clearway.flow.json_text import joined, text_of, value_of
from clearway.flow.rules import Counts
from clearway.model.flow import NULL
from clearway.model.states import STEP_OVER, State, StepState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clearway.model.flow import FlowSpec, StepSpec
    from clearway.model.flow_events import FlowStopping, LoopEnded, PartEntered, StepAnswered, StepEnded
    from clearway.model.ids import FlowId, JobId
    from clearway.model.reasons import Reason

ALONE = -1
"""Instance number of a step that does not map."""

OF_JOB = {
    State.SUCCEEDED: StepState.SUCCEEDED, State.FAILED: StepState.FAILED, State.CANCELLED: StepState.CANCELLED,
    State.SKIPPED: StepState.SKIPPED,
}  # fmt: skip
"""How an instance ends by how its job ended."""

_FAILED = frozenset({StepState.FAILED, StepState.UPSTREAM_FAILED, StepState.CANCELLED})


class Instance:
    """One item of a step that maps, or a step itself: its job now, the passes it made, its newest result."""

    __slots__ = ("good", "job", "live", "result", "run", "state", "turn")

    def __init__(self) -> None:
        """Begin before the first pass. `run` is the run that took it up, `good` whether its last pass succeeded."""
        self.turn = self.run = 0
        self.good = False
        self.job: JobId | None = None
        self.live = False
        self.state: StepState | None = None
        self.result = NULL


class StepTrack:
    """One step of a run."""

    __slots__ = (
        "chosen",
        "ended",
        "failed",
        "input",
        "instances",
        "items",
        "live",
        "next",
        "passed",
        "reason",
        "result",
        "skipped",
        "spec",
        "state",
        "succeeded",
        "unchosen",
    )  # fmt: skip

    def __init__(self, spec: StepSpec) -> None:
        """Begin pending."""
        self.spec = spec
        self.instances: dict[int, Instance] = {}
        self.chosen: tuple[str, ...] | None = None
        self.reset()

    def reset(self) -> None:
        """Begin anew; what its instances came to is kept."""
        self.state, self.reason, self.unchosen = StepState.PENDING, None, ""
        self.input, self.items, self.result = NULL, None, NULL
        self.succeeded = self.failed = self.skipped = 0  # of those before it
        self.next, self.live, self.ended = 0, 0, 0
        self.passed: deque[int] = deque()

    state: StepState
    reason: Reason | None
    items: list[Any] | None
    unchosen: str
    """The step that did not choose this one, if any."""

    @property
    def over(self) -> bool:
        """Whether it is in a terminal state."""
        return self.state in STEP_OVER

    @property
    def counts(self) -> Counts:
        """How those before it stand."""
        return Counts(len(self.spec.after), self.succeeded, self.failed, self.skipped)

    @property
    def asks(self) -> bool:
        """Whether it waits for a person now."""
        return bool(self.spec.pause) and self.state == StepState.RUNNING and not self.ended

    @property
    def size(self) -> int:
        """How many instances it has."""
        return 1 if self.items is None else len(self.items)

    def number(self, place: int) -> int:
        """Return the instance at a place."""
        return ALONE if self.items is None else place

    def instance(self, item: int) -> Instance:
        """Return an instance, made when it is first asked for."""
        return self.instances.setdefault(item, Instance())


class FlowTrack:
    """One workflow and its present run."""

    def __init__(self, number: FlowId, spec: FlowSpec, at_us: int) -> None:
        """Begin run 1."""
        self.id, self.run = number, 0
        self.gate = ""
        self.steps: dict[str, StepTrack] = {}
        self.jobs: list[JobId] = []
        self.begin(spec, at_us)

    def begin(self, spec: FlowSpec, at_us: int) -> None:
        """Begin the next run: what has succeeded stays, the rest begins anew."""
        kept = self.steps
        self.spec, self.graph, self.began_us = spec, Graph(spec), at_us
        self.run += 1
        self.state: State | None = None
        self.reason: Reason | None = None
        self.stopping: FlowStopping | None = None
        self.error = StepTrack(spec.on_error) if spec.on_error else None
        self.steps = {step.name: kept.get(step.name, StepTrack(step)) for step in spec.steps}
        for step in spec.steps:
            track = self.steps[step.name]
            track.spec = step
            if track.state != StepState.SUCCEEDED:
                track.reset()
                if step.pause:
                    track.instances.clear()  # a person is asked anew
        self.left = sum(not track.over for track in self.steps.values())
        self.todo: dict[str, None] = dict.fromkeys(self.steps)
        for name in list(self.steps):
            if self.steps[name].over:
                self._pass_on(self.steps[name])

    def track(self, step: str) -> StepTrack:
        """Return a step by name; the step for a failure too."""
        return self.error if self.error is not None and step == self.error.spec.name else self.steps[step]

    # --- what records change -----------------------------------------------------------------

    def step_began(self, step: str, text: str, items: int) -> None:
        """Have a step run with this input."""
        track = self.track(step)
        track.state, track.input = StepState.RUNNING, text
        if items >= 0:
            track.items = self.items_of(track.spec) or []
        for item, one in track.instances.items():  # what an earlier run kept
            if (item == ALONE) != (track.items is None) or item >= track.size:
                continue
            if one.state == StepState.SUCCEEDED:
                one.run, track.ended = self.run, track.ended + 1
            elif one.good and track.spec.until:
                one.run = self.run
                track.passed.append(item)
        self.todo[step] = None

    def items_of(self, spec: StepSpec) -> Any:  # noqa: ANN401  whatever a step gave back
        """Return what a step maps over: its own list, or the result of another step."""
        return value_of(spec.each) if spec.each else self._at(spec.each_of)

    def part_entered(self, record: PartEntered) -> None:
        """Have a pass of an instance begin."""
        track = self.track(record.step)
        one = track.instance(record.item)
        one.turn, one.job, one.live, one.state, one.run = record.turn, record.job, True, None, self.run
        track.live += 1
        self.jobs.append(record.job)
        self._taken_up(track, record.item)

    def job_ended(self, step: str, item: int, state: State, result: str) -> None:
        """Take in how the job of a pass ended."""
        track = self.track(step)
        one = track.instance(item)
        one.live, one.good = False, state == State.SUCCEEDED
        track.live -= 1
        if state == State.SUCCEEDED:
            one.result = result or NULL
        if state == State.SUCCEEDED and track.spec.until:
            track.passed.append(item)
        else:
            self._settled(track, item, OF_JOB[state])
        self.todo[step] = None

    def answered(self, record: StepAnswered) -> None:
        """Take in what a person answered."""
        track = self.steps[record.step]
        track.instance(ALONE).result = record.value
        self._settled(track, ALONE, StepState.SUCCEEDED)
        self.todo[record.step] = None

    def loop_ended(self, record: LoopEnded) -> None:
        """Have an instance make no further pass."""
        track = self.track(record.step)
        track.instance(record.item).run = self.run
        self._taken_up(track, record.item)
        track.reason = record.reason or track.reason
        self._settled(track, record.item, record.state)
        self.todo[record.step] = None

    def _taken_up(self, track: StepTrack, item: int) -> None:
        track.next = max(track.next, item + 1, 1)
        if track.passed and track.passed[0] == item:
            track.passed.popleft()

    def _settled(self, track: StepTrack, item: int, state: StepState) -> None:
        track.instance(item).state = state
        track.ended += 1

    def step_ended(self, record: StepEnded) -> None:
        """Have a step be over, with the result that follows from its instances."""
        track = self.track(record.step)
        track.state, track.reason, track.chosen = record.state, record.reason, record.chosen
        track.result = self._result(track)
        if track is self.error:
            self.todo[record.step] = None
            return
        self.left -= 1
        self._pass_on(track)
        if not self.left:
            self.todo[record.step] = None

    def _pass_on(self, track: StepTrack) -> None:
        """Tell those behind a step how it ended."""
        for name in self.graph.followers[track.spec.name]:
            behind = self.steps[name]
            if track.state == StepState.SUCCEEDED:
                behind.succeeded += 1
            elif track.state == StepState.SKIPPED:
                behind.skipped += 1
            else:
                behind.failed += 1
            if track.chosen is not None and name not in track.chosen:
                behind.unchosen = track.spec.name
            self.todo[name] = None

    def _result(self, track: StepTrack) -> str:
        if track.spec.alias:
            return self.steps[track.spec.gather[0]].result
        if track.spec.job is None and not track.spec.pause:
            return joined([self.steps[name].result for name in track.spec.gather])
        if track.items is None:
            one = track.instances.get(ALONE)
            return one.result if one is not None and (track.state not in _FAILED or track.spec.until) else NULL
        ones = [track.instances.get(item) for item in range(len(track.items))]
        return joined([one.result if one and one.state == StepState.SUCCEEDED else NULL for one in ones])

    # --- what decisions read -----------------------------------------------------------------

    def input_of(self, spec: StepSpec) -> str:
        """Return what a step is handed: its arguments, or the results of those before it: one bare, several listed."""
        if spec.args:
            given = {arg.name: value_of(arg.value) if not arg.path else self._at(arg.path) for arg in spec.args}
            return text_of("args", given)
        if spec.each:
            return spec.each
        if spec.each_of:
            return text_of("each", self._at(spec.each_of))
        if len(spec.after) == 1:
            return self.steps[spec.after[0]].result
        return joined([self.steps[name].result for name in spec.after]) if spec.after else NULL

    def _at(self, path: str) -> Any:  # noqa: ANN401  whatever a step gave back
        return look_up(path_of("from", path), Results(self))

    def stop(self, record: FlowStopping) -> None:
        """Have no step start any more."""
        self.stopping = record
        self.todo.update(dict.fromkeys(name for name, step in self.steps.items() if not step.over))
        if self.error is not None and self.error.state == StepState.RUNNING:
            self.todo[self.error.spec.name] = None

    def end(self, state: State, reason: Reason | None) -> None:
        """Have the run be over."""
        self.state, self.reason = state, reason

    def live_jobs(self) -> list[JobId]:
        """Return the jobs of it that are not over, in order of entry."""
        steps = [*self.steps.values(), *([self.error] if self.error else [])]
        ones = (one for step in steps if step.live for one in step.instances.values())
        return sorted(one.job for one in ones if one.live and one.job is not None)


class Results(dict[str, "Callable[[], Any]"]):
    """The results of all steps by name, each worked out when it is asked for; beside them what else a place knows."""

    def __init__(self, track: FlowTrack, own: Mapping[str, Callable[[], Any]] | None = None) -> None:
        """`own` goes before the steps."""
        super().__init__(own or {})
        self._track = track

    def __contains__(self, name: object) -> bool:
        """Whether there is a value of this name."""
        return super().__contains__(name) or name in self._track.steps

    def __missing__(self, name: str) -> Callable[[], Any]:
        """Return how the result of a step is worked out."""
        return lambda: value_of(self._track.steps[name].result)
