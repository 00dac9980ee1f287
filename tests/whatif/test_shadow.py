"""A policy beside the one in force: it decides as it would if it were, and what is told of that is what comes true."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from clearway.forecast import RunTimes
from clearway.loop.forecasting import Forecasting
from clearway.loop.world import World
from clearway.model import events as ev
from clearway.model.asks import SetPolicy
from clearway.model.errors import LedgerError
from clearway.model.fleet import NodeSpec, PolicySpec
from clearway.model.job import Demand, JobSpec, Role
from clearway.model.policies import Guard, SetShadow, Worse
from clearway.model.use import Used
from clearway.model.values import SECOND_US
from clearway.sim.engine import SimEngine
from clearway.sim.heap import VirtualClock
from clearway.sim.truth import Truth
from clearway.store.memory import MemoryJournal
from clearway.testing.virtual import run_virtual
from clearway.whatif.shadow.beside import Beside
from clearway.whatif.shadow.pairs import LIVE, SHADOW, Pairs, Sums, of_kind, worst
from tests.loop.test_sizing import GIB, ends, spec, taught
from tests.test_differential import SETTINGS, machines, workload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.model.asks import Ask
    from clearway.testing.virtual import Arrival

FIFO = PolicySpec(("fifo",), backfill="none", estimate="forecast")
SJF = PolicySpec(("sjf",), backfill="none", estimate="forecast")
JOBS = 200


def two_kinds(seed: int = 1) -> list[Arrival]:
    """Return short jobs of one user and long ones of another, of lengths that can be learnt."""
    rng, at_us, made = random.Random(seed), 0, list["Arrival"]()
    for number in range(JOBS):
        at_us += rng.randrange(200 * SECOND_US)
        long = rng.random() < 0.25
        ran_us = round((600 if long else 45) * SECOND_US * rng.uniform(0.8, 1.25))
        who = "ann" if long else "bob"
        spec = JobSpec(
            f"{'train' if long else 'test'}-{number}", (Role(demand=Demand(gpus=1)),), user=who, tenant=f"of-{who}"
        )
        made.append((at_us, spec, Truth(runtimes_us=(ran_us,))))
    return made


def lived(policy: PolicySpec, arrivals: Sequence[Arrival], candidate: PolicySpec | None = None) -> MemoryJournal:
    journal, clock, world = MemoryJournal(), VirtualClock(), World(policy)
    world.forecasting = Forecasting(RunTimes())
    engine = SimEngine(clock, [NodeSpec("n", gpus=2, gpu_model="A100")], policy.lease_us)
    first: list[Ask] = [SetPolicy(policy), *([SetShadow("candidate", candidate)] if candidate else [])]
    run_virtual(world, clock, engine, journal, arrivals, first=first)
    return journal


def waits_us(journal: MemoryJournal) -> dict[str, int]:
    """Return the mean wait by tenant, read from the records by this test's own eyes."""
    submits, found = {}, dict[str, list[int]]()
    for entry in journal.read():
        if isinstance(entry.record, ev.Submitted):
            submits[entry.record.job] = entry.record
        elif isinstance(entry.record, ev.Started) and entry.record.attempt == 1:
            submit = submits[entry.record.job]
            found.setdefault(submit.spec.tenant, []).append(entry.record.at_us - submit.at_us)
            found.setdefault("", []).append(entry.record.at_us - submit.at_us)
    return {tenant: sum(waits) // len(waits) for tenant, waits in found.items()}


def beside(journal: MemoryJournal) -> Beside:
    record = next(e.number for e in journal.read() if type(e.record).__name__ == "ShadowSet")
    found = Beside(journal, record, RunTimes())
    while found.follow(most=500):
        pass
    found.shadow.advance(found.now_us + 2)  # what follows at the very last moment
    found.shadow.world.validate()
    return found


def over(found: Beside) -> bool:
    return found.over


def sums(found: Beside, kind: str = "", name: str = "") -> Sums:
    return found.pairs.now(found.now_us)[0][kind, name]


def test_what_it_says_is_near_to_what_comes_true() -> None:
    arrivals = two_kinds()
    journal, really = lived(FIFO, arrivals, SJF), waits_us(lived(SJF, arrivals))
    as_is, found = waits_us(journal), beside(journal)
    whole = sums(found)
    said = [total // whole.jobs for total in whole.wait_us]
    assert whole.jobs == JOBS
    assert said[LIVE] == as_is[""]
    gain, true_gain = said[LIVE] - said[SHADOW], as_is[""] - really[""]
    assert true_gain > 30 * SECOND_US  # there is something to be foretold
    assert abs(gain - true_gain) <= true_gain * 15 // 100
    for tenant in ("of-ann", "of-bob"):
        mine = sums(found, "tenant", tenant)
        error = abs(mine.wait_us[SHADOW] // mine.jobs - really[tenant])
        assert error <= max(really[tenant] * 15 // 100, 10 * SECOND_US)
    assert whole.earlier > whole.later > 0


def lived_beside_the_same(seed: int, arrivals: Sequence[Arrival]) -> tuple[World, Beside]:
    """Return a world that has lived, and what is told of a candidate that differs in nothing but a word."""
    policy, journal, clock = PolicySpec(), MemoryJournal(), VirtualClock()
    world = World(policy, seed)
    world.forecasting = Forecasting(RunTimes())
    first = (*SETTINGS, SetShadow("same", replace(policy, calm_us=1)))
    run_virtual(world, clock, machines(clock, policy), journal, arrivals, first=first)
    return world, beside(journal)


@pytest.mark.parametrize("seed", range(2))
def test_a_candidate_that_decides_the_same_never_parts(seed: int) -> None:
    """Gangs, retries, limits, dependencies, cancellations, a node that is lost: nothing differs but a word."""
    arrivals = [(at_us, spec, replace(truth, stop_us=0)) for at_us, spec, truth in workload(seed)]
    world, found = lived_beside_the_same(seed, arrivals)
    whole = sums(found)
    assert whole.jobs > 80
    assert (whole.same, whole.wait_us[0] - whole.wait_us[1]) == (whole.jobs, 0)
    assert found.shadow.world.jobs.keys() == world.jobs.keys()
    assert sum(map(len, found._reality._own.values())) <= 2 * len(world.jobs)  # what is over is forgotten


def test_jobs_that_start_a_little_earlier_are_not_thought_to_be_shorter() -> None:
    """Stops that take a while part both worlds: what really still runs goes on in the other, too."""
    _, found = lived_beside_the_same(4, workload(4))
    live_us, would_us = sums(found).wait_us
    assert live_us * 70 <= would_us * 100 <= live_us * 110


def test_what_jobs_need_is_given_to_them_in_both_worlds() -> None:
    """Jobs that are given less than they ask for, one of them too little, wait as long beside as they really do."""
    made, journal = taught(spec()), MemoryJournal()
    made.step(SetShadow("same", replace(PolicySpec(), calm_us=1)))
    record = made.world.state.revision
    jobs = [made.submit(spec())[0] for _ in range(5)]  # of two GPUs
    ends(made, jobs[0], 137, oom=True, used=Used(peak_memory=2 * GIB))
    for job in (jobs[1], jobs[0], *jobs[2:]):
        ends(made, job)
    made.pass_s(1)
    journal.append(made.journal)
    found = Beside(journal, record, RunTimes())
    found.follow()
    found.shadow.advance(found.now_us + 2)
    whole = sums(found)
    assert (whole.jobs, whole.same, whole.wait_us[LIVE]) == (5, 5, whole.wait_us[SHADOW])
    assert found.shadow.world.jobs == {}


def test_another_policy_holds_its_books_among_all_kinds_of_jobs() -> None:
    policy, journal, clock = PolicySpec(), MemoryJournal(), VirtualClock()
    candidate = PolicySpec(("priority", "largest"), backfill="conservative", preempt=("priority",))
    first = (*SETTINGS, SetShadow("other", candidate))
    run_virtual(World(policy, 2), clock, machines(clock, policy), journal, workload(2), first=first)
    assert sums(beside(journal)).jobs > 80


def test_it_ends_with_its_candidate_and_begins_at_its_record_alone() -> None:
    journal = lived(FIFO, two_kinds()[:20], SJF)
    found = beside(journal)
    journal.append([ev.PolicyChanged(found.now_us + 1, PolicySpec())])
    assert not over(found)
    found.follow()
    assert over(found)  # it is compared with another policy from there on
    with pytest.raises(ValueError, match="sets no candidate"):
        Beside(journal, 1, RunTimes())


def test_who_starves_is_seen_though_he_never_starts() -> None:
    pairs = Pairs(0)
    for number in range(30):
        pairs.enter(number, JobSpec(f"j{number}", tenant="lab"), number)  # type: ignore[arg-type]  # a number is one
        pairs.started(SHADOW, number, number + 10 * SECOND_US)  # type: ignore[arg-type]
    guard = Guard(1)
    assert worst(of_kind(pairs.now(60 * SECOND_US)[0], "tenant"), guard) is None
    found = worst(of_kind(pairs.now(100 * SECOND_US)[0], "tenant"), guard)
    assert found is not None
    assert (found.tenant, found.jobs, found.would_us) == ("lab", 30, 10 * SECOND_US)
    assert worst(of_kind(pairs.now(100 * SECOND_US)[0], "tenant"), replace(guard, jobs=31)) is None


def test_the_guard_names_whom_it_hurts_most_and_bears_what_it_was_told() -> None:
    def group(jobs: int, wait_s: int, would_s: int) -> Sums:
        made = Sums()
        made.jobs, made.wait_us = jobs, [wait_s * jobs * SECOND_US, would_s * jobs * SECOND_US]
        return made

    guard = Guard(0, percent=20, least_us=60 * SECOND_US, jobs=20)
    a_little, more, most = group(50, 1199, 1000), group(20, 400, 300), group(20, 900, 300)
    assert worst([("a", a_little)], guard) is None
    assert worst([("short", group(99, 50, 1))], guard) is None
    found = worst([("a", a_little), ("b", more), ("c", most), ("few", group(19, 9000, 1))], guard)
    assert found == Worse("c", 20, 900 * SECOND_US, 300 * SECOND_US)


def test_bars_stay_few() -> None:
    pairs = Pairs(0)
    for number in range(2000):
        at_us = number * 600 * SECOND_US
        pairs.enter(number, JobSpec("j"), at_us)  # type: ignore[arg-type]
        for side in (LIVE, SHADOW):
            pairs.started(side, number, at_us)  # type: ignore[arg-type]
            pairs.over(side, number, at_us, SECOND_US)  # type: ignore[arg-type]
    bars = pairs.now(0)[1]
    assert sum(one.jobs for one in bars.values()) == 2000
    assert len(bars) <= 96


def test_a_clock_that_looked_ahead_takes_what_was_written_meanwhile() -> None:
    journal = lived(FIFO, two_kinds()[:40], SJF)
    record = next(e.number for e in journal.read() if type(e.record).__name__ == "ShadowSet")
    found = Beside(journal, record, RunTimes())
    try:
        while found.follow(found.now_us + 30 * SECOND_US, most=50):
            found.shadow.advance(found.now_us + 5 * SECOND_US)
    except LedgerError:  # pragma: no cover
        pytest.fail("the clock went back")
    assert sums(found).jobs == 40
