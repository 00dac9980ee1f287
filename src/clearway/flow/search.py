"""Searches: at which point the next trial is, and what a search comes to.

A space that can be counted (lists, whole numbers) has its points numbered, the last dimension going round fastest.
`grid` takes them in order. `random` (and `bruteforce`, for such spaces only) draws from the seed and the number of the
trial, and goes on to the next free point where one was drawn before, so that no point is tried twice. A space with real
numbers has no such limit.
"""

from __future__ import annotations

from math import prod
from sys import float_info
from typing import TYPE_CHECKING, Any, NamedTuple

from clearway.flow.chance import mixed
from clearway.flow.json_text import text_of, value_of
from clearway.model.actions import Draw
from clearway.model.reasons import Code, Reason, because
from clearway.model.states import State

if TYPE_CHECKING:
    from clearway.model.flow import Dimension, SearchSpec
    from clearway.model.ids import JobId

SAMPLERS = ("random", "grid", "bruteforce")
COUNTED = ("grid", "bruteforce")
"""Samplers that try every point of a space once."""
DRAWN = ("tpe", "cmaes", "nsgaii", "qmc", "gp")
"""Samplers that learn from earlier trials: they stand outside, and their points come back as what people ask."""
VALUE = "value"
"""The name of the number in a report or a result that is a map, where the search names no metric."""
LARGEST = float_info.max
"""No trial is worth more: a whole number beyond it cannot be reckoned with."""
AHEAD = 1000
"""Trials of one search that are jobs at the same time, whatever `parallel` says."""
UNCOUNTED = -1
"""The place of a point in a space that cannot be counted."""


class Point(NamedTuple):
    """Where a trial is: its values as JSON, and its place."""

    text: str
    place: int


class Trial:
    """One trial; `state` None: it waits or runs. `value` is what it is worth, as JSON, empty where it told nothing.

    `reports` are the steps and values that it told on its way, `best_by` for each the best until then (smaller is
    better); `stopped`: these ended it early.
    """

    __slots__ = ("best_by", "job", "number", "place", "point", "reports", "state", "stopped", "value")

    def __init__(self, number: int, job: JobId, point: str, place: int) -> None:
        """Begin to wait."""
        self.number, self.job, self.point, self.place = number, job, point, place
        self.state: State | None = None
        self.value = ""
        self.reports: list[tuple[int, str]] = []
        self.best_by: list[Any] = []
        self.stopped = False


class SearchTrack:
    """One search, changed only by applying records.

    `order`: numbers of trials as they entered, and minus these as they ended. `asked`: the trial for which a point was
    asked for; that is no part of what is so, and is asked again by a new controller.
    """

    def __init__(self, spec: SearchSpec) -> None:
        """Begin without trials."""
        self.spec, self.points = spec, count(spec)
        self.trials: list[Trial] = []
        self.live: dict[JobId, Trial] = {}
        self.order: list[int] = []
        self.asked = 0
        self.used: set[int] = set()
        self.completed = self.failed = self.stopped = 0
        self.stopping: Reason | None = None
        self.state: State | None = None
        self.reason: Reason | None = None

    def entered(self, job: JobId, point: str, place: int) -> Trial:
        """Take in a trial."""
        trial = Trial(len(self.trials) + 1, job, point, place)
        self.trials.append(trial)
        self.live[job] = trial
        self.order.append(trial.number)
        if place != UNCOUNTED:
            self.used.add(place)
        return trial

    def job_is(self, job: JobId, state: State | None, result: str = "", *, stopped: bool = False) -> None:
        """Take in that the job of a trial is over, and what it gave back; `stopped`: for what it reported."""
        if state is not None and job in self.live:
            trial = self.live.pop(job)
            trial.state, trial.stopped = state, stopped
            self.order.append(-trial.number)
            self.completed += state == State.SUCCEEDED
            self.stopped += stopped
            self.failed += state != State.SUCCEEDED and not stopped
            if state == State.SUCCEEDED:
                trial.value = worth(self.spec, result) or (trial.reports[-1][1] if trial.reports else "")

    def reported(self, number: int, step: int, value: str) -> None:
        """Take in what a trial told on its way."""
        trial, told = self.trials[number - 1], self.sign * value_of(value)
        trial.reports.append((step, value))
        trial.best_by.append(min(told, trial.best_by[-1]) if trial.best_by else told)

    def best(self) -> Trial | None:
        """Return the best trial, of equal ones the first; None while none is worth anything."""
        told = [trial for trial in self.trials if trial.value]
        return min(told, key=lambda trial: self.sign * value_of(trial.value), default=None)

    @property
    def sign(self) -> int:
        """What to multiply a value with so that smaller is better."""
        return 1 if self.spec.direction == "minimize" else -1

    @property
    def exhausted(self) -> bool:
        """Whether every point was tried."""
        return self.points is not None and len(self.used) >= self.points

    @property
    def too_many_failed(self) -> bool:
        """Whether more trials did not succeed than it allows."""
        return self.failed > self.spec.max_failed

    def wants_more(self) -> bool:
        """Return whether another trial may enter now: never more than are still wanted."""
        done = self.completed + self.stopped
        room = len(self.live) < min(self.spec.parallel, AHEAD) and done + len(self.live) < self.spec.trials
        return room and self.stopping is None and not self.exhausted and not self.too_many_failed

    def came_to(self) -> tuple[State, Reason | None] | None:
        """Return how it ended, None while it goes on."""
        if self.live or self.wants_more():
            return None
        if self.stopping is not None:
            return (State.FAILED if self.stopping.code == Code.NO_POINT else State.CANCELLED), self.stopping
        if self.completed + self.stopped >= self.spec.trials:
            return State.SUCCEEDED, None
        if self.too_many_failed:
            return State.FAILED, because(Code.TRIALS_FAILED, failed=self.failed, max_failed=self.spec.max_failed)
        told = because(Code.EVERY_POINT, points=self.points or 0, completed=self.completed, trials=self.spec.trials)
        return (State.SUCCEEDED if self.completed or not self.points else State.FAILED), told


def worth(spec: SearchSpec, result: str) -> str:
    """Return what a result or a report is worth, as JSON: the number that it is or has; empty for none."""
    value = value_of(result) if result else None
    if isinstance(value, dict):
        value = value.get(spec.metric or VALUE)
    elif spec.metric:
        value = None
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and -LARGEST <= value <= LARGEST
    return text_of("metric", value) if is_number else ""


def count(spec: SearchSpec) -> int | None:
    """Return how many points a space has, None if it cannot be counted."""
    return None if any(d.real for d in spec.space) else prod(_size(d) for d in spec.space)


def _size(dimension: Dimension) -> int:
    return len(dimension.values) if dimension.values else int(dimension.high) - int(dimension.low) + 1


def draw_of(track: SearchTrack) -> Draw:
    """Return what has the next point found by one who learns from the trials before."""
    points, values = tuple(t.point for t in track.trials), tuple(t.value for t in track.trials)
    stopped = tuple((t.number, *t.reports[-1]) for t in track.trials if t.stopped and t.reports)
    return Draw(track.spec, len(track.trials) + 1, points, values, tuple(track.order), stopped)


def next_point(track: SearchTrack) -> Point:
    """Return where the next trial is. The space must not be exhausted."""
    spec, number = track.spec, len(track.trials) + 1
    if track.points is None:
        drawn = {d.name: _drawn(d, mixed(spec.seed, number, i)) for i, d in enumerate(spec.space)}
        return Point(text_of("point", drawn), UNCOUNTED)
    place = number - 1 if spec.sampler == "grid" else mixed(spec.seed, number) % track.points
    while place in track.used:
        place = (place + 1) % track.points
    return Point(_text(spec, place), place)


def _text(spec: SearchSpec, place: int) -> str:
    values: dict[str, Any] = {}
    for dimension in reversed(spec.space):
        place, i = divmod(place, _size(dimension))
        values[dimension.name] = value_of(dimension.values[i]) if dimension.values else int(dimension.low) + i
    return text_of("point", values)


def _drawn(dimension: Dimension, bits: int) -> Any:  # noqa: ANN401  whatever JSON can hold
    if dimension.real:
        low, high = value_of(dimension.low), value_of(dimension.high)
        return low + (high - low) * ((bits >> 11) / (1 << 53))
    i = bits % _size(dimension)
    return value_of(dimension.values[i]) if dimension.values else int(dimension.low) + i
