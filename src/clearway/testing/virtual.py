"""The live controller in virtual time: its own turns, with a clock that is moved and an engine that pretends."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

from clearway.control.controller import Controller
from clearway.model.asks import Cancel, Submit
from clearway.model.errors import LedgerError
from clearway.model.ids import JobId

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from clearway.loop.world import World
    from clearway.model.asks import Ask
    from clearway.model.job import JobSpec
    from clearway.ports.engine import Report
    from clearway.ports.journal import Journal
    from clearway.sim.engine import SimEngine
    from clearway.sim.heap import VirtualClock
    from clearway.sim.truth import Truth

Arrival = tuple[int, "JobSpec", "Truth"]


def run_virtual(
    world: World,
    clock: VirtualClock,
    engine: SimEngine,
    journal: Journal,
    arrivals: Iterable[Arrival] = (),
    *,
    first: Sequence[Ask] = (),
    until_us: int | None = None,
) -> Controller:
    """Have a controller take over and live through `arrivals` (by time), until nothing lies ahead or `until_us`.

    What comes at one moment is one turn, reports before asks. Jobs must be such as are not refused: LedgerError.
    """
    controller = Controller(world, clock, engine, journal, first=first)
    controller.take_over()
    Life(clock, engine, arrivals).live(controller, until_us)
    return controller


class Life:
    """What happens around a controller. One that dies (an exception out of `live`) may be followed by another.

    Jobs whose submit was not answered are submitted again, unless the new controller knows them by their names.
    """

    def __init__(self, clock: VirtualClock, engine: SimEngine, arrivals: Iterable[Arrival]) -> None:
        self._clock, self._engine = clock, engine
        self._arrivals = iter(arrivals)
        self._head = next(self._arrivals, None)
        self._unsaid: list[tuple[JobSpec, Truth]] = []
        self._cancels: list[tuple[int, JobId]] = []

    def live(self, controller: Controller, until_us: int | None = None) -> None:
        """Give a controller that has taken over one turn after the other, until nothing lies ahead or `until_us`."""
        while (at_us := self._next_us(controller)) is not None and (until_us is None or at_us <= until_us):
            self._clock.move(at_us)
            self._engine.advance()
            self._turn(controller)

    def _next_us(self, controller: Controller) -> int | None:
        ahead = [self._engine.next_us(), controller.next_us]
        ahead += [self._head[0] if self._head else None, self._cancels[0][0] if self._cancels else None]
        known = [at_us for at_us in ahead if at_us is not None]
        return max(min(known), self._clock.now_us()) if known else None

    def _turn(self, controller: Controller) -> None:
        inputs: list[Ask | Report] = [*self._engine.reports(), *self._cancelled()]
        before = len(inputs)
        expected = []
        self._unsaid = [one for one in self._unsaid if controller.world.job_named(one[0].name) is None]
        self._unsaid += self._entering()
        for number, (spec, truth) in enumerate(self._unsaid, controller.world.state.next_job):
            job = JobId(number)
            self._engine.know(job, truth)
            self._cancel_later(job, truth)
            expected.append((job,))
            inputs.append(Submit((spec,)))
        step = controller.turn(inputs)
        if step.answers[before:] != expected:
            raise LedgerError(f"jobs {expected} were to enter, the answers are {step.answers[before:]}")
        self._unsaid = []

    def _entering(self) -> Iterable[tuple[JobSpec, Truth]]:
        while self._head and self._head[0] <= self._clock.now_us():
            _, spec, truth = self._head
            yield spec, truth
            self._head = next(self._arrivals, None)

    def _cancel_later(self, job: JobId, truth: Truth) -> None:
        if truth.cancel_after_us is not None:
            heappush(self._cancels, (self._clock.now_us() + truth.cancel_after_us, job))

    def _cancelled(self) -> Iterable[Cancel]:
        while self._cancels and self._cancels[0][0] <= self._clock.now_us():
            yield Cancel(heappop(self._cancels)[1])
