"""How far jobs say they are: all is remembered beside the world, and what moves an expected end becomes a record.

What decisions count on is in the records alone. They are few: at most one a minute of an attempt, none in its first
minute, and only where what is left has changed by more than a tenth and a minute; however many jobs tell how often.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.forecast.progress import Told, informed
from clearway.forecast.run_times import NOTHING
from clearway.model import events as ev
from clearway.model.forecast import HALF, HIGH, LOW
from clearway.model.states import State
from clearway.model.values import SECOND_US

if TYPE_CHECKING:
    from clearway.loop.entry import JobEntry
    from clearway.loop.world import World
    from clearway.model.forecast import Forecast
    from clearway.model.ids import JobId
    from clearway.ports.engine import TaskReported

APART_US = 60 * SECOND_US
"""So far apart are two records of an attempt at least, and the first one from its start."""
PARTS = 10
"""What moves what is left by less than a tenth of it is no record."""
MOST_WEIGHED = 64
"""Of so many reports of a second it is worked out what they change; the others are weighed when they come again."""
STARTED = 10
"""After so many steps the pace is that since the first report: before it, a program only began."""
FEW, SEEN = 64, 2


class Heard:
    """What an attempt has told.

    `first_*` is of the first report; `moved_us` is when a step above all before was told last, `ran_us` how long the
    attempt had run by then, `elapsed_us` how long ago it had started. `last` is the step that was told last, and `went`
    how long the attempt had run when that was another one. `anew`: it has gone back, and is not yet where it was.
    """

    __slots__ = (
        "anew", "attempt", "began", "elapsed_us", "first", "first_ran_us", "forecast", "last", "moved_us", "moves",
        "ran_us", "role", "step", "total", "went",
    )  # fmt: skip

    def __init__(self, entry: JobEntry, report: TaskReported, now_us: int) -> None:
        self.attempt, self.role, self.moves, self.last = entry.attempt, report.task.role, 0, report.step
        self.move(entry, report, now_us)
        self.first, self.first_ran_us = self.step, self.ran_us
        self.began = self.went = self.ran_us

    def move(self, entry: JobEntry, report: TaskReported, now_us: int) -> None:
        """Take in a step above all before."""
        self.step, self.total, self.moved_us = report.step, report.total, now_us
        self._see(entry, now_us, anew=False)

    def go(self, entry: JobEntry, step: int, now_us: int) -> None:
        """Take note of a step; one below the last one says that it counts anew."""
        if step < self.last and not self.anew:
            self._see(entry, now_us, anew=True)
        if step != self.last:
            self.last, self.went = step, entry.run_us(now_us)
            self.moves += 1

    def _see(self, entry: JobEntry, now_us: int, *, anew: bool) -> None:
        self.ran_us, self.elapsed_us, self.anew = entry.run_us(now_us), now_us - entry.started_us, anew
        self.forecast: Forecast | None = None

    @property
    def told(self) -> Told:
        """How far it was when it told that last, with the pace since it began to work."""
        if self.anew:
            return Told(0, 0, self.ran_us)
        if self.first == 1 and self.step - self.first < STARTED:
            return Told(self.step, self.total, self.ran_us)
        return Told(self.step, self.total, self.ran_us, self.first, self.first_ran_us)

    @property
    def apart_us(self) -> int | None:
        """How far apart new steps are told on average; None before three of them."""
        return (self.went - self.began) // self.moves if self.moves > SEEN else None

    def informed(self, said: Forecast | None) -> Forecast | None:
        """Return the forecast of the whole attempt by what it told last; None where nothing follows from that."""
        if self.forecast is None and (self.told.says or (self.anew and said is not None)):
            self.forecast = informed(said, self.told, self.elapsed_us)
        return self.forecast

    def yields_to(self, report: TaskReported) -> bool:
        """Return whether a report is of a role that is heard instead: one with a total, else the first of them."""
        role = report.task.role
        return role != self.role and (not report.total, role) < (not self.total, self.role)


class Progressing:
    """What running jobs have told, beside a world: no part of its state. Read from any thread."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.heard: dict[JobId, Heard] = {}
        self._second = self._weighed = 0

    def heard_of(self, job: JobId, attempt: int) -> Heard | None:
        """Return what an attempt of a job has told, None where that is nothing."""
        heard = self.heard.get(job)
        return heard if heard is not None and heard.attempt == attempt else None

    def reported(self, world: World, report: TaskReported) -> None:
        """Take in how far a task is; where that moves what is expected of its job, it is recorded.

        A step that is not above those told before says only that it goes on: a program that begins to count anew is
        not believed before it is further than it was, and until then its forecast alone is. One role is heard.
        """
        entry = world.state.live(report.task)
        if entry is None or entry.state != State.RUNNING or entry.intent is not None:
            return
        heard, now_us = self.heard_of(entry.id, entry.attempt), world.now_us
        if heard is None or heard.yields_to(report):
            heard = self.heard[entry.id] = _begun(world, entry, report)
            self._forget(world)
        elif report.task.role != heard.role:
            return
        else:
            heard.go(entry, report.step, now_us)
            if report.step > heard.step:
                heard.move(entry, report, now_us)
            elif not heard.anew:
                return
        self._weigh(world, entry, heard)

    def _weigh(self, world: World, entry: JobEntry, heard: Heard) -> None:
        forecasts, now_us = world.state.view.forecasts, world.now_us
        said, last = forecasts.said.get(entry.id), forecasts.progressed.get(entry.id)
        if said is None or now_us - (entry.started_us if last is None else last.at_us) < APART_US:
            return
        if heard.anew and last is None:  # there is nothing to take back
            return
        if now_us - self._second >= SECOND_US:
            self._second, self._weighed = now_us, 0
        if self._weighed >= MOST_WEIGHED:
            return
        self._weighed += 1
        found, told, before = heard.informed(said), heard.told, said if last is None else last.forecast
        if found is not None and _moves(before, found, heard.elapsed_us, (HALF, forecasts.level or HIGH)):
            since = (told.since, told.since_us)
            world.emit(ev.Progressed(now_us, entry.id, entry.attempt, heard.last, heard.total, found, *since))

    def _forget(self, world: World) -> None:
        if len(self.heard) > FEW + 2 * len(world.jobs):
            self.heard = {job: heard for job, heard in self.heard.items() if job in world.jobs}


def _begun(world: World, entry: JobEntry, report: TaskReported) -> Heard:
    """Return what is known of an attempt at its first report, or at the first after a controller took over."""
    heard, last = Heard(entry, report, world.now_us), world.state.view.forecasts.progressed.get(entry.id)
    if last is not None:
        heard.first, heard.first_ran_us = last.since, last.since_us
    return heard


def _moves(old: Forecast, new: Forecast, elapsed_us: int, levels: tuple[int, ...]) -> bool:
    for level in levels:
        before_us, left_us = old.given(elapsed_us, level) - elapsed_us, new.at(level) - elapsed_us
        moved_us = abs(left_us - before_us)
        if moved_us > APART_US and moved_us * PARTS > max(left_us, before_us):
            return True
    return False


def forecast_of(world: World, entry: JobEntry, now_us: int) -> tuple[Forecast | None, int]:
    """Return the forecast of a job's attempt by all that it has told, and how much of that is over.

    It runs from the attempt's start, without the time that it stood still since it told that. None where there is none.
    """
    said, heard = world.state.view.forecasts.said.get(entry.id), world.progressing.heard_of(entry.id, entry.attempt)
    ran_us = max(entry.run_us(now_us), 0)
    found = None if heard is None else heard.informed(said)
    if heard is None or found is None:
        return said, ran_us
    return found, max(heard.elapsed_us + ran_us - heard.ran_us, 0)


def left_of(world: World, job: JobId, now_us: int) -> tuple[int, int, int] | None:
    """Return how much longer a running job takes: the low end of the interval of 80 %, the median, the high end.

    None where nothing is known of that. From any thread.
    """
    entry = world.jobs.get(job)
    if entry is None or entry.state != State.RUNNING:
        return None
    found, ran_us = forecast_of(world, entry, now_us)
    if found is None or found.basis == NOTHING:
        return None
    low_us, half_us, high_us = (found.given(ran_us, level) - ran_us for level in (LOW, HALF, HIGH))
    return low_us, half_us, high_us
