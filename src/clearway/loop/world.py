"""The world and its one step: facts and wishes in, records and orders out. Pure; both drivers call it.

    world = World(policy, seed)
    step = world.step([ask or report, ...], now_us)
    journal.append(step.records); engine.carry_out(step.actions)      # in this order
    ... call step again when something comes, at the latest at step.next_us

After a crash: `for entry in journal.read(): world.apply(entry.record)`, then step([ControllerUp(), *reports of the
engine's inventory], now). What was decided and perhaps never told to the engine is told again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from clearway.core.cycle import decide
from clearway.loop import (
    arrays,
    asks,
    bookings,
    budget_state,
    budgets,
    endings,
    flows,
    machines,
    notices,
    policies,
    reports,
    schedules,
    searches,
    verbs,
)  # fmt: skip
from clearway.loop.difference import Between, Difference
from clearway.loop.orders import ORDERING, actions_of, tell_again
from clearway.loop.planned import planned
from clearway.loop.progress import Progressing
from clearway.loop.state import WorldState
from clearway.loop.timers import Due, Timer
from clearway.model import events as ev
from clearway.model.asks import Ask, ControllerUp
from clearway.model.errors import ClearwayError, LedgerError
from clearway.model.fleet import PolicySpec
from clearway.model.ids import NodeId
from clearway.model.states import End, State
from clearway.ports.engine import NodeIsUp, Report, TaskIsGone, TaskIsUp, TaskReported
from clearway.ports.provider import OrderFailed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from clearway.core.cycle import Plan
    from clearway.core.ledger import Ledger
    from clearway.core.trace import Trace
    from clearway.loop.entry import JobEntry
    from clearway.loop.forecasting import Forecasting
    from clearway.model.actions import Action, Draw, Supply
    from clearway.model.events import Record
    from clearway.model.fleet import LimitSpec, QueueSpec
    from clearway.model.ids import JobId
    from clearway.model.reasons import Reason


UNRECORDED = frozenset({Due.PROMISE, Due.VICTIM, Due.BOOKING})
"""What falls due without a record of its own: it only has a cycle look again."""
MOST_CYCLES = 4  # where a promise or the order moved, those whom that held back are looked at again at once, so often


class Step(NamedTuple):
    """What followed from one step: what to journal, then what to tell the engine, and when to step again.

    `supply` is for the provider of machines, where there is one; `draws` for the sampler of points. `found`: what an
    engine says otherwise than the books.
    """

    records: list[Record]
    actions: list[Action]
    answers: list[object]
    next_us: int | None
    supply: Sequence[Supply] = ()
    draws: Sequence[Draw] = ()
    found: Sequence[Difference] = ()


class World:
    """All that is known, and what follows from it."""

    def __init__(self, policy: PolicySpec | None = None, seed: int = 0) -> None:
        """Begin with an empty world under a policy."""
        self.state = WorldState(policy or PolicySpec(), seed)
        self.step_records: list[Record] = []
        self.step_actions: list[Action] = []
        self.step_supply: list[Supply] = []
        self.step_draws: list[Draw] = []
        self.step_found: list[Difference] = []
        self.now_us = 0
        self.victim_us = 0
        self.unsaid: list[ev.Planned] = []
        self.forecasting: Forecasting | None = None
        """Who forecasts run times, where anyone does."""
        self.progressing = Progressing()

    # --- reading -------------------------------------------------------------------------------

    @property
    def jobs(self) -> dict[JobId, JobEntry]:
        """Jobs that are not over."""
        return self.state.jobs

    @property
    def ledger(self) -> Ledger:
        """The books."""
        return self.state.view.ledger

    @property
    def queues(self) -> dict[str, QueueSpec]:
        """Queues by name."""
        return self.state.view.queues.specs

    @property
    def limits(self) -> dict[str, LimitSpec]:
        """Shared limits by name."""
        return self.state.view.queues.limits

    @property
    def policy(self) -> PolicySpec:
        """The policy in force."""
        return self.state.policy

    @property
    def promises(self) -> Collection[JobId]:
        """Jobs that are promised a start."""
        return self.state.view.reservations

    def job_named(self, name: str) -> JobId | None:
        """Return the newest job of a name."""
        return self.state.names.get(name)

    def node_named(self, name: str) -> NodeId | None:
        """Return the node of a name."""
        return self.state.nodes.get(name)

    def node_name(self, node: NodeId) -> str:
        """Return the name of a node."""
        return self.state.node_name(node)

    def validate(self) -> None:
        """Recompute the books from the live grants; LedgerError names the first difference."""
        self.ledger.validate()
        self._validate_jobs()
        live: dict[str, dict[str, int]] = {}
        queues = self.state.view.queues
        for job, held in self.ledger.holdings.items():
            for name in queues.chain(self.jobs[job].spec.queue) if job > 0 else ():  # below 0: a machine's boot
                mine = live.setdefault(name, {})
                for one in held:
                    for resource, amount in queues.use(one.demand).items():
                        mine[resource] = mine.get(resource, 0) + amount
        wrong = queues.validate(live) + queues.validate_users(self._live_by_user())
        if wrong:
            raise LedgerError("; ".join(wrong))

    def _validate_jobs(self) -> None:
        """See that each job holds what is written down for it, and nobody else anything."""
        books = {job: {one.grant for one in held} for job, held in self.ledger.holdings.items() if job > 0}
        jobs = {job: set(entry.held.values()) for job, entry in self.jobs.items() if entry.held}
        for job in sorted(books.keys() | jobs.keys()) if books != jobs else ():
            if books.get(job) != jobs.get(job):
                raise LedgerError(f"job {job} holds {jobs.get(job)}, in the books {books.get(job)}")

    def _live_by_user(self) -> dict[tuple[str, str], dict[str, int]]:
        """Return what each user holds in each queue and below it, from the live grants."""
        found: dict[tuple[str, str], dict[str, int]] = {}
        queues = self.state.view.queues
        for job, held in self.ledger.holdings.items() if queues.any_per_user else ():
            if job < 0:
                continue
            spec = self.jobs[job].spec
            for name in queues.chain(spec.queue):
                mine = found.setdefault((name, spec.user), {})
                for one in held:
                    for resource, amount in queues.use(one.demand).items():
                        mine[resource] = mine.get(resource, 0) + amount
        return found

    # --- changing ------------------------------------------------------------------------------

    def apply(self, record: Record) -> None:
        """Change the state by a record from a journal."""
        self.state.apply(record)
        self.now_us = max(self.now_us, record.at_us)

    def emit(self, record: Record) -> None:
        """Record something: it is so from now on, and what the engine must be told is noted.

        That a cycle changed nothing is not worth a record by itself: it is written before what comes next.
        """
        if self.unsaid:
            cycles, self.unsaid = self.unsaid, []
            for cycle in cycles:
                self.state.apply(cycle)
                self.step_records.append(cycle)
        self.state.apply(record)
        self.step_records.append(record)
        if type(record) in ORDERING:
            self.step_actions += actions_of(self.state, record)

    def step(self, inputs: Sequence[Ask | Report | OrderFailed], now_us: int) -> Step:
        """Take in what came, fire what is due, decide, and return what follows."""
        if now_us < self.now_us:
            raise LedgerError(f"the clock went back from {self.now_us} to {now_us}")
        self.now_us = now_us
        self.state.view.reach(now_us)
        self.step_records, self.step_actions, self.step_supply = [], [], []
        self.step_draws, self.step_found = [], []
        answers: list[object] = [None] * len(inputs)
        inputs = _as_of_now(inputs)
        for i in _ends_first(inputs):
            answers[i] = self._take(inputs[i])
        if any(isinstance(one, ControllerUp) for one in inputs):
            reports.miss_absent(self, {one.spec.name for one in inputs if isinstance(one, NodeIsUp)})
        last_chances = self._fire()
        if self.state.view.bookings:
            bookings.see_to(self)
        self._go_on()
        for timer in last_chances:  # what starts at the very moment of its deadline has met it
            endings.due(self, timer)
        if last_chances:
            self._go_on()
        next_us = now_us if self.state.flows.stirred else self.state.timers.next_us()
        more = (self.step_supply, self.step_draws, self.step_found)
        return Step(self.step_records, self.step_actions, answers, next_us, *more)

    def _take(self, one: Ask | Report | OrderFailed) -> object:
        try:
            if isinstance(one, ControllerUp):
                self.emit(ev.ControllerStarted(self.now_us))
                self.step_actions += tell_again(self.state)
                self.step_supply += machines.tell_again(self.state)
                searches.ask_again(self)
                return None
            if isinstance(one, OrderFailed):
                machines.failed(self, one)
                return None
            if isinstance(one, Ask):
                return asks.answer(self, one)
            reports.take(self, one)
        except LedgerError:
            raise
        except ClearwayError as error:
            return error
        return None

    def _fire(self) -> list[Timer]:
        """Do what is due, and return what is due only for jobs that do not start now."""
        last_chances = []
        while (timer := self.state.timers.pop_due(self.now_us)) is not None:
            if timer.due in (Due.START_DEADLINE, Due.RETRY_WINDOW):
                last_chances.append(timer)
            else:
                self._due(timer)
        return last_chances

    def _go_on(self) -> None:
        flows.go_on(self)
        if self.state.flows.searches.stirred:
            searches.go_on(self)
        while self.state.flows.schedules.stirred:  # a run that ends at once may be what the next one waits for
            schedules.go_on(self)
            flows.go_on(self)
        self._settle()
        self.decide()
        while any(arrays.may_follow(self.state, number) for number in self.state.arrays):  # those that waited started
            self._settle()
            self.decide()
        if self.state.view.types:
            machines.see_to(self)

    def _due(self, timer: Timer) -> None:
        if timer.due == Due.LEASE:
            reports.lease_due(self, timer)
        elif timer.due == Due.PROMISE:
            self.state.view.promises_changed = True
        elif timer.due == Due.VICTIM:
            self.state.view.victims_changed = True
        elif timer.due == Due.MACHINE:
            self.state.machines.stirred = True
        elif timer.due == Due.BOOKING:
            self.state.view.promises_changed = True
            for kept in self.state.view.bookings.kept.values():
                self.ledger.gained.update(kept.places)  # those that it is for may start there from now on
        elif timer.due == Due.FLOW_LIMIT:
            flows.limit_due(self, timer)
        elif timer.due == Due.NOTICE:
            notices.see_to(self, NodeId(timer.number))
        elif timer.due == Due.BUDGET:
            budgets.due(self, timer)
        elif timer.due == Due.GUARD:
            policies.guard_due(self)
        elif timer.due == Due.SCHEDULE:
            self.state.flows.schedules.due(timer.number)
        else:
            endings.due(self, timer)

    def _settle(self) -> None:
        """Put every job that may start from now on into the line, and say why others wait."""
        state = self.state
        if self.forecasting is not None:
            self.forecasting.learn(state)
        if state.arrays:
            arrays.let_in(self)
        while state.ready:
            ready, state.ready = state.ready, {}
            for job in ready:
                entry = state.jobs.get(job)
                if entry is not None and entry.state == State.PENDING:
                    self._join(entry)

    def _join(self, entry: JobEntry) -> None:
        if entry.not_before_us > self.now_us or entry.after or entry.cls is not None:
            return
        blocked = budget_state.blocks(self.state, entry) is not None
        if entry.holder is not None or entry.gate or entry.spec.array is not None or blocked:
            verbs.say_why(self, entry)
            return
        if self.forecasting is not None:
            self.forecasting.see_to(self, entry)
        self.emit(ev.Joined(self.now_us, entry.id, self.state.view.class_of(self.state.waiting(entry))))

    def decide(self) -> None:
        """Decide what follows from what has changed."""
        view = self.state.view
        stirs = view.line.awake or view.line.new or view.ledger.gained or view.changed_limits or view.promises_changed
        if not (stirs or view.victims_changed or view.drifts) or not (view.line.count or view.elastic):
            return
        for _ in range(MOST_CYCLES):
            promised = frozenset(view.reservations)
            plan = self.cycle()
            self.unsaid.append(planned(self.state, self.now_us, len(plan.records), len(self.unsaid)))
            for record in plan.records:
                self.emit(record)
            if not self.goes_on(plan, promised):
                break
        self.wake_later(plan)

    def cycle(self, trace: Trace | None = None) -> Plan:
        """Decide once, and forget what that has looked at. A trace is told what is considered."""
        view = self.state.view
        plan = decide(view, self.now_us, trace)
        view.ledger.gained.clear()
        view.changed_limits.clear()
        view.promises_changed = view.victims_changed = False
        return plan

    def goes_on(self, plan: Plan, promised: frozenset[JobId]) -> bool:
        """Return whether another cycle follows at once: a promise was moved, or the order is another now.

        `promised` are those who had a promise before the plan, which has been recorded.
        """
        view = self.state.view
        started = {record.job for record in plan.records if isinstance(record, ev.Started)}
        moved = {record.job for record in plan.records if isinstance(record, ev.Reserved)}
        # where queues count, a start may also have moved those who had their turn before it
        shifted = bool(started and view.moving_order and view.line.awake)
        if started and view.queues.keeping and view.line.limited:
            view.changed_limits.update(view.queues.keeping)  # a queue that does not lend may keep less now
            shifted = True
        return shifted or bool((moved & promised) - started)

    def wake_later(self, plan: Plan) -> None:
        """Note when to decide again because someone is protected no longer."""
        if plan.next_us is not None and not self.now_us < self.victim_us <= plan.next_us:
            self.victim_us = plan.next_us
            self.state.timers.add(Timer(plan.next_us, Due.VICTIM, 0))

    def reach(self, now_us: int) -> None:
        """Be told the moment when records are decided again: what is due is noted, what followed is in the records."""
        self.now_us = max(self.now_us, now_us)
        self.state.view.reach(self.now_us)
        while (timer := self.state.timers.pop_due(self.now_us)) is not None:
            if timer.due in UNRECORDED:
                self._due(timer)

    @property
    def recorded(self) -> bool:
        """Whether this step has recorded anything so far."""
        return bool(self.step_records)

    # --- used by the parts of the loop -----------------------------------------------------------

    def order(self, actions: Iterable[Action]) -> None:
        """Have the engine told something that follows from no record."""
        self.step_actions += actions

    def differ(self, between: Between, texts: Iterable[str]) -> None:
        """Say what an engine and the books say differently."""
        self.step_found += [Difference(between, text) for text in texts]

    def provide(self, *orders: Supply) -> None:
        """Have the provider of machines told something."""
        self.step_supply += orders

    def stop(self, entry: JobEntry, end: End, cause: Reason) -> None:
        """Record the intent to stop an attempt; if nothing of it is left, that it is over."""
        self.emit(ev.Stopping(self.now_us, entry.id, entry.attempt, end, cause))
        if not entry.held:
            endings.conclude(self, entry)

    def wait_for(self, entry: JobEntry) -> None:
        """Say which jobs an entry waits for."""
        verbs.say_why(self, entry)


def _as_of_now(inputs: Sequence[Ask | Report | OrderFailed]) -> Sequence[Ask | Report | OrderFailed]:
    """Return inputs of one moment in which no node names a task whose end stands behind what it says.

    Ends are taken first: the node would seem to run what holds nothing there.
    """
    ends = {one.task: i for i, one in enumerate(inputs) if isinstance(one, TaskIsGone)}
    if not ends:
        return inputs
    return [_without(one, ends, i) if isinstance(one, NodeIsUp) else one for i, one in enumerate(inputs)]


def _without(said: NodeIsUp, ends: Mapping[ev.TaskRef, int], at: int) -> NodeIsUp:
    left = tuple(task for task in said.running if ends.get(task, -1) < at)
    return said if len(left) == len(said.running) else replace(said, running=left)


def _ends_first(inputs: Sequence[Ask | Report | OrderFailed]) -> list[int]:
    """Return in which order inputs of one moment are taken: what ended tasks tell first, else as they came.

    A node that no longer runs a task would say that nobody saw its end. A task that is up is not moved: a node may
    have spoken before it was started.
    """
    ended = {one.task for one in inputs if isinstance(one, TaskIsGone)}
    if not ended or len(ended) == len(inputs):
        return list(range(len(inputs)))
    early = [isinstance(one, TaskIsGone | TaskIsUp | TaskReported) and one.task in ended for one in inputs]
    return sorted(range(len(inputs)), key=lambda i: not early[i])
