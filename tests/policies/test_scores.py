"""Scores of places, worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from clearway.core.devices import fits, pick
from clearway.core.ledger import Held, Ledger
from clearway.core.place import grant_of
from clearway.model.events import Grant
from clearway.model.ids import NodeId
from clearway.model.job import Demand
from clearway.model.values import SECOND_US
from clearway.policies.registry import SCORES
from clearway.policies.score.affinity import Affinity
from clearway.policies.score.fragmentation import POINT, Fragmentation
from clearway.policies.score.tightest import Tightest
from clearway.testing.builders import node

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clearway.model.fleet import NodeSpec

GB = 10**9
ONE, TWO = Demand(gpus=1), Demand(gpus=2)


def books(*specs: NodeSpec) -> Ledger:
    ledger = Ledger()
    for i, spec in enumerate(specs):
        ledger.add_node(NodeId(i), spec)
    return ledger


def rows(ledger: Ledger) -> NDArray[np.int64]:
    return np.arange(ledger.count)


def lost(ledger: Ledger, demand: Demand) -> list[int]:
    return [int(one) for one in ledger.fragments.lost(demand, ledger, rows(ledger))]


def seen(ledger: Ledger, **many: int) -> None:
    for name, count in many.items():
        ledger.asked.count({"one": ONE, "two": TWO, "half": Demand(share=500)}[name], count)


BUSY = st.lists(
    st.sampled_from([ONE, TWO, Demand(share=300), Demand(gpus=1, colocate=2), Demand(cpus=2000)]), max_size=6
)


@pytest.mark.parametrize("name", sorted(SCORES))
@given(
    before=BUSY, demand=st.sampled_from([ONE, TWO, Demand(share=300), Demand(gpus=2, colocate=1), Demand(cpus=1000)])
)
def test_every_score_is_whole_numbers_from_0_to_100(name: str, before: list[Demand], demand: Demand) -> None:
    ledger = books(
        node("a", 4, links=((0, 1), (2, 3))), node("b", 2, price_micros=5), node("c", 1, gpu_model="T"), node("d", 0)
    )
    for number, one in enumerate(before):
        at = NodeId(number % 3)
        devices = pick(ledger, at, one)
        ledger.asked.count(one, 9)
        if devices is not None:
            ledger.take(grant_of(ledger, 0, number, at, devices, one), one)
    room = np.array([at for at in range(ledger.count) if fits(ledger, NodeId(at), demand)], np.int64)
    assume(len(room))
    rule = SCORES[name]
    found = rule.score(demand, ledger, room)
    assert found.dtype == np.int64
    assert found.shape == room.shape, "one for each node"
    assert found.min() >= 0
    assert found.max() <= 100 * getattr(rule, "fine", 1)


def test_tightest_counts_what_stays_free() -> None:
    ledger = books(node("a", 5), node("b", 1))
    assert Tightest().score(ONE, ledger, rows(ledger)).tolist() == [75, 100]


def test_affinity_is_the_time_of_copying() -> None:
    ledger = books(node("a", bandwidth=10_000), node("b", bandwidth=10_000, holds=("d",)), node("c"))
    demand = Demand(gpus=1, inputs=(("d", 2250 * GB),))
    assert Affinity().score(demand, ledger, rows(ledger)).tolist() == [25, 100, 100]
    assert not Affinity().concerns(ONE)


def test_affinity_follows_copies() -> None:
    ledger = books(node("a", bandwidth=10_000), node("b", bandwidth=10_000))
    demand = Demand(gpus=1, inputs=(("d", 2250 * GB),))
    held = Held(Grant(0, 0, NodeId(0), (0,), 1000), demand)
    ledger.reads(held, "t", 0)
    assert Affinity().score(demand, ledger, rows(ledger)).tolist() == [100, 25]
    ledger.reads(held, "t", 1799 * SECOND_US, goes=True)
    assert Affinity().score(demand, ledger, rows(ledger)).tolist() == [25, 25]


def test_the_use_that_is_lost_follows_the_mix() -> None:
    ledger = books(node("a", 2), node("b", 1))
    seen(ledger, one=10, two=10)
    assert lost(ledger, ONE) == [1500 * 1000, 500 * 1000]


def test_a_remainder_that_nobody_can_use_is_no_loss() -> None:
    ledger = books(node("a", 1), node("b", 1))
    seen(ledger, one=20)
    ledger.take(Grant(0, 0, NodeId(0), (0,), 500), Demand(share=500))
    assert lost(ledger, Demand(share=500)) == [0, 1000 * 1000]


def test_cpus_that_run_out_are_a_loss() -> None:
    ledger = books(node("a", 4, cpus=6_000), node("b", 4, cpus=60_000))
    ledger.asked.count(Demand(gpus=1, cpus=1_500), 20)
    assert lost(ledger, Demand(cpus=3_000)) == [2000 * 1000 // 2, 0], "room for two fewer, and still for one"


def test_parts_of_a_task_count_half_and_enough_for_one_the_other_half() -> None:
    ledger = books(node("a", 4, cpus=2_000), node("b", 4))
    ledger.asked.count(Demand(gpus=1, cpus=1_500), 20)
    before, after = (1_333 + 4_000) // 2 * 1000, 666 // 2 * 1000
    loss, none = lost(ledger, Demand(cpus=1_000))
    assert abs(loss - (before - after)) <= 1000, "CPUs reach for 1.33 tasks before, and for 0.67 and none whole after"
    assert none == 0


def test_whoever_asks_for_no_cpus_does_not_mind_that_none_are_left() -> None:
    ledger = books(node("a", 2, cpus=1_000), node("b", 2))
    ledger.asked.count(Demand(gpus=1), 20)
    assert lost(ledger, Demand(cpus=1_000)) == [0, 0]


def test_what_changes_is_worked_out_anew() -> None:
    ledger = books(node("a", 2), node("b", 2))
    seen(ledger, one=10, two=10)
    assert lost(ledger, ONE) == [1500 * 1000, 1500 * 1000]
    ledger.take(Grant(0, 0, NodeId(0), (0,), 1000), ONE)
    assert lost(ledger, ONE) == [500 * 1000, 1500 * 1000]
    ledger.give(Grant(0, 0, NodeId(0), (0,), 1000), ONE)
    assert lost(ledger, ONE) == [1500 * 1000, 1500 * 1000]


def test_a_scarce_model_has_a_price() -> None:
    ledger = books(node("a", 4, gpu_model="T4"), node("b", 4, gpu_model="A100"))
    ledger.asked.count(Demand(gpus=1, gpu_models=("A100",)), 10)
    ledger.asked.count(ONE, 10)
    # half of all that comes, as much as there is, is half of 8 devices: all 4 of the A100
    assert ledger.fragments.price(ledger, rows(ledger)).tolist() == [0, 1000]
    anywhere = Fragmentation().score(ONE, ledger, rows(ledger))
    assert anywhere[0] > anywhere[1]


def test_before_anyone_has_asked_the_tightest_fit_decides() -> None:
    ledger = books(node("a", 5), node("b", 1))
    assert Fragmentation().score(ONE, ledger, rows(ledger)).tolist() == [75 * POINT, 100 * POINT]
