"""The laws of taking, checked record by record on a world that follows the journal."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

from clearway.core.resources import GPUS
from clearway.loop.world import World
from clearway.model import events as ev
from clearway.model.job import WHOLE
from clearway.model.states import End, State
from tests.core.test_fairness import Organisation
from tests.loop.town import Town

if TYPE_CHECKING:
    from clearway.core.view import Reservation
    from clearway.loop.entry import JobEntry
    from clearway.loop.world import Step
    from clearway.model.asks import Ask
    from clearway.model.events import Record
    from clearway.model.ids import JobId
    from clearway.ports.engine import Report
    from tests.loop.town import Workload

ROUNDING = Fraction(1, 10**5)
ENDLESS = 10**9  # how far a queue is above its share that has none
Use = dict[str, dict[str, int]]


class LawfulTown(Town):
    """A town whose every record is judged before it takes effect."""

    def __init__(self, workload: Workload) -> None:
        self.laws = Laws(workload)
        super().__init__(workload)

    def turn(self, *more: Ask | Report) -> Step:
        step = super().turn(*more)
        self.laws.after(step)
        return step


class Laws:
    """What must hold of each wish to stop a job or a task of it, and of each start while a place is being cleared."""

    def __init__(self, workload: Workload) -> None:
        self.policy = workload.policy
        self.world = World(workload.policy)
        self.stopped_us: dict[JobId, int] = {}
        self.pairs: Counter[tuple[str, int, JobId]] = Counter()
        self.mishaps = 0
        self.gone: dict[str, Use] = {}

    def after(self, step: Step) -> None:
        """Judge the records of a step one after the other."""
        self.gone.clear()
        for record in step.records:
            self._judge(record)
            self.world.apply(record)
        self.world.validate()

    def _judge(self, record: Record) -> None:
        if isinstance(record, ev.Stopping) and record.end == End.PREEMPTED:
            self._stop(record)
        elif isinstance(record, ev.Resized):
            self._resize(record)
        elif isinstance(record, ev.Started):
            self._start(record)
        elif isinstance(record, ev.AttemptEnded) and record.end == End.PREEMPTED:
            self.stopped_us[record.job] = record.at_us
        elif isinstance(record, (ev.NodeLost, ev.NodeQuiet, ev.NodeDrained, ev.NodeRemoved, ev.DevicesChanged)):
            self.mishaps += 1

    # --- stopping ------------------------------------------------------------------------------

    def _stop(self, record: ev.Stopping) -> None:
        victim, taker = self.world.jobs[record.job], self._named(str(record.cause.get("first")))
        cause, now = str(record.cause.get("cause")), record.at_us
        assert cause in self.policy.preempt, record
        assert victim.spec.preemptible, record
        assert victim.state in (State.STARTING, State.RUNNING, State.SUSPENDED), record
        assert now - victim.started_us >= self.policy.min_runtime_us, record
        assert now - self.stopped_us.get(record.job, -(1 << 60)) >= self.policy.calm_us, record
        assert taker.state == State.PENDING, "only for one that waits"
        assert taker.id != victim.id, record
        self._cause(cause, taker, victim, now)
        self._count_gone(taker, victim)
        pair = (taker.spec.name, taker.attempt, victim.id)
        self.pairs[pair] += 1
        assert self.pairs[pair] <= 1 + self.mishaps, f"{taker.spec.name} stops {victim.spec.name} again and again"

    def _cause(self, cause: str, taker: JobEntry, victim: JobEntry, now_us: int) -> None:
        mine, theirs = self.world.state.priority(taker), self.world.state.priority(victim)
        same = taker.spec.queue == victim.spec.queue
        if cause == "priority":
            assert same
            assert mine > theirs
        elif cause == "time_slice":
            assert same
            assert mine == theirs
            assert self.policy.time_slice_us is not None
            assert now_us - victim.started_us >= self.policy.time_slice_us
        else:
            assert not same
            assert self._above(victim.spec.queue, taker), f"{victim.spec.queue} is within its guarantee"
            if cause == "fair":
                self._fair(taker, victim)
        if cause != "reclaim" and same:
            view, running = self.world.state.view, self.world.state.view.running[victim.id]
            key = view.inner_key(self.world.state.candidate(taker), now_us)
            assert key < view.standing_if_stopped(running, now_us), "who is stopped would come back at once"
        if cause == "reclaim":
            assert self._within(taker, victim.spec.queue), f"{taker.spec.queue} has no claim"

    def _fair(self, taker: JobEntry, victim: JobEntry) -> None:
        """The taker's queue holds less of its share afterwards than the victim's, by exact shares of what is so now."""
        if self.policy.fairness_measure != "gpu":
            return
        view = self.world.state.view
        shares = Organisation.of(view.queues, view.ledger).exact_shares()
        mine = self._below_shared(taker.spec.queue, victim.spec.queue)[-1]
        theirs = self._below_shared(victim.spec.queue, taker.spec.queue)[-1]
        need = sum(role.min_tasks * role.demand.milli_gpus for role in taker.spec.roles)
        gives = sum(victim.spec.roles[grant.role].demand.milli_gpus for grant in victim.held.values())
        after = self._ratio(mine, self._used(mine, taker)["gpus"] + need + self._back(mine, taker), shares)
        left = self._ratio(theirs, self._used(theirs, taker)["gpus"] - gives, shares)
        assert after < left or abs(after[1] - left[1]) < ROUNDING, (taker.spec.name, victim.spec.name, after, left)

    def _back(self, queue: str, taker: JobEntry) -> int:
        """What already goes for the taker's sake is not the taker's to subtract."""
        return self.gone.get(taker.spec.name, {}).get(queue, {}).get("gpus", 0)

    def _ratio(self, queue: str, milli: int, shares: dict[str, Fraction]) -> tuple[bool, Fraction]:
        share = shares[queue] * WHOLE
        light = self.world.queues[queue].weight == 0
        return light, Fraction(milli) / share if share else Fraction(ENDLESS if milli else 0)

    def _named(self, name: str) -> JobEntry:
        job = self.world.job_named(name)
        assert job is not None
        return self.world.jobs[job]

    # --- guarantees, by the grants -------------------------------------------------------------

    def _used(self, queue: str, taker: JobEntry) -> dict[str, int]:
        """What live grants hold in a queue and below it, without what already goes for a taker's sake."""
        used: Counter[str] = Counter()
        for entry in self.world.jobs.values():
            if queue in self._chain(entry.spec.queue):
                for grant in entry.held.values():
                    used["gpus"] += entry.spec.roles[grant.role].demand.milli_gpus
        less = self.gone.get(taker.spec.name, {}).get(queue, {})
        return {"gpus": used["gpus"] - less.get("gpus", 0)}

    def _count_gone(self, taker: JobEntry, victim: JobEntry) -> None:
        freed = sum(victim.spec.roles[grant.role].demand.milli_gpus for grant in victim.held.values())
        mine = self.gone.setdefault(taker.spec.name, {})
        for queue in self._chain(victim.spec.queue):
            at = mine.setdefault(queue, {})
            at["gpus"] = at.get("gpus", 0) + freed

    def _above(self, queue: str, taker: JobEntry) -> bool:
        levels = self._below_shared(queue, taker.spec.queue)
        stated = {q: dict(self.world.queues[q].guarantee).get("gpus", 0) for q in levels}
        return all(self._used(q, taker)["gpus"] > stated[q] for q in levels)

    def _within(self, taker: JobEntry, other: str) -> bool:
        need = sum(role.min_tasks * role.demand.milli_gpus for role in taker.spec.roles)
        stated = {
            q: dict(self.world.queues[q].guarantee).get("gpus") for q in self._below_shared(taker.spec.queue, other)
        }
        verdicts = [self._used(q, taker)["gpus"] + need <= most for q, most in stated.items() if most is not None]
        return bool(verdicts) and all(verdicts)

    def _chain(self, queue: str) -> list[str]:
        found = []
        while queue:
            found.append(queue)
            queue = self.world.queues[queue].parent
        return found

    def _below_shared(self, queue: str, other: str) -> list[str]:
        others = set(self._chain(other))
        return [name for name in self._chain(queue) if name not in others]

    # --- shrinking and starting ----------------------------------------------------------------

    def _resize(self, record: ev.Resized) -> None:
        entry = self.world.jobs[record.job]
        going = entry.leaving | {(grant.role, grant.index) for grant in record.less}
        for number, role in enumerate(entry.spec.roles):
            have = sum(key[0] == number and key not in going for key in entry.held)
            have += sum(grant.role == number for grant in record.more)
            assert have <= role.tasks, record
            assert have >= role.min_tasks or not record.less, f"fewer than the least tasks: {record}"

    def _start(self, record: ev.Started) -> None:
        """A start leaves room for what is being cleared for others, unless its job goes before them."""
        view = self.world.state.view
        waiting = view.line.member(record.job)
        mine = view.turn_key(view.line.classes[waiting.cls], waiting)
        for promise in view.reservations.values():
            if not promise.held or promise.job == record.job or not self._same_nodes(promise, record):
                continue
            other = view.line.find(promise.job)
            if other is None:  # it has started in this very step: that its promise is over is recorded last
                continue
            if view.turn_key(view.line.classes[other.cls], other) < mine and self._whole_devices(promise, record):
                assert self._room(promise, record) >= 0, f"{record} takes what is cleared for job {promise.job}"

    def _whole_devices(self, promise: Reservation, record: ev.Started) -> bool:
        """Whether all devices there are held, and asked for, whole: then counting them says whether there is room."""
        nodes = {grant.node for grant in promise.grants}
        there = {job for node in nodes for job in self.world.state.view.ledger.on_node[node]}
        roles = [role for job in {promise.job, record.job, *there} for role in self.world.jobs[job].spec.roles]
        return all(role.demand.gpus and not role.demand.colocate for role in roles)

    def _same_nodes(self, promise: Reservation, record: ev.Started) -> bool:
        return bool({grant.node for grant in promise.grants} & {grant.node for grant in record.grants})

    def _room(self, promise: Reservation, record: ev.Started) -> int:
        """How many whole devices would be left on the tightest node once those who leave are gone."""
        view, left = self.world.state.view, []
        spec = view.line.member(promise.job).spec
        for node in sorted({grant.node for grant in promise.grants}):
            room = int(view.ledger.free[GPUS][node])
            for job in view.ledger.on_node[node]:
                running = view.running.get(job)
                entry = self.world.jobs[job]
                for key, grant in entry.held.items():
                    if grant.node == node and running is not None and (running.stopping or key in running.leaving):
                        room += len(grant.devices)
            room -= sum(len(grant.devices) for grant in record.grants if grant.node == node)
            room -= sum(spec.roles[grant.role].demand.gpus for grant in promise.grants if grant.node == node)
            left.append(room)
        return min(left)
