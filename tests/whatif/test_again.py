"""Every recorded decision comes out again bit for bit, reasons included; a journal that was changed is found out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given, settings

from clearway.model.asks import Drain
from clearway.model.events import ControllerStarted, Planned, PolicyChanged, Record, Started
from clearway.model.fleet import PolicySpec
from clearway.model.ids import JobId
from clearway.model.policies import Promote, Rollback, SetShadow
from clearway.model.values import SECOND_US
from clearway.ports.journal import Entry
from clearway.testing.builders import Bench, job, node
from clearway.whatif.again import Again, Cycle
from tests.loop.test_properties import few
from tests.loop.town import Town, Workload
from tests.loop.workloads import workloads
from tests.test_differential import simulated
from tests.whatif.towns import JOBS, NODES, POLICIES, town

if TYPE_CHECKING:
    from collections.abc import Sequence


def cycles(journal: Sequence[Record], policy: PolicySpec | None = None, **more: Any) -> list[Cycle]:
    entries = [Entry(number, record) for number, record in enumerate(journal, 1)]
    return list(Again(entries, policy).cycles(**more))


def agree(journal: Sequence[Record], policy: PolicySpec | None = None) -> int:
    found = cycles(journal, policy)
    assert [cycle.difference for cycle in found if cycle.difference] == []
    assert [cycle.planned.cycle for cycle in found] == list(range(1, len(found) + 1))
    return len(found)


@settings(max_examples=40, deadline=None)
@given(nodes=NODES, jobs=JOBS, policy=POLICIES)
def test_small_towns_are_decided_again(
    nodes: list[dict[str, Any]], jobs: list[dict[str, Any]], policy: PolicySpec
) -> None:
    bench = town(nodes, jobs, policy)
    for entry in list(bench.world.jobs.values()):
        if entry.held:
            bench.pass_s(3)
            bench.end(entry.id)
    assert agree(bench.journal, policy)


@given(workloads())
@few
def test_towns_with_mishaps_and_controllers_that_die_are_decided_again(workload: Workload) -> None:
    lived = Town(workload)
    lived.live()
    lived.settle(500)
    agree(lived.journal, workload.policy)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("bundle", ["plain", "fair", "taking"])
def test_a_long_life_is_decided_again(seed: int, bundle: str) -> None:
    policy = {
        "plain": PolicySpec(),
        "fair": PolicySpec(order=("fair", "priority", "fifo"), preempt=("priority", "reclaim", "fair")),
        "taking": PolicySpec(preempt=("priority",), backfill="conservative", min_runtime_us=5 * SECOND_US),
    }[bundle]
    assert agree(list(simulated(seed, policy)), policy) > 50


def _bench() -> Bench:
    bench = Bench(node("n1"), node("n2"))
    bench.submit(job("a", 4), job("b", 2), job("c", 4))
    return bench


def test_a_start_that_was_changed_is_named() -> None:
    journal = list(_bench().journal)
    at = next(i for i, record in enumerate(journal) if isinstance(record, Started))
    start = journal[at]
    assert isinstance(start, Started)
    grants = tuple(msgspec.structs.replace(grant, node=1 - grant.node) for grant in start.grants)
    journal[at] = msgspec.structs.replace(start, grants=grants)
    (first, *_) = [cycle.difference for cycle in cycles(journal) if cycle.difference]
    assert first is not None
    assert (first.number, first.recorded, first.again) == (at + 1, journal[at], start)


def test_another_policy_or_a_record_that_is_missing_is_named() -> None:
    journal = list(_bench().journal)
    at = next(i for i, record in enumerate(journal) if isinstance(record, Planned))
    other = [*journal[:at], PolicyChanged(0, PolicySpec(backfill="none")), *journal[at:]]
    (first, *_) = [cycle.difference for cycle in cycles(other) if cycle.difference]
    assert first is not None
    assert first.what.startswith("revision")
    found = [cycle.difference for cycle in cycles(journal, PolicySpec(backfill="none")) if cycle.difference]
    assert found
    assert found[0] is not None
    assert found[0].what.startswith("policy")


def test_a_cycle_is_seen_whole() -> None:
    bench = _bench()
    (first, *_) = cycles(bench.journal, traced=1)
    assert [(one.name, one.nodes) for one in first.turns] == [("a", ("n1",)), ("b", ("n2",)), ("c", ())]
    assert first.turns[0].second is not None
    assert first.turns[0].second.node == "n2"
    assert {part.rule for part in first.turns[0].second.parts}
    assert first.considered == 3


def test_moments_bound_what_is_seen() -> None:
    bench = _bench()
    bench.at(9, Drain("n1"))
    bench.at(20)
    bench.submit(job("d", 1))
    late = cycles(bench.journal, since_us=10 * SECOND_US)
    assert [cycle.planned.at_us for cycle in late] == [20 * SECOND_US]
    early = cycles(bench.journal, until_us=10 * SECOND_US)
    assert all(cycle.planned.at_us < 10 * SECOND_US for cycle in early)
    assert len(early) + len(late) == agree(bench.journal)


def test_a_journal_from_before_cycles_were_recorded_has_none() -> None:
    old = [record for record in _bench().journal if not isinstance(record, Planned)]
    assert any(isinstance(record, ControllerStarted) for record in old)
    assert cycles(old) == []


def test_cycles_on_both_sides_of_a_promotion_and_a_rollback_are_decided_again_alike() -> None:
    bench = Bench(node("n", 1))
    bench.submit(job("runs"), job("long", time_limit_us=9 * SECOND_US), job("short", time_limit_us=SECOND_US))
    bench.step(SetShadow("sjf", PolicySpec(("sjf",))))
    bench.step(Promote(3600 * SECOND_US))
    bench.end(JobId(1))  # now the short one starts
    assert bench.entry(JobId(3)).attempt == 1
    bench.step(Rollback("ann"))
    bench.submit(job("last", time_limit_us=SECOND_US))
    bench.end(JobId(3))
    assert bench.entry(JobId(2)).attempt == 1
    assert agree(bench.journal) == len(bench.all(Planned))
    assert len({one.policy for one in bench.all(Planned)}) == 2
