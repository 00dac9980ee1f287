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


def run_virtual(  # noqa: PLR0913  # each is a part of its own
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
    _Run(controller, clock, engine, arrivals).run(until_us)
    return controller


class _Run:
    def __init__(
        self, controller: Controller, clock: VirtualClock, engine: SimEngine, arrivals: Iterable[Arrival]
    ) -> None:
        self._controller, self._clock, self._engine = controller, clock, engine
        self._arrivals = iter(arrivals)
        self._head = next(self._arrivals, None)
        self._cancels: list[tuple[int, JobId]] = []

    def run(self, until_us: int | None) -> None:
        while (at_us := self._next_us()) is not None and (until_us is None or at_us <= until_us):
            self._clock.move(at_us)
            self._engine.advance()
            self._turn()

    def _next_us(self) -> int | None:
        ahead = [self._engine.next_us(), self._controller.next_us]
        ahead += [self._head[0] if self._head else None, self._cancels[0][0] if self._cancels else None]
        known = [at_us for at_us in ahead if at_us is not None]
        return max(min(known), self._clock.now_us()) if known else None

    def _turn(self) -> None:
        inputs: list[Ask | Report] = [*self._engine.reports(), *self._cancelled()]
        before = len(inputs)
        expected = []
        for number, (spec, truth) in enumerate(self._entering(), self._controller.world.state.next_job):
            job = JobId(number)
            self._engine.know(job, truth)
            self._cancel_later(job, truth)
            expected.append((job,))
            inputs.append(Submit((spec,)))
        step = self._controller.turn(inputs)
        if step.answers[before:] != expected:
            raise LedgerError(f"jobs {expected} were to enter, the answers are {step.answers[before:]}")

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
