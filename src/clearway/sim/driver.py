"""The driver in invented time. It has no scheduler of its own: it waits, calls `world.step`, and carries out.

At one moment reports of the engine come first, then what people ask, then the jobs that enter; all of it is one step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from clearway.model.asks import Cancel, Refuse, Submit
from clearway.model.errors import ClearwayError, InputError, LedgerError
from clearway.model.events import AttemptEnded, Ended, Stopping, Submitted
from clearway.model.ids import JobId
from clearway.model.job import member
from clearway.model.reasons import Code, because
from clearway.model.states import End
from clearway.ports.engine import TaskIsGone
from clearway.sim.arrivals import Arrivals
from clearway.sim.batch import refusal
from clearway.sim.heap import Heap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from clearway.loop.world import Step, World
    from clearway.model.asks import Ask
    from clearway.model.events import Record
    from clearway.model.reasons import Reason
    from clearway.ports.engine import Report
    from clearway.ports.provider import OrderFailed
    from clearway.sim.arrivals import Listed
    from clearway.sim.engine import SimEngine
    from clearway.sim.provider import SimProvider
    from clearway.sim.truth import Truth

MAX_IDLE_STEPS = 1000
"""Steps in a row at one moment of which nothing comes: more means that the loop asks to be called for ever."""


class Events(Protocol):
    """What happens from outside while the driver runs (faults, wishes of people)."""

    def next_us(self) -> int | None:
        """Return the moment of the next event; None if there is none left."""
        ...

    def play(self, driver: Driver) -> None:
        """Let everything happen that is due by now."""
        ...


class NoEvents:
    """Nothing happens from outside."""

    def next_us(self) -> int | None:
        """Return None."""
        return None

    def play(self, driver: Driver) -> None:
        """Do nothing."""


class _Due:
    """A cancellation that was decided at the submit, as the heap's subject."""

    __slots__ = ("job", "version")

    def __init__(self, job: JobId) -> None:
        self.job, self.version = job, 0


def _unheard(_name: str, _job: JobId, _truth: Truth) -> None:
    """Nobody wants to know that a job was taken."""


def _unlistened(_records: Sequence[Record]) -> None:
    """Nobody follows the records."""


class Driver:
    """Moves the clock from one happening to the next, and keeps no more than what is alive.

    `world` is None while no controller runs: the engine goes on, and what people ask waits until one answers.
    `refused` are asks that were answered with an error, with their moments. `listen` is given the records of each step
    before the engine is told to do anything.
    """

    def __init__(
        self,
        world: World,
        engine: SimEngine,
        arrivals: Iterable[Listed] | Arrivals,
        sink: Callable[[list[Record]], None],
        events: Events | None = None,
        entered: Callable[[str, JobId, Truth], None] = _unheard,
        provider: SimProvider | None = None,
    ) -> None:
        self.listen: Callable[[Sequence[Record]], None] = _unlistened
        self.world: World | None = world
        self.provider = provider
        self.engine, self.clock = engine, engine.clock
        self.asks: list[Ask] = []
        self.opening: list[Ask | Report] = []
        self.refused: list[tuple[int, str]] = []
        self._tell_entered = entered
        self._arrivals = arrivals if isinstance(arrivals, Arrivals) else Arrivals(arrivals)
        self._sink = sink
        self._events: Events = events or NoEvents()
        self._wake_us: int | None = None
        self._cancels = Heap()
        self._idle = 0
        self._last_us = self.clock.now_us()

    # --- time ----------------------------------------------------------------------------------

    def run(self, until_us: int | None = None) -> int:
        """Run to the moment `until_us`, with all that falls on it, or until nothing lies ahead.

        Returns the end: `until_us`, or the last moment at which anything happened.
        """
        while (at_us := self._next_us()) is not None and (until_us is None or at_us <= until_us):
            self.clock.move(at_us)
            self._moment()
        return self._last_us if until_us is None else until_us

    def _next_us(self) -> int | None:
        ahead = [self.engine.next_us() if self.world else self.engine.ahead_us(), self._events.next_us()]
        if self.world:
            ahead += [self._wake_us, self._arrivals.next_us(), self._cancels.next_us()]
            if self.opening or self.asks or (self.provider and self.provider.has_told):
                ahead.append(self.clock.now_us())
        known = [at_us for at_us in ahead if at_us is not None]
        return max(min(known), self.clock.now_us()) if known else None

    def _moment(self) -> None:
        self.engine.advance()
        self._events.play(self)
        self.engine.advance()
        if self.world:
            self._cancels.run_due(self.clock.now_us())
            self.flush(self.enter())

    # --- steps ---------------------------------------------------------------------------------

    def flush(self, entering: Sequence[tuple[Submit | Refuse, Truth]] = ()) -> None:
        """Take one step with all that has come so far: journal what follows, then carry it out."""
        failed = self.provider.reports() if self.provider else []
        reports = [*self.engine.reports(), *failed]
        inputs: list[Ask | Report | OrderFailed] = [*self.opening, *reports, *self.asks]
        answered = len(inputs)
        inputs += [what for what, _ in entering]
        gone = [r.task for r in inputs if type(r) is TaskIsGone]
        self.opening, self.asks = [], []
        step = self._step(inputs)
        for (what, truth), answer in zip(entering, step.answers[answered:], strict=True):
            self._arrivals.entered(answer[0] if isinstance(answer, tuple) and answer else None, self.clock.now_us())
            self._entered(what, truth, answer)
        self._tell_engine(step.records)
        for ask, answer in zip(inputs, step.answers[:answered], strict=False):
            if isinstance(answer, ClearwayError):
                self.refused.append((self.clock.now_us(), f"{type(ask).__name__}: {answer}"))
        self.engine.carry_out(step.actions)
        if self.provider:
            self.provider.carry_out(step.supply)
        self.engine.acknowledge(gone)

    def _step(self, inputs: list[Ask | Report | OrderFailed]) -> Step:
        if self.world is None:
            raise LedgerError("a step was asked for while no controller runs")
        now_us = self.clock.now_us()
        step = self.world.step(inputs, now_us)
        self._wake_us = step.next_us
        self._watch(step, idle=not inputs and not step.records)
        if step.records:
            self._last_us = now_us
            self._sink(step.records)
            self.listen(step.records)
        return step

    def _tell_engine(self, records: Sequence[Record]) -> None:
        """Let the engine know which jobs are over, and which attempts are taken for lost."""
        for record in records:
            match record:
                case Submitted(job=job, array=array) if array:
                    self.engine.know_alike(job, array)
                case Ended(job=job):
                    self.engine.forget(job)
                    self._arrivals.ended(job, record.at_us)
                case (
                    Stopping(job=job, attempt=attempt, end=End.LOST)
                    | AttemptEnded(job=job, attempt=attempt, end=End.LOST)
                ):
                    self.engine.write_off(job, attempt)
                case _:
                    pass

    def _watch(self, step: Step, *, idle: bool) -> None:
        again = step.next_us is not None and step.next_us <= self.clock.now_us()
        self._idle = self._idle + 1 if idle and again else 0
        if self._idle > MAX_IDLE_STEPS:
            raise LedgerError(f"the loop asks at {self.clock.now_us()} us to be called at once, again and again")

    # --- jobs that enter -----------------------------------------------------------------------

    def enter(self) -> list[tuple[Submit | Refuse, Truth]]:
        """Take the jobs whose moment has come; those of a time without controller enter when one answers."""
        taken = self._arrivals.take(self.clock.now_us())
        return [(what if isinstance(what, Refuse) else Submit((what,)), truth) for what, truth in taken]

    def _entered(self, what: Submit | Refuse, truth: Truth, answer: object) -> None:
        """Tell the engine the truth about a job that was taken; record the refusal of one that was not."""
        if isinstance(what, Refuse):
            return
        if isinstance(answer, ClearwayError):
            self.asks.append(Refuse(what.specs[0].name, _why(answer)))
            return
        if not isinstance(answer, tuple):
            raise LedgerError(f"the answer to a submit is {answer!r}")
        for spec, job in zip(what.specs, answer, strict=True):
            self.engine.know(job, truth)
            self._tell_entered(spec.name, job, truth)
            for position in range(spec.array.size if spec.array else 0):
                self._tell_entered(member(spec, position).name, JobId(job + 1 + position), truth)
            if truth.cancel_after_us is not None:
                at_us = self.clock.now_us() + truth.cancel_after_us
                self._cancels.push(at_us, 0, self._cancel, _Due(job))

    def _cancel(self, due: _Due) -> None:
        self.asks.append(Cancel(due.job))


def _why(error: ClearwayError) -> Reason:
    if isinstance(error, InputError):
        return refusal(error)
    return because(Code.BAD_VALUE, field="job", value="this job", rule=str(error))
