"""Where a run of a workflow is. Changed only by applying records; what follows is decided in `flow.advance`."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from clearway.flow.expression import look_up, path_of
from clearway.flow.graph import Graph
from clearway.flow.json_text import MOST_HANDED, joined, mapped, text_of, value_of
from clearway.flow.rules import Counts
from clearway.model.errors import InputError
from clearway.model.flow import NULL, UNDO, StepSpec
from clearway.model.reasons import Code, Reason, because
from clearway.model.states import STEP_OVER, State, StepState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from clearway.model.flow import Arg, FlowSpec, PartOf
    from clearway.model.flow_events import FlowRerun, FlowStopping, LoopEnded, PartEntered, StepAnswered, StepEnded
    from clearway.model.ids import FlowId, JobId

INPUT = "input"
"""What an expression calls that which its workflow was handed, where no step has this name."""
ALONE = -1
"""Instance number of a step that does not map."""

OF_JOB = {
    State.SUCCEEDED: StepState.SUCCEEDED, State.FAILED: StepState.FAILED, State.CANCELLED: StepState.CANCELLED,
    State.SKIPPED: StepState.SKIPPED,
}  # fmt: skip
"""How an instance ends by how its job ended."""

_FAILED = frozenset({StepState.FAILED, StepState.UPSTREAM_FAILED, StepState.CANCELLED})


class Instance:
    """One item of a step that maps, or a step itself: its job or workflow now, its passes, its newest result."""

    __slots__ = ("flow", "good", "job", "live", "result", "run", "state", "turn")

    def __init__(self) -> None:
        """Begin before the first pass. `run` is the run that took it up, `good` whether its last pass succeeded."""
        self.turn = self.run = 0
        self.good = False
        self.job: JobId | None = None
        self.flow: FlowId | None = None
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
        "skip",
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
        self.state, self.reason, self.unchosen, self.skip = StepState.PENDING, None, "", None
        self.input, self.items, self.result = NULL, None, NULL
        self.succeeded = self.failed = self.skipped = 0  # of those before it
        self.next, self.live, self.ended = 0, 0, 0
        self.passed: deque[int] = deque()

    state: StepState
    reason: Reason | None
    items: list[Any] | None
    skip: Reason | None
    """Why a person has it left out, if so."""
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

    def again(self, record: FlowRerun) -> None:
        """Begin the next run as a record says."""
        undone = (name.removesuffix(UNDO) for name, undo in self.undos.items() if undo.instances)
        for name in dict.fromkeys((*record.anew, *undone)):
            for behind in (name, *self.graph.behind(name)):
                self.steps.pop(behind, None)
        self.begin(record.spec, record.at_us)
        for name in record.skip:
            self.steps[name].skip = because(Code.SKIPPED_BY, by=record.by)

    def begin(self, spec: FlowSpec, at_us: int) -> None:
        """Begin the next run: what has succeeded stays, the rest begins anew."""
        kept = self.steps
        self.spec, self.graph, self.began_us = spec, Graph(spec), at_us
        self.run += 1
        self.state: State | None = None
        self.reason: Reason | None = None
        self.stopping: FlowStopping | None = None
        self.error = StepTrack(spec.on_error) if spec.on_error else None
        undos = (StepSpec(step.name + UNDO, step.undo) for step in reversed(spec.steps) if step.undo)
        self.undos = {undo.name: StepTrack(undo) for undo in undos}
        self.steps = {step.name: kept.get(step.name, StepTrack(step)) for step in spec.steps}
        for step in spec.steps:
            track = self.steps[step.name]
            if (track.spec.each, track.spec.each_of) != (step.each, step.each_of):
                track.instances.clear()  # they were those of other items
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
        """Return a step by name; what runs after a failure too."""
        if self.error is not None and step == self.error.spec.name:
            return self.error
        return self.undos[step] if step in self.undos else self.steps[step]

    def tails(self) -> list[StepTrack]:
        """Return what runs after a failure, in this order, where it applies: what takes steps back, and `on_error`."""
        return [*self.undos.values(), *([self.error] if self.error is not None else [])]

    def is_tail(self, step: StepTrack) -> bool:
        """Return whether a step runs only after a failure."""
        return step is self.error or step.spec.name in self.undos

    def applies(self, tail: StepTrack) -> bool:
        """Return whether something that runs after a failure applies: what took place is taken back, nothing else."""
        return tail is self.error or self.steps[tail.spec.name.removesuffix(UNDO)].state == StepState.SUCCEEDED

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

    def flow_entered(self, part: PartOf, flow: FlowId) -> None:
        """Have a pass of an instance begin that is a workflow."""
        track = self.track(part.step)
        one = track.instance(part.item)
        one.turn, one.flow, one.live, one.state, one.run = part.turn, flow, True, None, self.run
        track.live += 1
        self._taken_up(track, part.item)

    def part_ended(self, step: str, item: int, state: State, result: str) -> None:
        """Take in how the job or workflow of a pass ended."""
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
        while track.next < track.size:
            one = track.instances.get(track.number(track.next))
            if one is None or one.run != self.run:
                break
            track.next += 1
        if track.passed and track.passed[0] == item:
            track.passed.popleft()

    def _settled(self, track: StepTrack, item: int, state: StepState) -> None:
        track.instance(item).state = state
        track.ended += 1

    def step_ended(self, record: StepEnded) -> None:
        """Have a step be over, with the result that follows from its instances."""
        track = self.track(record.step)
        track.state, track.reason, track.chosen = record.state, record.reason, record.chosen
        track.result = self._kept(track)
        if self.is_tail(track):
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

    def _kept(self, track: StepTrack) -> str:
        if track.state == StepState.SKIPPED and track.skip is not None:
            return NULL
        try:
            return self.result_of(track)
        except InputError:
            return NULL

    def result_of(self, track: StepTrack) -> str:
        """Return what a step comes to by how its instances stand; InputError where that is too long to be kept."""
        if track.spec.alias:
            return self.steps[track.spec.gather[0]].result
        if track.spec.gathers:
            return joined("result", (self.steps[name].result for name in track.spec.gather))
        if track.items is None:
            one = track.instances.get(ALONE)
            return one.result if one is not None and (track.state not in _FAILED or track.spec.until) else NULL
        ones = (track.instances.get(item) for item in range(len(track.items)))
        return joined("result", (one.result if one and one.state == StepState.SUCCEEDED else NULL for one in ones))

    # --- what decisions read -----------------------------------------------------------------

    def input_of(self, spec: StepSpec) -> str:
        """Return what a step is handed: its arguments, or the results of those before it: one bare, several listed.

        InputError: it is too long.
        """
        if spec.args:
            return self._named("args", spec.args)
        if spec.each:
            return spec.each
        if spec.each_of:
            return self._text_at("each", spec.each_of)
        if len(spec.after) == 1:
            return self.steps[spec.after[0]].result
        before = (self.steps[name].result for name in spec.after)
        return joined("input", before) if spec.after else self.spec.input or NULL

    def outcome(self) -> str:
        """Return what a run gives back: the result of the step behind which there is none, of several the list.

        InputError: it is too long.
        """
        if self.spec.result:
            return self._named("result", self.spec.result)
        last = [self.steps[step.name].result for step in self.spec.steps if not self.graph.followers[step.name]]
        return last[0] if len(last) == 1 else joined("result", last)

    def skip(self, step: str, by: str) -> None:
        """Have a step left out."""
        self.steps[step].skip = because(Code.SKIPPED_BY, by=by)
        self.todo[step] = None

    def _named(self, field: str, args: tuple[Arg, ...]) -> str:
        return mapped(field, ((arg.name, self._text_at(field, arg.path) if arg.path else arg.value) for arg in args))

    def _text_at(self, field: str, path: str) -> str:
        if path in self.steps:
            return self.steps[path].result
        return self.spec.input or NULL if path == INPUT else text_of(field, self._at(path), MOST_HANDED)

    def _at(self, path: str) -> Any:  # noqa: ANN401  whatever a step gave back
        return look_up(path_of("from", path), Results(self))

    def stop(self, record: FlowStopping) -> None:
        """Have no step start any more."""
        self.stopping = record
        self.todo.update(dict.fromkeys(name for name, step in self.steps.items() if not step.over))
        for tail in self.tails():
            if tail.state == StepState.RUNNING:
                self.todo[tail.spec.name] = None

    def end(self, state: State, reason: Reason | None) -> None:
        """Have the run be over; what is only for failures and had no turn is left out."""
        self.state, self.reason, self.gate = state, reason, ""
        for tail in self.tails():
            if tail.state == StepState.PENDING:
                tail.state = StepState.SKIPPED

    def live(self, step: str = "") -> Iterator[Instance]:
        """Yield what is not over of it, or of one of its steps."""
        steps = [self.steps[step]] if step else [*self.steps.values(), *self.tails()]
        for one in steps:
            if one.live:
                yield from (instance for instance in one.instances.values() if instance.live)


class Results(dict[str, "Callable[[], Any]"]):
    """The results of all steps by name, each worked out when it is asked for; beside them what else a place knows."""

    def __init__(self, track: FlowTrack, own: Mapping[str, Callable[[], Any]] | None = None) -> None:
        """`own` goes before the steps."""
        super().__init__(own or {})
        self._track = track

    def __contains__(self, name: object) -> bool:
        """Whether there is a value of this name."""
        return super().__contains__(name) or name in self._track.steps or name == INPUT

    def __missing__(self, name: str) -> Callable[[], Any]:
        """Return how the result of a step is worked out."""
        if name == INPUT and name not in self._track.steps:
            return lambda: value_of(self._track.spec.input or NULL)
        return lambda: value_of(self._track.steps[name].result)
