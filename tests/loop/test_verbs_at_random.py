"""Whatever people ask in whatever order: the books add up, bookings are kept, and a rebuilt world decides the same."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import msgspec
import pytest

from clearway.loop.snapshot import WorldKept, restore, take
from clearway.model import events as ev
from clearway.model.asks import Book, Cancel, Change, Hold, Release, Requeue, SetQueue, Submit, Unbook
from clearway.model.errors import LedgerError
from clearway.model.fleet import BookingSpec, PolicySpec, QueueSpec
from clearway.model.states import State
from clearway.model.values import SECOND_US
from clearway.testing.builders import Bench, job, node
from tests.loop.town import decided, facts, reasons

if TYPE_CHECKING:
    from clearway.loop.world import Step, World
    from clearway.model.asks import Ask
    from clearway.model.ids import JobId
    from clearway.model.job import JobSpec

STEPS = 120
POLICIES = (
    PolicySpec(order=("fifo",), backfill="none"),
    PolicySpec(),
    PolicySpec(backfill="conservative"),
    PolicySpec(order=("fair", "priority", "fifo"), preempt=("priority", "fair"), calm_us=0, priority_inheritance=True),
)


def standing(world: World) -> object:
    """Return all that what people asked has left in a world."""
    view = world.state.view
    jobs = {e.id: (e.state, e.cls, e.reasons, e.spec, e.holder, e.held, e.heir) for e in world.jobs.values()}
    line = {number: sorted(cls.jobs) for number, cls in view.line.classes.items() if cls.jobs}
    by_user = {key: {k: v for k, v in use.items() if v} for key, use in view.queues.used_by.items()}
    return jobs, line, view.bookings.kept, {key: use for key, use in by_user.items() if use}, view.queues.specs


def rebuilt(bench: Bench) -> None:
    """A world made from the journal stands as this one; with nothing promised it decides the same at once."""
    other = bench.rebuilt()
    assert standing(other) == standing(bench.world)
    copy = restore(msgspec.json.decode(msgspec.json.encode(take(bench.world)), type=WorldKept))
    assert facts(copy) == facts(other) == facts(bench.world)
    copy.validate()
    if bench.world.policy.backfill == "none":
        now = decided(bench.step())
        assert decided(other.step([], bench.now_us)) == decided(copy.step([], bench.now_us)) == now


class Crowd:
    """People who ask for this and that."""

    def __init__(self, seed: int, policy: PolicySpec) -> None:
        self.rng = random.Random(seed)
        self.bench = Bench(node("n", 4), node("m", 4), node("o", 2), policy=policy)
        self.bench.step(SetQueue(QueueSpec("lab", limit_per_user=(("gpus", 4000),))), SetQueue(QueueSpec("x", "lab")))
        self.number = 0

    def ask(self) -> Ask:
        rng, live = self.rng, sorted(self.bench.world.jobs)
        about = ["hold", "release", "requeue", "priority", "queue", "limit", "cancel"] if live else []
        kinds = ["submit"] * 3 + about
        kind = rng.choice([*kinds, "book", "unbook", "set queue"])
        if kind == "submit":
            return Submit(tuple(self.spec() for _ in range(rng.randint(1, 2))))
        if kind in ("book", "unbook", "set queue"):
            return self.other(kind)
        return self.of_job(kind, rng.choice(live))

    def of_job(self, kind: str, number: JobId) -> Ask:
        if kind == "priority":
            return Change(number, ("priority",), priority=self.rng.randint(-2, 2))
        if kind == "queue":
            return Change(number, ("queue",), queue=self.rng.choice(["default", "x", "lab"]))
        if kind == "limit":
            limit = self.rng.choice([None, self.rng.randint(1, 60) * SECOND_US])
            return Change(number, ("time_limit",), time_limit_us=limit)
        if kind == "cancel":
            return Cancel(number)
        if kind == "requeue":
            return Requeue(number, hold=self.rng.random() < 0.5)
        return Hold(number) if kind == "hold" else Release(number)

    def other(self, kind: str) -> Ask:
        rng = self.rng
        if kind == "unbook":
            return Unbook(f"b{rng.randint(0, 5)}")
        if kind == "set queue":
            limit = rng.choice([(), (("gpus", rng.randint(1, 6) * 1000),)])
            return SetQueue(QueueSpec("x", "lab", limit_per_user=limit, weight=rng.randint(0, 2)), ("limit_per_user",))
        begin = self.bench.now_us + rng.randint(-5, 40) * SECOND_US
        whom = tuple(rng.sample(["lab", "x", "ann", "bob"], rng.randint(0, 2)))
        name = f"b{rng.randint(0, 5)}"
        where = {"nodes": (rng.choice("nmo"),)} if rng.random() < 0.5 else {"gpus": rng.randint(1, 6)}
        return Book(BookingSpec(name, max(begin, 0), begin + rng.randint(6, 60) * SECOND_US, whom=whom, **where))

    def spec(self) -> JobSpec:
        self.number += 1
        rng = self.rng
        limit = rng.choice([None, rng.randint(1, 60) * SECOND_US])
        queue, user = rng.choice(["default", "x", "lab"]), rng.choice(["ann", "bob", "eve"])
        tasks = rng.choice([1, 1, 1, 2, 3])
        words = {"queue": queue, "user": user, "time_limit_us": limit, "priority": rng.randint(-1, 1)}
        return job(f"j{self.number}", rng.randint(1, 3), tasks, rng.choice([1, tasks]), max_retries=9, **words)

    def something_ends(self) -> None:
        running = [e for _, e in sorted(self.bench.world.jobs.items()) if e.held]
        if running:
            self.look(self.bench.end(self.rng.choice(running).id, self.rng.choice([0, 0, 1])))

    # --- what holds -----------------------------------------------------------------------------

    def look(self, step: Step) -> None:
        for answer in step.answers:
            assert not isinstance(answer, LedgerError), answer
        for record in step.records:
            if isinstance(record, ev.Started):
                self.booked(record)
        for entry in self.bench.world.jobs.values():
            if entry.state == State.PENDING:
                assert reasons(self.bench.world, entry), entry.spec.name
                assert entry.holder is None or entry.cls is None
        users = self.bench.world.state.view.queues
        for queue in ("lab", "x"):
            for _, limit in users.specs[queue].limit_per_user:  # of devices: they set no other
                self.limited(queue, limit, step)

    def limited(self, queue: str, limit: int, step: Step) -> None:
        """Whoever started now leaves no user above a limit."""
        started = {r.job for r in step.records if isinstance(r, ev.Started)}
        jobs = self.bench.world.jobs
        for user in {jobs[j].spec.user for j in started if j in jobs and queue in self.chain(jobs[j].spec.queue)}:
            mine = (e for e in jobs.values() if e.spec.user == user and queue in self.chain(e.spec.queue))
            assert sum(e.spec.roles[g.role].demand.milli_gpus for e in mine for g in e.held.values()) <= limit

    def chain(self, queue: str) -> tuple[str, ...]:
        return self.bench.world.state.view.queues.chain(queue)

    def booked(self, record: ev.Started) -> None:
        """What starts on a node that is kept whole ends before, or is one of those it is kept for."""
        view = self.bench.world.state.view
        spec = self.bench.world.jobs[record.job].spec if record.job in self.bench.world.jobs else None
        if spec is None:
            return
        end = float("inf") if spec.estimate_us is None else record.at_us + spec.estimate_us
        for kept in view.bookings.kept.values():
            mine = spec.user in kept.booking.whom or set(self.chain(spec.queue)) & set(kept.booking.whom)
            if not mine and kept.booking.from_us < end and kept.booking.to_us > record.at_us:
                for grant in record.grants:
                    assert kept.places.get(grant.node) != -1, (record, kept)


@pytest.mark.parametrize("policy", POLICIES, ids=["none", "easy", "conservative", "fair"])
@pytest.mark.parametrize("seed", range(12))
def test_whatever_people_ask(seed: int, policy: PolicySpec) -> None:
    crowd = Crowd(seed, policy)
    bench = crowd.bench
    for _ in range(STEPS):
        what = crowd.rng.random()
        if what < 0.6:
            crowd.look(bench.step(crowd.ask()))
        elif what < 0.8:
            crowd.something_ends()
        else:
            crowd.look(bench.pass_s(crowd.rng.randint(1, 20)))
        if crowd.rng.random() < 0.1:
            rebuilt(bench)
