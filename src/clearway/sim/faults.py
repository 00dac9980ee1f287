"""Plays the events of a scenario: faults of machines and of the controller, and what people ask."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from msgspec.structs import replace

from clearway.model.asks import (
    Ask,
    Book,
    Cancel,
    CancelFlow,
    CancelSearch,
    ControllerUp,
    Drain,
    Hold,
    Release,
    Requeue,
    Rerun,
    RerunFlow,
    Resume,
    ResumeFlow,
    SetClock,
    SetQueue,
    SkipStep,
    SubmitFlow,
    SubmitSearch,
    Suspend,
    Unbook,
)
from clearway.model.events import AttemptEnded, Record, Started, TaskEnded, TaskRef
from clearway.ports.engine import TaskIsGone
from clearway.sim.engine import SimEngine
from clearway.sim.events import (
    AnswerWish,
    BookWish,
    ChangeWish,
    ClockStep,
    ControllerFault,
    DevicesFail,
    DrainWish,
    EndAgain,
    Event,
    FlowEnters,
    JobWish,
    NodeFault,
    NodesJoin,
    QueueWish,
    RerunWish,
    SearchEnters,
    SkipWish,
    SpotNotice,
    StockChange,
    UnbookWish,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from clearway.loop.world import World
    from clearway.model.ids import JobId
    from clearway.sim.driver import Driver
    from clearway.sim.flow_play import FlowPlay


_Wish = JobWish | ChangeWish | RerunWish | AnswerWish | SkipWish


class Script:
    """Events in order of time; those of one moment in the order of the file.

    While no controller runs, people try again until one answers: what they ask is kept, and asked in its order.
    """

    def __init__(
        self,
        events: Iterable[Event],
        journal: Sequence[Record],
        rebuild: Callable[[], World],
        clock_us: int | None = None,
    ) -> None:
        """`journal` is what a new controller finds, `rebuild` makes its world from it.

        `clock_us` is the wall clock at 0, where anything reads it.
        """
        self._clock_us = clock_us
        self._events = deque(events)
        self._journal = journal
        self._rebuild = rebuild
        self._jobs: dict[str, JobId] = {}
        self._retried: list[_Wish] = []
        self.play_of: FlowPlay
        """Knows the workflows that have entered; set before anything happens."""

    def entered(self, name: str, job: JobId) -> None:
        """Remember a job that was taken."""
        self._jobs[name] = job

    def next_us(self) -> int | None:
        """Return the moment of the next event."""
        return self._events[0].at_us if self._events else None

    def play(self, driver: Driver) -> None:
        """Let everything happen that is due by now."""
        while self._events and self._events[0].at_us <= driver.clock.now_us():
            self._play(self._events.popleft(), driver)

    def _play(self, event: Event, driver: Driver) -> None:
        match event:
            case NodeFault() | SpotNotice() | NodesJoin() | DevicesFail() | StockChange():
                self._play_machines(event, driver)
            case DrainWish(node=node, drained=drained):
                driver.asks.append(Drain(node, drained))
            case JobWish() | ChangeWish() | RerunWish() | AnswerWish() | SkipWish():
                self._wish(event, driver)
            case BookWish() | UnbookWish() | QueueWish() | FlowEnters() | SearchEnters():
                driver.asks.append(_of_all(event))
            case EndAgain(job=name, attempt=attempt):
                if name in self._jobs:
                    driver.engine.redeliver(ends_of(self._journal, self._jobs[name], attempt))
            case ControllerFault() | ClockStep():
                self._controller_fault(event, driver)

    def _play_machines(
        self, event: NodeFault | SpotNotice | NodesJoin | DevicesFail | StockChange, driver: Driver
    ) -> None:
        match event:
            case NodeFault(kind=kind, node=node):
                self._node_fault(kind, node, driver)
            case SpotNotice(node=node, in_us=in_us):
                self._spot_notice(node, in_us, driver)
            case NodesJoin(nodes=nodes):
                for spec in nodes:
                    driver.engine.join(spec)
            case DevicesFail(node=node, devices=devices):
                if driver.engine.has(node):
                    driver.engine.sicken(node, devices)
            case StockChange(kind=kind, sold_out=sold_out):
                if driver.provider:
                    (driver.provider.sold_out.add if sold_out else driver.provider.sold_out.discard)(kind)

    def _node_fault(self, kind: str, node: str, driver: Driver) -> None:
        if not driver.engine.has(node):  # a machine that is not there now
            if driver.provider and kind in ("node_lost", "remove_node"):
                driver.provider.lose(node)
            return
        _NODE_FAULTS[kind](driver.engine, node)

    def _spot_notice(self, node: str, in_us: int, driver: Driver) -> None:
        """Have the provider give notice of a machine that is there, or take away one that is on its way."""
        if not driver.engine.has(node):
            if driver.provider:
                driver.provider.fail(node)
            return
        if in_us == 0:
            driver.engine.take_away(node)
        else:
            driver.engine.notice(node, in_us)

    def _wish(self, event: _Wish, driver: Driver) -> None:
        """Ask what a person wants of a job or a workflow; who finds no controller tries again when one answers."""
        name = event.name if isinstance(event, RerunWish | AnswerWish | SkipWish) else event.job
        ask = self._of_flow(event, name) or self._of_job(event, name)
        if ask is not None:
            driver.asks.append(ask)
        elif driver.world is None:
            self._retried.append(event)
        else:
            kinds = {
                JobWish: getattr(event, "kind", ""),
                ChangeWish: "change",
                RerunWish: "rerun",
                AnswerWish: "resume",
                SkipWish: "skip",
            }
            driver.refused.append((driver.clock.now_us(), f"{kinds[type(event)]} {name}: no such job has entered"))

    def _of_flow(self, event: _Wish, name: str) -> Ask | None:
        flow = self.play_of.flows.get(name)
        if flow is None:
            cancels = isinstance(event, JobWish) and event.kind == "cancel" and name in self.play_of.searches
            return CancelSearch(name) if cancels else None
        if isinstance(event, AnswerWish):
            return ResumeFlow(flow, event.step, event.value)
        if isinstance(event, RerunWish):
            if event.entry is not None:
                self.play_of.change(event.entry)
            spec = event.entry.spec if event.entry else None
            return RerunFlow(flow, spec, anew=event.anew, skip=event.skip)
        if isinstance(event, SkipWish):
            return SkipStep(flow, event.step)
        return CancelFlow(flow) if isinstance(event, JobWish) and event.kind == "cancel" else None

    def _of_job(self, event: _Wish, name: str) -> Ask | None:
        job = self._jobs.get(name)
        if job is None or isinstance(event, AnswerWish | SkipWish):
            return None
        return Rerun(job) if isinstance(event, RerunWish) else _wish(event, job)

    def _controller_fault(self, event: ControllerFault | ClockStep, driver: Driver) -> None:
        if isinstance(event, ClockStep):
            if self._clock_us is not None:
                self._clock_us += event.step_us
            if self._clock_us is not None and driver.world is not None:
                driver.asks.append(SetClock(self._clock_us))
            return
        kind = event.kind
        if kind == "start_controller":
            if driver.world is None:
                self._start(driver)
            return
        if driver.world is not None:
            driver.flush()
            driver.world = None
        if kind == "kill_all":
            driver.engine.power_cut()

    def _start(self, driver: Driver) -> None:
        """Start a controller: its world is what the journal says, and the engine tells what is there."""
        driver.world = self._rebuild()
        found = driver.engine.open()
        # Ends first: a node that no longer runs a task would otherwise look as if it had lost it.
        driver.opening = [ControllerUp(), *found.gone, *found.nodes]
        if self._clock_us is not None:
            driver.opening.append(SetClock(self._clock_us))
        if self._retried:  # wishes about jobs that enter only now come after them
            driver.flush(driver.enter())
            self._events.extendleft(reversed(self._retried))
            self._retried.clear()


_NODE_FAULTS: dict[str, Callable[[SimEngine, str], None]] = {
    "node_lost": SimEngine.lose,
    "node_ready": SimEngine.revive,
    "cut_network": SimEngine.cut,
    "restore_network": SimEngine.restore,
    "remove_node": SimEngine.leave,
}


_JOB_WISHES: dict[str, Callable[[JobId], Ask]] = {
    "cancel": Cancel, "suspend": Suspend, "resume": Resume, "hold": Hold, "release": Release, "requeue": Requeue,
}  # fmt: skip


def _of_all(event: BookWish | UnbookWish | QueueWish | FlowEnters | SearchEnters) -> Ask:
    if isinstance(event, SearchEnters):
        return SubmitSearch(event.entry.spec)
    if isinstance(event, FlowEnters):
        return SubmitFlow(event.entry.spec)
    if isinstance(event, QueueWish):
        return SetQueue(event.queue)
    return Book(event.booking) if isinstance(event, BookWish) else Unbook(event.booking)


def _wish(event: JobWish | ChangeWish, job: JobId) -> Ask:
    return replace(event.change, job=job) if isinstance(event, ChangeWish) else _JOB_WISHES[event.kind](job)


def ends_of(journal: Sequence[Record], job: JobId, attempt: int | None) -> list[TaskIsGone]:
    """Return the reports that ended an attempt (None: the latest that has ended); nothing where there is none.

    Where nobody saw the tasks end (their node was lost), they are reports of ends that nobody saw.
    """
    ended = [r.attempt for r in journal if isinstance(r, AttemptEnded) and r.job == job]
    number = (ended[-1] if ended else 0) if attempt is None else attempt
    if number not in ended:
        return []
    seen = [r for r in journal if isinstance(r, TaskEnded) and (r.task.job, r.task.attempt) == (job, number)]
    if seen:
        return [TaskIsGone(r.task, r.exit_code, r.error) for r in seen]
    grants = next(r.grants for r in journal if isinstance(r, Started) and (r.job, r.attempt) == (job, number))
    return [TaskIsGone(TaskRef(job, number, g.role, g.index)) for g in grants]
