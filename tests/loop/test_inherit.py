"""Inherited priorities against a slow reference, and the moments at which they come and go."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from clearway.model.asks import Cancel, Change, Hold, SetLimit, SetPolicy
from clearway.model.fleet import LimitSpec, PolicySpec
from clearway.testing.builders import Bench, job, node
from tests.loop.test_properties import QUICK_TO_STOP
from tests.loop.town import Town
from tests.loop.workloads import workloads

if TYPE_CHECKING:
    from clearway.loop.entry import JobEntry
    from clearway.loop.world import Step, World
    from clearway.model.asks import Ask
    from clearway.model.ids import JobId
    from clearway.ports.engine import Report
    from tests.loop.town import Workload

EXAMPLES = int(os.environ.get("CLEARWAY_EXAMPLES", "60"))
INHERITING = PolicySpec(preempt=("priority",), priority_inheritance=True)


def reference(world: World) -> dict[JobId, int]:
    """Raise priorities along every wait, again and again until nothing moves."""
    jobs, found = world.jobs, {number: entry.spec.priority for number, entry in world.jobs.items()}
    moved = True
    while moved:
        moved = False
        for lender, borrower in waits(world):
            if found[lender] > found[borrower]:
                found[borrower], moved = found[lender], True
        for number, entry in jobs.items():  # what an array inherits, each of its jobs does
            lent = found[entry.array] if entry.array is not None else 0
            if entry.array is not None and found[number] < lent > jobs[entry.array].spec.priority:
                found[number], moved = lent, True
    assert found.keys() == jobs.keys()
    return found


def waits(world: World) -> list[tuple[JobId, JobId]]:
    """Return who waits for whom: to succeed, or to give back a slot when none is free."""
    found = [(number, other) for number, entry in world.jobs.items() for other in entry.after if other in world.jobs]
    for name, limit in world.limits.items():
        holders = [number for number, entry in world.jobs.items() if entry.held and name in entry.spec.uses]
        if len(holders) >= limit.slots:
            found += [
                (number, holder)
                for number, entry in world.jobs.items()
                if entry.cls is not None and name in entry.spec.uses
                for holder in holders
            ]
    return found


def inherited(entry: JobEntry, world: World) -> None:
    assert world.state.priority(entry) == entry.heir[0]
    if entry.id in world.state.view.running:
        assert world.state.view.running[entry.id].priority == entry.heir[0]
    elif entry.cls is not None:
        assert world.state.view.line.member(entry.id).candidate.priority == entry.heir[0]


class LendingTown(Town):
    """A town in which every priority is compared with the reference after each turn."""

    def turn(self, *more: Ask | Report) -> Step:
        step = super().turn(*more)
        expected = reference(self.world)
        for number, entry in self.world.jobs.items():
            assert entry.heir[0] == expected[number], (entry.spec.name, entry.heir, expected[number])
            inherited(entry, self.world)
        return step


@given(workloads(12), st.booleans())
@settings(max_examples=EXAMPLES, phases=QUICK_TO_STOP)
def test_what_is_inherited_follows_from_who_waits_for_whom(workload: Workload, taking: bool) -> None:  # noqa: FBT001 - drawn
    policy = INHERITING if taking else msgspec.structs.replace(INHERITING, preempt=())
    LendingTown(workload._replace(policy=policy)).live()


# --- by hand -------------------------------------------------------------------------------------


def lent() -> tuple[Bench, JobId, JobId]:
    """A job that holds the only slot, and an urgent one that waits for it."""
    bench = Bench(node(gpus=4), policy=INHERITING)
    bench.step(SetLimit(LimitSpec("db", 1)))
    (holder,) = bench.submit(job("holder", uses=("db",)))
    (urgent,) = bench.submit(job("urgent", priority=9, uses=("db",)))
    assert bench.entry(holder).held
    assert bench.entry(holder).heir == (9, "urgent")
    return bench, holder, urgent


def test_a_loan_ends_when_the_lender_is_held_back_cancelled_or_less_urgent() -> None:
    for ask in (Hold, Cancel):
        bench, holder, urgent = lent()
        bench.step(ask(urgent))
        assert bench.entry(holder).heir == (0, "holder")
    bench, holder, urgent = lent()
    bench.step(Change(urgent, ("priority",), priority=4))
    assert bench.entry(holder).heir == (4, "urgent")


def test_a_loan_ends_when_another_slot_is_there() -> None:
    bench, holder, urgent = lent()
    bench.step(SetLimit(LimitSpec("db", 2)))
    assert bench.entry(urgent).held
    assert bench.entry(holder).heir == (0, "holder")
    bench.step(SetLimit(LimitSpec("db", 1)))
    (third,) = bench.submit(job("third", priority=5, uses=("db",)))
    assert not bench.entry(third).held
    assert bench.entry(holder).heir == (5, "third")


def test_the_most_urgent_lends_and_equals_are_named_by_their_entry() -> None:
    bench, holder, _ = lent()
    bench.submit(job("later", priority=9, uses=("db",)), job("more", priority=12, uses=("db",)))
    assert bench.entry(holder).heir == (12, "more")
    bench.step(Cancel(bench.world.job_named("more") or holder))
    assert bench.entry(holder).heir == (9, "urgent")


def test_loans_begin_and_end_with_the_policy() -> None:
    bench, holder, _ = lent()
    running = bench.world.state.view.running
    bench.step(SetPolicy(PolicySpec()))
    assert running[holder].priority == 0
    bench.submit(job("more", priority=12, uses=("db",)))
    bench.step(SetPolicy(INHERITING))
    assert running[holder].priority == 12
    assert bench.rebuilt().jobs[holder].heir == (12, "more")


def test_a_rebuilt_world_has_the_same_loans() -> None:
    bench, holder, _ = lent()
    assert bench.rebuilt().jobs[holder].heir == (9, "urgent")
