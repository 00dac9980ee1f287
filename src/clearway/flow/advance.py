"""What follows in a workflow from how it stands: which steps begin, end, and what the run comes to.

    for wish in advance(track): ...     # each is carried out and applied before the next is asked for

A wish is a record without a moment, or an `Enter`: a job to be submitted as a part of a step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from clearway.flow.expression import look_up, parse, path_of, roots, truth, work_out
from clearway.flow.json_text import MOST_DEEP, MOST_HANDED, is_deep, text_of, value_of
from clearway.flow.rules import Verdict, judge
from clearway.flow.track import ALONE, Results
from clearway.model import flow_events as fe
from clearway.model.errors import InputError
from clearway.model.flow import NULL, UNDO
from clearway.model.reasons import Code, Reason, because
from clearway.model.states import State, StepState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clearway.flow.track import FlowTrack, StepTrack
    from clearway.model.ids import FlowId, JobId

AHEAD = 1000
"""Instances of one step that are jobs at the same time; the next ones enter as these end."""

MOST_LOOPS = 1_000_000
"""No loop makes more passes, whatever it counts."""
MOST_NAMED = 20  # steps that a reason names


class Enter(NamedTuple):
    """A job (or workflow) is wanted: pass `turn` of an instance of a step. `again`: the one that runs once more."""

    step: str
    item: int
    turn: int
    input: str
    again: JobId | FlowId | None


Wish = Enter | fe.FlowRecord


def advance(track: FlowTrack, now_us: int) -> Iterator[Wish]:
    """Yield what follows until nothing more does. The track must have changed by each wish before the next is taken."""
    if track.gate and track.stopping is None:
        return
    while track.todo:
        step = next(iter(track.todo))
        del track.todo[step]
        yield from _Step(track, track.track(step), now_us).wishes()
    if track.state is None and not track.left:
        yield from _conclude(track, now_us)


class _Step:
    """One step looked at once."""

    def __init__(self, track: FlowTrack, step: StepTrack, now_us: int) -> None:
        self.track, self.step, self.spec, self.now_us = track, step, step.spec, now_us

    def wishes(self) -> Iterator[Wish]:
        """Yield what follows for this step."""
        if self.step.state == StepState.PENDING:
            yield from self._pending()
        if self.step.state == StepState.RUNNING:
            yield from self._running()

    def _end(self, state: StepState, reason: Reason | None = None, chosen: tuple[str, ...] | None = None) -> Wish:
        return fe.StepEnded(self.now_us, self.track.id, self.spec.name, state, reason, chosen)

    # --- before it runs ----------------------------------------------------------------------

    def _pending(self) -> Iterator[Wish]:
        stopping, counts = self.track.stopping, self.step.counts
        if stopping is not None and not self.track.is_tail(self.step):
            yield self._end(StepState.CANCELLED, because(Code.FLOW_OVER))
            return
        if self.step.skip is not None:
            yield self._end(StepState.SKIPPED, self.step.skip)
            return
        if self.step.unchosen:
            yield self._end(StepState.SKIPPED, because(Code.NOT_CHOSEN, step=self.step.unchosen))
            return
        verdict = judge(self.spec.rule, counts)
        if verdict is Verdict.NEVER:
            state = StepState.UPSTREAM_FAILED if counts.failed else StepState.SKIPPED
            yield self._end(
                state, because(Code.RULE, rule=self.spec.rule, failed=counts.failed, skipped=counts.skipped)
            )
        elif verdict is Verdict.RUN and not self._may_yet_be_left_out():
            yield from self._begin()

    def _may_yet_be_left_out(self) -> bool:
        """Return whether a step before this one still has to choose: an early rule does not go ahead of that."""
        before = (self.track.steps[name] for name in self.spec.after)
        return any(one.spec.choose is not None or one.spec.chooses for one in before if not one.over)

    def _begin(self) -> Iterator[Wish]:
        if (
            self.spec.when
            and not self._condition_on_item()
            and not truth(work_out(parse("when", self.spec.when), Results(self.track)))
        ):
            yield self._end(StepState.SKIPPED, because(Code.CONDITION, condition=self.spec.when[:200]))
            return
        if self.spec.gathers:
            yield self._succeeded(None)
            return
        items = -1
        if self.spec.maps:
            found = self.track.items_of(self.spec)
            if found is not None and not isinstance(found, list):
                yield self._end(StepState.FAILED, because(Code.NOT_A_LIST, step=self.spec.each_of))
                return
            items = len(found or ())
        try:
            given = self._input()
        except InputError:
            yield self._end(StepState.FAILED, _too_long("what it is handed"))
            return
        yield fe.StepBegan(self.now_us, self.track.id, self.spec.name, given, items)

    def _succeeded(self, chosen: tuple[str, ...] | None) -> Wish:
        """Return the end of a step that has succeeded, if what it gives back can be kept."""
        try:
            self.track.result_of(self.step)
        except InputError:
            return self._end(StepState.FAILED, _too_long("its result"))
        return self._end(StepState.SUCCEEDED, None, chosen)

    def _input(self) -> str:
        if self.step is self.track.error:
            return text_of("failed", _failed(self.track), MOST_HANDED)
        if self.track.is_tail(self.step):
            return self.track.steps[self.spec.name.removesuffix(UNDO)].result
        return self.track.input_of(self.spec)

    # --- while it runs -----------------------------------------------------------------------

    def _running(self) -> Iterator[Wish]:
        step = self.step
        if self.spec.pause:
            if step.ended or not self._may_start():
                yield from self._over()
            return
        while step.passed:
            yield from self._after_pass(step.passed[0])
        while step.live < AHEAD and self._may_start() and (place := self._next()) < step.size:
            yield self._first(step.number(place))
        if not step.live and not step.passed and (step.ended >= step.size or not self._may_start()):
            yield from self._over()

    def _may_start(self) -> bool:
        if self.track.is_tail(self.step):
            return True
        return self.track.stopping is None and self.step.skip is None

    def _after_pass(self, item: int) -> Iterator[Wish]:
        """See whether an instance makes another pass."""
        one, name = self.step.instance(item), self.spec.name
        own = {"pass": lambda: one.turn, "item": lambda: self._item(item), name: lambda: value_of(one.result)}
        names = Results(self.track, own)
        passes = look_up(path_of("passes", self.spec.passes), names) if self.spec.passes else None
        counted = passes if type(passes) is int and one.turn < MOST_LOOPS else one.turn
        if truth(work_out(parse("until", self.spec.until), names)):
            yield self._loop_ended(item, StepState.SUCCEEDED)
        elif counted >= self.spec.max_loops:
            limit = because(Code.LOOP_LIMIT, step=self.spec.name, max_loops=self.spec.max_loops)
            yield self._loop_ended(item, StepState.FAILED, limit)
        elif not self._may_start():
            yield self._loop_ended(item, StepState.CANCELLED)
        else:
            yield Enter(name, item, one.turn + 1, one.result, None)

    def _loop_ended(self, item: int, state: StepState, reason: Reason | None = None) -> Wish:
        return fe.LoopEnded(self.now_us, self.track.id, self.spec.name, item, state, reason)

    def _next(self) -> int:
        """Return the place of the next instance that this run has not taken up yet."""
        step, place = self.step, self.step.next
        while place < step.size:
            one = step.instances.get(step.number(place))
            if one is None or one.run != self.track.run:
                break
            place += 1
        return place

    def _first(self, item: int) -> Wish:
        """Have an instance begin; one that did not succeed in an earlier run makes the pass that failed once more."""
        one = self.step.instances.get(item)
        if item != ALONE and self._condition_on_item() and not self._holds(item):
            return self._loop_ended(item, StepState.SKIPPED)
        known = None if one is None else one.job if self.spec.flow is None else one.flow
        if one is None or known is None:
            return Enter(self.spec.name, item, 1, self._handed(item), None)
        handed = one.result if one.turn > 1 else self._handed(item)
        return Enter(self.spec.name, item, one.turn, handed, known)

    def _condition_on_item(self) -> bool:
        return bool(self.spec.when) and "item" in roots(parse("when", self.spec.when))

    def _holds(self, item: int) -> bool:
        own = {"item": lambda: self._item(item)}
        return truth(work_out(parse("when", self.spec.when), Results(self.track, own)))

    def _handed(self, item: int) -> str:
        return self.step.input if item == ALONE else text_of("item", self._item(item), MOST_HANDED)

    def _item(self, item: int) -> Any:  # noqa: ANN401  whatever JSON can hold
        return None if item == ALONE or self.step.items is None else self.step.items[item]

    # --- its end -----------------------------------------------------------------------------

    def _over(self) -> Iterator[Wish]:
        if self.step.skip is not None:
            yield self._end(StepState.SKIPPED, self.step.skip)
            return
        state = self._state()
        if state != StepState.SUCCEEDED:
            yield self._end(state, self.step.reason)
            return
        chosen, wrong = self._chosen()
        if wrong:
            yield self._end(StepState.FAILED, because(Code.NOT_A_FOLLOWER, name=wrong))
        else:
            yield self._succeeded(chosen)

    def _state(self) -> StepState:
        states = {one.state for item, one in self.step.instances.items() if self._counts(item)}
        for worst in (StepState.FAILED, StepState.CANCELLED):
            if worst in states:
                return worst
        if self.step.ended < self.step.size:
            return StepState.CANCELLED
        only_skipped = bool(states) and states == {StepState.SKIPPED}
        return StepState.SKIPPED if only_skipped else StepState.SUCCEEDED

    def _counts(self, item: int) -> bool:
        return (item == ALONE) == (self.step.items is None)

    def _chosen(self) -> tuple[tuple[str, ...] | None, str]:
        """Return the direct followers that it picks, None for all; and the first name that is none of them."""
        if not self.spec.chooses:
            return self.spec.choose, ""
        one = self.step.instances.get(ALONE)
        own = Results(self.track, {self.spec.name: lambda: value_of(one.result if one else NULL)})
        found = look_up(path_of("choose", self.spec.chooses), own)
        names = [found] if isinstance(found, str) else found
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            return None, text_of("choose", found, MOST_HANDED)[:100]
        followers = self.track.graph.followers[self.spec.name]
        return tuple(names), next((name for name in names if name not in followers), "")


# --- the end of a run --------------------------------------------------------------------------


def _failed(track: FlowTrack) -> list[str]:
    return [name for name, step in track.steps.items() if step.state == StepState.FAILED]


def _conclude(track: FlowTrack, now_us: int) -> Iterator[Wish]:
    """See what a run came to whose steps are all over; after a failure what it has for that runs, one by one."""
    state, reason = _came_to(track)
    if state == State.SUCCEEDED and track.spec.input and not _holds_together(track):  # it is handed to another one
        state, reason = State.FAILED, _too_long("what it gives back")
    for tail in track.tails():
        if tail.state == StepState.RUNNING:
            return
        if tail.state == StepState.PENDING and state == State.FAILED and track.applies(tail):
            yield from _Step(track, tail, now_us).wishes()
            return
    yield fe.FlowEnded(now_us, track.id, state, reason)


def _too_long(what: str) -> Reason:
    return because(Code.TOO_LONG, what=what, most=MOST_HANDED, deep=MOST_DEEP)


def _holds_together(track: FlowTrack) -> bool:
    """Return whether what a run gives back is short enough to be handed on."""
    try:
        return not is_deep(track.outcome())
    except InputError:
        return False


def _came_to(track: FlowTrack) -> tuple[State, Reason | None]:
    if track.stopping is not None:
        return track.stopping.state, track.stopping.reason
    bad = [s for s in track.steps.values() if s.state in (StepState.FAILED, StepState.CANCELLED)]
    if not bad:
        return State.SUCCEEDED, None
    ran = {name for name, step in track.steps.items() if step.state in (StepState.SUCCEEDED, StepState.FAILED)}
    open_ = [step for step in bad if not track.graph.forgiven(step.spec.name, ran)]
    if not open_:
        return State.SUCCEEDED, None
    reason = open_[0].reason
    if len(open_) == 1 and reason is not None and reason.code == Code.LOOP_LIMIT:
        return State.FAILED, reason
    names = ", ".join(step.spec.name for step in open_[:MOST_NAMED])
    return State.FAILED, because(Code.STEP_FAILED, steps=names, many=len(open_))
