"""A small town of machines with a world in charge: random workloads and mishaps, and what must hold after each step."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from clearway.engines.fake import FakeEngine, Faults, Life, ManualClock, Room
from clearway.loop.snapshot import WorldKept, restore, settled, take
from clearway.loop.world import World
from clearway.model import events as ev
from clearway.model.asks import Ask, Cancel, Change, ControllerUp, Drain, Resume, SetLimit, SetQueue, Submit, Suspend
from clearway.model.errors import ClearwayError
from clearway.model.job import WHOLE
from clearway.model.states import TERMINAL, End, State
from clearway.model.values import SECOND_US
from clearway.ports.engine import Report, TaskIsGone
from clearway.testing.builders import rebuild

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clearway.loop.entry import JobEntry
    from clearway.loop.world import Step
    from clearway.model.actions import Launch
    from clearway.model.events import Grant
    from clearway.model.fleet import LimitSpec, NodeSpec, PolicySpec, QueueSpec
    from clearway.model.ids import JobId
    from clearway.model.job import JobSpec
    from clearway.model.reasons import Reason

SNAPSHOT_EVERY = 7
MOST_STEPS_AT_ONCE = 50
"""More steps than this at one moment mean that the world asks to be called for ever."""


class Truth(NamedTuple):
    """What really happens to a job: seconds that each attempt runs, how each ends, how long it takes to stop."""

    runs_s: tuple[int, ...] = (10,)
    exits: tuple[int, ...] = (0,)
    stop_s: int = 0
    error_in: int = 0
    """The attempt that the engine cannot start; 0 for none."""

    def life(self, attempt: int) -> Life:
        error = "no such program" if attempt == self.error_in else ""
        run = self.runs_s[min(attempt, len(self.runs_s)) - 1]
        return Life(
            run * SECOND_US, self.exits[min(attempt, len(self.exits)) - 1], self.stop_s * SECOND_US, error=error
        )


class Happening(NamedTuple):
    """Something that happens from outside: a kind, and numbers that choose whom and what."""

    at_s: int
    kind: str
    number: int = 0
    other: int = 0


class Arrival(NamedTuple):
    """A job that enters, with the truth about it."""

    at_s: int
    spec: JobSpec
    truth: Truth


class Workload(NamedTuple):
    """All that happens in a town."""

    nodes: tuple[NodeSpec, ...]
    policy: PolicySpec
    arrivals: tuple[Arrival, ...]
    queues: tuple[QueueSpec, ...] = ()
    limits: tuple[LimitSpec, ...] = ()
    happenings: tuple[Happening, ...] = ()
    doubled: int = 0


class Town:
    """Lives through a workload. `watch` is called after each step, `second` names steps at which a twin is compared."""

    def __init__(
        self,
        workload: Workload,
        *,
        twins: Callable[[int], bool] = lambda _: False,
        copies: Callable[[int], bool] = lambda _: False,
    ) -> None:
        self.workload, self._twins, self._copies = workload, twins, copies
        self.clock = ManualClock()
        self.truths: dict[str, Truth] = {a.spec.name: a.truth for a in workload.arrivals}
        faults = Faults(doubled=workload.doubled)
        self.room = Room(workload.nodes, self.clock, self._life, faults=faults)
        self.engine = FakeEngine(self.room)
        self.world = World(workload.policy)
        self.journal: list[ev.Record] = []
        self.snapshot = 0, msgspec.json.encode(take(self.world))
        self.next_us: int | None = None
        self.steps = 0
        self.away: set[str] = set()
        self.checks = Checks(self)
        self._pending: list[Ask | Report] = []
        self._take_over()

    def _life(self, launch: Launch) -> Life:
        return self.truths[launch.spec.name.partition("[")[0]].life(launch.task.attempt)

    def _take_over(self) -> None:
        found = self.engine.open()
        self.turn(ControllerUp(), *found.gone, *found.nodes)

    # --- steps ---------------------------------------------------------------------------------

    def turn(self, *more: Ask | Report) -> Step:
        """Take one step with all that has come and these besides."""
        inputs = [*self.engine.reports(), *more]
        now_us = self.clock.now_us()
        twin = rebuild(self.journal, self.workload.policy) if self._twins(self.steps) else None
        copy = self._copy() if self._copies(self.steps) else None
        step = self.world.step(inputs, now_us)
        if twin is not None:
            other = twin.step(inputs, now_us)
            assert decided(other) == decided(step)
            assert other.actions == step.actions
        if copy is not None:
            other = copy.step(inputs, now_us)
            assert decided(other) == decided(step)
            assert other.actions == step.actions
        self.steps += 1
        self.journal += step.records
        self.next_us = step.next_us
        self.checks.after(step)
        self.engine.carry_out(step.actions)
        self.engine.acknowledge([one.task for one in inputs if isinstance(one, TaskIsGone)])
        return step

    def _copy(self) -> World:
        """Return the world as an older snapshot of it, sent through its bytes, and the journal after it lead to it."""
        number, body = self.snapshot
        world = restore(msgspec.json.decode(body, type=WorldKept))
        for record in self.journal[number:]:
            world.apply(record)
        whole = rebuild(self.journal, self.workload.policy)
        assert facts(world) == facts(whole) == facts(self.world)
        if self.steps % SNAPSHOT_EVERY == 0:
            self.snapshot = len(self.journal), msgspec.json.encode(take(self.world))
        return world

    def go_on(self, until_us: int) -> None:
        """Let time pass, with a step whenever something comes or the world wants one."""
        at_once, moment = 0, -1
        while True:
            now_us = self.clock.now_us()
            wanted = until_us if self.next_us is None else min(self.next_us, until_us)
            self.engine.wait(max(wanted - now_us, 0) / SECOND_US)
            now_us = self.clock.now_us()
            due = self.next_us is not None and self.next_us <= now_us
            if not self.room.told and not due:
                if now_us >= until_us:
                    return
                continue
            at_once = at_once + 1 if now_us == moment else 0
            moment = now_us
            assert at_once < MOST_STEPS_AT_ONCE, f"at {now_us} again and again: {self.journal[-5:]}"
            self.turn()

    # --- the whole life ------------------------------------------------------------------------

    def live(self) -> None:
        """Live through the workload to the end of what happens from outside."""
        for queue in self.workload.queues:
            self.turn(SetQueue(queue))
        for limit in self.workload.limits:
            self.turn(SetLimit(limit))
        ahead: list[Arrival | Happening] = [*self.workload.arrivals, *self.workload.happenings]
        for one in sorted(ahead, key=lambda a: a.at_s):
            self.go_on(one.at_s * SECOND_US)
            if isinstance(one, Arrival):
                self.turn(Submit((one.spec,)))
            else:
                self._happen(one)

    def heal(self) -> None:
        """Bring back every node, whole and open."""
        for name in sorted(self.away):
            self.room.bring_back(name)
        self.away.clear()
        for name in list(self.room.nodes):
            self.room.hurt_devices(name, ())
        self.turn()
        self.turn(*(Drain(name, drained=False) for name in self.room.nodes))
        self.turn(*(Resume(job) for job, entry in self.world.jobs.items() if entry.state == State.SUSPENDED))

    def settle(self, for_s: int = 100_000) -> None:
        """Let a long time pass."""
        self.go_on(self.clock.now_us() + for_s * SECOND_US)

    def _may_stand_still(self, job: JobId) -> bool:
        entry = self.world.jobs[job]
        return entry.spec.array is None and entry.state in (State.STARTING, State.RUNNING)

    def _happen(self, what: Happening) -> None:
        names = list(self.room.nodes)
        name = names[what.number % len(names)] if names else ""
        jobs = list(self.world.jobs)
        job = jobs[what.number % len(jobs)] if jobs else None
        match what.kind:
            case "lose" | "cut" if name and name not in self.away:
                self.away.add(name)
                (self.room.lose_node if what.kind == "lose" else self.room.cut_node)(name)
            case "back" if name in self.away:
                self.away.discard(name)
                self.room.bring_back(name)
            case "sick" if name and name not in self.away:
                self.room.hurt_devices(name, tuple(range(what.other % (self.room.nodes[name].gpus + 1))))
            case "drain" | "undrain" if name:
                self.turn(Drain(name, what.kind == "drain"))
            case "cancel" if job is not None:
                self.turn(Cancel(job))
            case "suspend" if job is not None and self._may_stand_still(job):
                self.turn(Suspend(job))
            case "resume" if job is not None and self.world.jobs[job].state == State.SUSPENDED:
                self.turn(Resume(job))
            case "queue" | "priority":
                self._other_words(what, job)
            case "restart":
                self.world = rebuild(self.journal, self.workload.policy)
                self.engine = FakeEngine(self.room)
                self._take_over()
            case "again":
                refs = [r.task for r in self.journal if isinstance(r, ev.TaskEnded)]
                if refs:
                    self.turn(TaskIsGone(refs[what.number % len(refs)], what.other))
            case _:
                pass
        self.turn()

    def _other_words(self, what: Happening, job: JobId | None) -> None:
        """Have a queue or a job be as it is not."""
        if what.kind == "priority":
            self.turn(*([Change(job, ("priority",), priority=what.other % 4)] if job is not None else []))
            return
        found = [self.world.queues[name] for name in sorted(self.world.queues)]
        self.turn(SetQueue(_other_words(found[what.number % len(found)], what.other)))

    # --- what came of it -----------------------------------------------------------------------

    def starts(self) -> dict[str, list[int]]:
        """Return when the attempts of each job started, by name."""
        names = {r.job: r.spec.name for r in self.journal if isinstance(r, ev.Submitted)}
        found: dict[str, list[int]] = {}
        for record in self.journal:
            if isinstance(record, ev.Started):
                found.setdefault(names[record.job], []).append(record.at_us)
        return found

    def ends(self) -> dict[str, tuple[int, State]]:
        """Return when and how each job ended, by name."""
        names = {r.job: r.spec.name for r in self.journal if isinstance(r, ev.Submitted)}
        return {names[r.job]: (r.at_us, r.state) for r in self.journal if isinstance(r, ev.Ended)}


def facts(world: World) -> WorldKept:
    """Return all that a world knows but for what a turn leaves behind."""
    return settled(take(world))


def _other_words(queue: QueueSpec, number: int) -> QueueSpec:
    """Return a queue with another weight, limit, guarantee, or say in borrowing and lending."""
    match number:
        case 0 | 1 | 2:
            return replace(queue, weight=number)
        case 3:
            return replace(queue, guarantee=(("gpus", 2 * WHOLE),))
        case 4:
            return replace(queue, guarantee=(), limit=())
        case 5:
            return replace(queue, limit=(("gpus", 3 * WHOLE),))
        case _:
            return replace(queue, borrow=not queue.borrow, lend=not queue.lend)


def decided(step: Step) -> list[ev.Record]:
    """Return the records of a step but for the words in which classes wait, and for how many cycles there were.

    A class that sleeps keeps the reason that put it to sleep; a world that was rebuilt looks at it again.
    """
    return [record for record in step.records if not isinstance(record, ev.ClassWaits | ev.Planned)]


class Checks:
    """What holds after every step, worked out from the journal and the grants, not from the books."""

    def __init__(self, town: Town) -> None:
        self.town = town
        self.attempts: Counter[JobId] = Counter()
        self.open: dict[JobId, int] = {}
        self.over: set[JobId] = set()
        self.taken: dict[JobId, int] = {}

    def after(self, step: Step) -> None:
        """Check all of it."""
        self.town.world.validate()
        for answer in step.answers:
            assert not isinstance(answer, ClearwayError), answer
        for record in step.records:
            self._record(record)
        started = [record for record in step.records if isinstance(record, ev.Started | ev.Resized)]
        self._devices()
        for record in step.records:
            if isinstance(record, ev.Started):
                self._asked(record)
        if started:
            self._limits({self.town.world.jobs[r.job].spec.queue for r in started if r.job in self.town.world.jobs})
        for entry in self.town.world.jobs.values():
            self._job(entry)

    def _record(self, record: ev.Record) -> None:
        job = getattr(record, "job", None)
        if job in self.over:
            assert not isinstance(record, (ev.Started, ev.Ended, ev.AttemptEnded, ev.Requeued, ev.Stopping)), record
        if isinstance(record, ev.Started):
            assert record.job not in self.open, f"a second live attempt: {record}"
            self.attempts[record.job] += 1
            assert record.attempt == self.attempts[record.job]
            self.open[record.job] = record.attempt
            assert record.cause.code
        elif isinstance(record, ev.Stopping) and record.attempt:  # an array that is stopped has none itself
            assert self.open[record.job] == record.attempt
            assert record.cause.code
            if record.end == End.PREEMPTED:
                last = self.taken.get(record.job)
                assert last is None or record.at_us - last >= self.town.workload.policy.calm_us, (
                    "stopped again too soon"
                )
                self.taken[record.job] = record.at_us
        elif isinstance(record, ev.AttemptEnded):
            assert self.open.pop(record.job) == record.attempt
        elif isinstance(record, ev.Ended):
            assert record.job not in self.open
            assert record.state in TERMINAL
            assert record.reason is not None or record.state == State.SUCCEEDED
            self.over.add(record.job)

    def _devices(self) -> None:
        """No device holds more than one whole job, or parts of more than itself; no node more than it has."""
        world = self.town.world
        shares: Counter[tuple[int, int]] = Counter()
        rooms: Counter[tuple[int, int]] = Counter()
        amounts: Counter[tuple[int, str]] = Counter()
        turns: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        slices: list[tuple[int, int]] = []
        for entry in world.jobs.values():
            assert len(
                {(g.node, d) for g in entry.held.values() for d in g.devices if _waits_turn(entry.spec, g)}
            ) == sum(len(g.devices) for g in entry.held.values() if _waits_turn(entry.spec, g)), (
                "two tasks of one job take turns with one another"
            )
            for grant in entry.held.values():
                demand = entry.spec.roles[grant.role].demand
                for d in grant.devices:
                    if demand.slice:
                        slices.append((grant.node, d))
                        continue
                    whole = demand.gpus > 0 and not demand.colocate
                    if demand.colocate:
                        turns[grant.node, d].append(demand.colocate)
                    if demand.colocate and len(turns[grant.node, d]) > 1:
                        rooms[grant.node, d] += grant.gpu_memory
                        continue
                    shares[grant.node, d] += WHOLE if demand.gpus else grant.share
                    rooms[grant.node, d] += world.ledger.specs[grant.node].gpu_memory if whole else grant.gpu_memory
                for what in ("cpus", "memory"):
                    amounts[grant.node, what] += getattr(demand, what)
        assert len(set(slices)) == len(slices), "a slice is held twice"
        for (node, d), share in shares.items():
            spec = world.ledger.specs[node]
            assert d < spec.gpus
            assert d not in spec.cut
            assert share <= WHOLE
            assert rooms[node, d] <= spec.gpu_memory
        assert all(len(on_it) <= 1 + min(on_it) for on_it in turns.values())
        for (node, what), amount in amounts.items():
            assert amount <= getattr(world.ledger.specs[node], what)

    def _asked(self, record: ev.Started) -> None:
        """What is granted is what was asked for, on nodes that take work, on healthy devices."""
        world = self.town.world
        entry = world.jobs.get(record.job)
        if entry is None:
            return
        per_role = Counter(grant.role for grant in record.grants)
        for number, role in enumerate(entry.spec.roles):
            assert role.min_tasks <= per_role[number] <= role.tasks
            nodes = [grant.node for grant in record.grants if grant.role == number]
            assert not role.one_per_node or len(set(nodes)) == len(nodes)
        for grant in record.grants:
            demand, spec = entry.spec.roles[grant.role].demand, world.ledger.specs[grant.node]
            assert len(grant.devices) == (demand.gpus or int(demand.one_device or bool(demand.slice)))
            assert not demand.slice or spec.slices[grant.devices[0] - spec.gpus][1] == demand.slice
            assert len(set(grant.devices)) == len(grant.devices)
            assert not demand.gpu_models or spec.gpu_model in demand.gpu_models
            assert not world.ledger.drained[grant.node]
            assert grant.node not in world.state.lost
            assert not set(grant.devices) & world.ledger.sick[grant.node]
        assert all(world.state.over.get(other) == State.SUCCEEDED for other in _bound(self.town.journal, record.job))

    def _limits(self, queues: set[str]) -> None:
        """Where something started, no queue above it and no shared limit holds more than it may."""
        world = self.town.world
        used: Counter[tuple[str, str]] = Counter()
        slots: Counter[str] = Counter()
        for entry in world.jobs.values():
            if entry.held:
                slots.update(set(entry.spec.uses))
            for at in _chain(world, entry.spec.queue):
                for grant in entry.held.values():
                    demand = entry.spec.roles[grant.role].demand
                    used[at, "gpus"] += demand.milli_gpus
                    used[at, "cpus"] += demand.cpus
        for queue in queues:
            for at in _chain(world, queue):
                for resource, limit in world.queues[at].limit:
                    assert used[at, resource] <= limit, (at, resource, used[at, resource], limit)
        for name, many in slots.items():
            assert many <= world.limits[name].slots

    def _job(self, entry: JobEntry) -> None:
        if entry.state == State.PENDING:
            assert not entry.held
            assert reasons(self.town.world, entry), f"{entry.spec.name} waits without a reason"
        else:
            array = entry.id in self.town.world.state.arrays
            assert entry.held or array, f"{entry.spec.name} is {entry.state} and holds nothing"
        if entry.state == State.STOPPING:
            assert entry.intent is not None


def reasons(world: World, entry: JobEntry) -> tuple[Reason, ...]:
    """Return why a job waits: its own reasons, or its class's."""
    if entry.reasons or entry.cls is None:
        return entry.reasons
    return world.state.view.line.classes[entry.cls].reasons


def _bound(journal: Sequence[ev.Record], job: JobId) -> tuple[JobId, ...]:
    return next((r.after for r in journal if isinstance(r, ev.Submitted) and r.job == job), ())


def _chain(world: World, queue: str) -> list[str]:
    found = []
    while queue:
        found.append(queue)
        queue = world.queues[queue].parent
    return found


def _waits_turn(spec: JobSpec, grant: Grant) -> bool:
    return spec.roles[grant.role].demand.colocate > 0
