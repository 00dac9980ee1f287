"""The causes for which a job may stop another, by small trees of queues; what a claim is, at every level."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from clearway.core.fairness import Fairness
from clearway.core.ledger import Ledger
from clearway.core.protocols import Shares, Taker, Victim
from clearway.core.queues import Amounts, Queues
from clearway.model.fleet import QueueSpec
from clearway.model.ids import JobId, NodeId
from clearway.model.job import WHOLE, Demand
from clearway.policies.registry import CAUSES
from clearway.testing.builders import job, node


def gpus(many: int) -> tuple[tuple[str, int], ...]:
    return (("gpus", many * WHOLE),)


class Lab(NamedTuple):
    """Queues over a fleet, and what is asked of the causes."""

    queues: Queues
    shares: Shares

    def refuses(self, cause: str, queue: str, need: int = 1, priority: int = 0) -> str:
        return CAUSES[cause].refusal(Taker(JobId(1), queue, priority, {"gpus": need * WHOLE}), self.shares)

    def allows(  # noqa: PLR0913 - one word for each fact
        self, cause: str, taker: str, victim: str, *, need: int = 1, gives: int = 1,
        gone: dict[str, Amounts] | None = None, priority: tuple[int, int] = (0, 0), ran_s: int = 0, saves: bool = True,
    ) -> bool:  # fmt: skip
        one = Taker(JobId(1), taker, priority[0], {"gpus": need * WHOLE})
        other = Victim(victim, priority[1], ran_s * 1_000_000, saves, {"gpus": gives * WHOLE})
        return CAUSES[cause].allows(one, other, self.shares, gone or {})


def lab(
    *specs: QueueSpec, holds: dict[str, int], asks: dict[str, int] | None = None, slice_s: int = 0,
    lowest: dict[str, list[int]] | None = None, fair_order: bool = True,
) -> Lab:  # fmt: skip
    queues, ledger = Queues(), Ledger()
    ledger.add_node(NodeId(0), node("n", 8))
    for spec in specs:
        queues.set_queue(spec)
    for name, many in holds.items():
        queues.count(name, Demand(gpus=many), 1)
    for name, many in (asks or {}).items():
        queues.ask(job("j", gpus=many, queue=name), 1)
    fairness = Fairness(queues, ledger, "gpu")
    return Lab(queues, Shares(queues, fairness, slice_s * 1_000_000 or None, fair_order, lowest or {}))


# --- priority ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mine", "theirs", "may"), [(1, 0, True), (0, 0, False), (0, 1, False), (5, 4, True)])
def test_priority_takes_from_lower_ones_of_its_own_queue(mine: int, theirs: int, may: object) -> None:
    one = lab(QueueSpec("a"), QueueSpec("b"), holds={"a": 2, "b": 2})
    assert one.allows("priority", "a", "a", priority=(mine, theirs)) == may
    assert not one.allows("priority", "a", "b", priority=(mine, theirs))


def test_priority_says_when_nobody_lower_runs() -> None:
    one = lab(QueueSpec("a"), QueueSpec("b"), holds={"a": 2, "b": 2}, lowest={"a": [1, 5], "b": [0]})
    assert one.refuses("priority", "a", priority=2) == ""
    assert "lower priority than 1" in one.refuses("priority", "a", priority=1)
    assert one.refuses("priority", "default", priority=9)


# --- reclaim -------------------------------------------------------------------------------------


def test_reclaim_wants_a_guarantee_that_has_room() -> None:
    one = lab(QueueSpec("a", guarantee=gpus(2)), QueueSpec("b"), holds={"a": 1, "b": 7})
    assert one.refuses("reclaim", "a") == ""
    assert "guarantee" in one.refuses("reclaim", "a", need=2)
    assert one.refuses("reclaim", "b")
    assert one.allows("reclaim", "a", "b")
    assert not one.allows("reclaim", "a", "b", need=2)


def test_reclaim_leaves_a_queue_its_guarantee() -> None:
    one = lab(QueueSpec("a", guarantee=gpus(4)), QueueSpec("b", guarantee=gpus(4)), holds={"b": 5})
    assert one.allows("reclaim", "a", "b", need=4)
    assert not one.allows("reclaim", "a", "b", need=4, gone={"b": {"gpus": WHOLE}})
    assert one.allows("reclaim", "a", "b", need=4, gives=5), "a rigid victim may carry its queue below"


def test_reclaim_never_takes_from_its_own_queue() -> None:
    one = lab(QueueSpec("a", guarantee=gpus(2)), holds={"a": 1})
    assert not one.allows("reclaim", "a", "a")


def test_reclaim_between_brothers_is_not_judged_by_their_parent() -> None:
    specs = (
        QueueSpec("p", guarantee=gpus(2)),
        QueueSpec("a", "p", guarantee=gpus(2)),
        QueueSpec("b", "p"),
        QueueSpec("z"),
    )
    one = lab(*specs, holds={"b": 4, "z": 4})
    assert one.allows("reclaim", "a", "b"), "below p, a is within its guarantee and b above its own"
    assert not one.allows("reclaim", "a", "z"), "p itself is above its guarantee"


def test_reclaim_needs_the_victim_above_at_every_level() -> None:
    specs = QueueSpec("a", guarantee=gpus(2)), QueueSpec("p", guarantee=gpus(6)), QueueSpec("b", "p")
    one = lab(*specs, holds={"b": 6})
    assert not one.allows("reclaim", "a", "b"), "b lends from p, and p is within its guarantee"


# --- fair ----------------------------------------------------------------------------------------


def test_fair_takes_while_the_taker_stays_behind() -> None:
    one = lab(QueueSpec("a"), QueueSpec("b"), holds={"a": 8}, asks={"b": 8})
    taken = {"a": 0}
    for held in range(8):
        gone = {"a": {"gpus": held * WHOLE}}
        if one.allows("fair", "b", "a", need=held + 1, gone=gone):
            taken["a"] += 1
    assert taken["a"] == 3, "4 and 4 would be equal: no exchange"


def test_fair_takes_only_where_the_order_goes_by_shares_too() -> None:
    assert lab(QueueSpec("a"), QueueSpec("b"), holds={"b": 8}, asks={"a": 8}).refuses("fair", "a") == ""
    assert "order" in lab(QueueSpec("a"), holds={}, fair_order=False).refuses("fair", "a")


def test_fair_says_at_once_where_nobody_is_above() -> None:
    alone = lab(QueueSpec("a"), holds={"a": 4})
    assert alone.refuses("fair", "a") == "no queue would keep a larger share than queue a"
    nested = (QueueSpec("p"), QueueSpec("a", "p"), QueueSpec("b", "p"), QueueSpec("z"))
    assert lab(*nested, holds={"b": 8}, asks={"a": 8}).refuses("fair", "a") == "", "b stands above it below p"
    assert lab(*nested, holds={"z": 1, "a": 1}).refuses("fair", "a"), "p would stand above z, and a above b"


def test_fair_by_weight() -> None:
    one = lab(QueueSpec("a"), QueueSpec("b", weight=3), holds={"a": 8}, asks={"b": 8})
    may = [many for many in range(1, 9) if one.allows("fair", "b", "a", need=many, gives=many)]
    assert may == [1, 2, 3, 4, 5], "6 of 8 would be just its share"


def test_fair_leaves_a_queue_within_its_guarantee_alone() -> None:
    one = lab(QueueSpec("a", guarantee=gpus(4)), QueueSpec("b"), QueueSpec("c"), holds={"a": 4, "c": 4}, asks={"b": 3})
    assert not one.allows("fair", "b", "a")
    assert one.allows("fair", "b", "c")


def test_fair_compares_where_two_queues_part() -> None:
    specs = QueueSpec("p"), QueueSpec("x", "p"), QueueSpec("y", "p"), QueueSpec("z")
    one = lab(*specs, holds={"x": 4, "z": 4}, asks={"y": 4})
    assert one.allows("fair", "y", "x"), "inside p"
    assert not one.allows("fair", "y", "z"), "p has as much as z"


def test_fair_never_takes_inside_a_queue_or_from_one_above_or_below() -> None:
    one = lab(QueueSpec("p"), QueueSpec("x", "p"), holds={"p": 4, "x": 4}, asks={"x": 4, "p": 4})
    assert not one.allows("fair", "x", "x")
    assert not one.allows("fair", "x", "p")
    assert not one.allows("fair", "p", "x")


def test_fair_a_queue_without_weight_takes_from_none_with_weight() -> None:
    one = lab(QueueSpec("zero", weight=0), QueueSpec("norm"), holds={"norm": 8}, asks={"zero": 8})
    assert not one.allows("fair", "zero", "norm")
    other = lab(QueueSpec("zero", weight=0), QueueSpec("norm"), holds={"zero": 8}, asks={"norm": 8})
    assert other.allows("fair", "norm", "zero")


# --- time slices ---------------------------------------------------------------------------------


def test_turns_are_taken_after_a_time_slice_by_equals() -> None:
    one = lab(QueueSpec("a"), QueueSpec("b"), holds={"a": 1, "b": 1}, slice_s=30)
    assert one.refuses("time_slice", "a") == ""
    assert one.allows("time_slice", "a", "a", ran_s=30)
    assert not one.allows("time_slice", "a", "a", ran_s=29)
    assert not one.allows("time_slice", "a", "b", ran_s=99)
    assert not one.allows("time_slice", "a", "a", ran_s=99, priority=(1, 0))
    assert not one.allows("time_slice", "a", "a", ran_s=99, priority=(0, 1))
    assert not one.allows("time_slice", "a", "a", ran_s=99, saves=False), "it would begin anew each time"


def test_without_a_quantum_there_are_no_turns() -> None:
    one = lab(QueueSpec("a"), holds={"a": 1})
    assert "time slice" in one.refuses("time_slice", "a")
    assert not one.allows("time_slice", "a", "a", ran_s=10**6)
