"""Fair shares against a slow exact reference, on one level and on trees; what is published about dominant shares."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearway.core.fairness import FINE, RATIO, TOTAL, Fairness, Wish, capacity, water_fill
from clearway.core.ledger import Ledger
from clearway.core.queues import Queues
from clearway.model.fleet import NodeSpec, QueueSpec
from clearway.model.ids import NodeId
from clearway.model.job import WHOLE, Demand
from clearway.testing.builders import GIB, job, node, role

if TYPE_CHECKING:
    from clearway.model.job import JobSpec

# --- one level -----------------------------------------------------------------------------------


def exact(wishes: list[Wish], amount: int) -> list[Fraction]:
    """Max-min fair shares by raising all that are not full together, in exact fractions."""
    least = [Fraction(min(w.wants, w.guarantee)) for w in wishes]
    kept = [given if w.lends else Fraction(w.guarantee) for given, w in zip(least, wishes, strict=True)]
    if sum(kept) > amount:
        return [k * amount / sum(kept) for k in kept]
    shares, left = list(least), amount - sum(kept, Fraction(0))
    for weighty in (True, False):
        weight = [Fraction(w.weight) if weighty else Fraction(1) for w in wishes]
        rising = {i for i, w in enumerate(wishes) if (w.weight > 0) == weighty and shares[i] < w.wants}
        while rising and left > 0:
            step = min((wishes[i].wants - shares[i]) / weight[i] for i in rising)
            step = min(step, left / sum(weight[i] for i in rising))
            for i in rising:
                shares[i] += step * weight[i]
            left -= step * sum(weight[i] for i in rising)
            rising = {i for i in rising if shares[i] < wishes[i].wants}
    return shares


def spends_too_much(wishes: list[Wish], amount: int) -> bool:
    """Whether the guarantees that are claimed or kept are more than there is."""
    return sum(min(w.wants, w.guarantee) if w.lends else w.guarantee for w in wishes) > amount


def wishes(most: int = 10**13) -> st.SearchStrategy[list[Wish]]:
    amounts = st.one_of(st.just(0), st.integers(0, 20), st.integers(0, most))
    return st.lists(st.builds(Wish, amounts, amounts, st.integers(0, 5), st.booleans()), max_size=7)


@given(wishes(), st.integers(0, 3 * 10**13))
def test_shares_are_those_of_the_exact_reference(many: list[Wish], amount: int) -> None:
    for share, reference in zip(water_fill(many, amount), exact(many, amount), strict=True):
        assert isinstance(share, int)
        assert abs(share - reference) <= len(many)  # each queue rounds down once, and the next ones get what that left


@given(wishes(), st.integers(0, 3 * 10**13))
def test_nothing_is_shared_out_twice_or_left_while_somebody_wants_it(many: list[Wish], amount: int) -> None:
    shares = water_fill(many, amount)
    assert all(share >= 0 for share in shares)
    if spends_too_much(many, amount):
        assert sum(shares) <= amount
        return
    assert all(min(w.wants, w.guarantee) <= share <= w.wants for share, w in zip(shares, many, strict=True))
    idle = sum(max(w.guarantee - w.wants, 0) for w in many if not w.lends)
    assert sum(shares) == min(sum(w.wants for w in many), amount - idle)


@given(wishes(), st.integers(0, 3 * 10**13))
def test_a_queue_without_weight_goes_beyond_its_guarantee_only_when_all_others_are_full(
    many: list[Wish], amount: int
) -> None:
    shares = water_fill(many, amount)
    if spends_too_much(many, amount):
        return
    beyond = [share > min(w.wants, w.guarantee) for share, w in zip(shares, many, strict=True)]
    if any(more and w.weight == 0 for more, w in zip(beyond, many, strict=True)):
        assert all(share == w.wants for share, w in zip(shares, many, strict=True) if w.weight)


@given(wishes(10**6), st.integers(0, 3 * 10**6), st.randoms(use_true_random=False))
def test_the_order_of_the_queues_moves_no_share_by_more_than_rounding(
    many: list[Wish], amount: int, chance: object
) -> None:
    order = list(range(len(many)))
    chance.shuffle(order)  # type: ignore[attr-defined]
    shares, mixed = water_fill(many, amount), water_fill([many[i] for i in order], amount)
    assert all(abs(shares[i] - mixed[at]) <= len(many) for at, i in enumerate(order))


@given(wishes(10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_more_to_share_leaves_nobody_with_less(many: list[Wish], amount: int, more: int) -> None:
    before, after = water_fill(many, amount), water_fill(many, amount + more)
    if not spends_too_much(many, amount):
        assert all(a >= b - len(many) for a, b in zip(after, before, strict=True))


@pytest.mark.parametrize(
    ("many", "amount", "shares"),
    [
        ([], 10, []),
        ([Wish(10, 0, 1), Wish(10, 0, 1)], 10, [5, 5]),
        ([Wish(2, 0, 1), Wish(10, 0, 1)], 10, [2, 8]),  # who wants less leaves the rest to the others
        ([Wish(10, 0, 2), Wish(10, 0, 1)], 9, [6, 3]),
        ([Wish(10, 6, 1), Wish(10, 0, 1)], 10, [8, 2]),  # the guarantee first, the rest by weight
        ([Wish(0, 6, 1), Wish(10, 0, 1)], 10, [0, 10]),  # lent while nobody wants it
        ([Wish(0, 6, 1, lends=False), Wish(10, 0, 1)], 10, [0, 4]),  # kept idle for its owner
        ([Wish(10, 0, 0), Wish(4, 0, 1)], 10, [6, 4]),
        ([Wish(10, 0, 0), Wish(10, 0, 0)], 10, [5, 5]),  # without weights at all: equal parts, never 0 by 0
        ([Wish(8, 8, 1), Wish(8, 8, 1)], 8, [4, 4]),  # guaranteed twice: both shrink
        ([Wish(5, 0, 1)], 0, [0]),
    ],
)
def test_examples_by_hand(many: list[Wish], amount: int, shares: list[int]) -> None:
    assert water_fill(many, amount) == shares


# --- trees ---------------------------------------------------------------------------------------


class Organisation:
    """Queues with what they hold and ask, over a fleet."""

    def __init__(self, *specs: QueueSpec, nodes: tuple[NodeSpec, ...] = (node("n", 12),), measure: str = "gpu") -> None:
        self.queues, self.ledger = Queues(), Ledger()
        for number, one in enumerate(nodes):
            self.ledger.add_node(NodeId(number), one)
        for spec in specs:
            self.queues.set_queue(spec)
        self.fairness = Fairness(self.queues, self.ledger, measure)

    @classmethod
    def of(cls, queues: Queues, ledger: Ledger) -> Organisation:
        """Take queues and a fleet as they are."""
        made = cls()
        made.queues, made.ledger = queues, ledger
        return made

    def asks(self, queue: str, gpus: int) -> None:
        self.queues.ask(job("j", gpus=gpus, queue=queue), 1)

    def holds(self, queue: str, gpus: int) -> None:
        self.queues.count(queue, Demand(gpus=gpus), 1)

    def gpus(self, queue: str) -> float:
        """A share in devices."""
        return self.fairness.share(queue) / FINE / WHOLE

    def exact_shares(self) -> dict[str, Fraction]:
        """All shares in devices, level by level, by the reference."""
        found: dict[str, Fraction] = {}
        self._exact("", Fraction(int(capacity(self.ledger)["gpus"]), WHOLE), found)
        return found

    def _exact(self, parent: str, amount: Fraction, found: dict[str, Fraction]) -> None:
        names = self.queues.children(parent)
        wish = [self._wish(name) for name in names]
        scale = 10**9  # whole numbers for the reference, far finer than the tolerance
        parts = exact(
            [w._replace(wants=w.wants * scale, guarantee=w.guarantee * scale) for w in wish], int(amount * scale)
        )
        for name, part in zip(names, parts, strict=True):
            found[name] = part / scale
            self._exact(name, found[name], found)

    def _wish(self, name: str) -> Wish:
        spec = self.queues.specs[name]
        stated = dict(spec.guarantee).get("gpus", 0) // WHOLE
        wants = self._can_use(name)
        return Wish(wants if spec.borrow else min(wants, stated), stated, spec.weight, spec.lend)

    def _can_use(self, name: str) -> int:
        spec = self.queues.specs[name]
        below = self.queues.children(name)
        inside = sum(self.queues.used[child].get("gpus", 0) for child in below)
        own = self.queues.used[name].get("gpus", 0) - inside + self.queues.asked[name].get("gpus", 0)
        wants = own // WHOLE + sum(self._wish(child).wants for child in below)
        limit = dict(spec.limit).get("gpus")
        return wants if limit is None else min(wants, limit // WHOLE)


def amounts(gpus: int | None) -> tuple[tuple[str, int], ...]:
    return () if gpus is None else (("gpus", gpus * WHOLE),)


@st.composite
def organisations(draw: st.DrawFn) -> Organisation:
    """A tree of up to eight queues on up to three levels."""
    names = [f"q{i}" for i in range(draw(st.integers(1, 8)))]
    specs = []
    for i, name in enumerate(names):
        parent = draw(st.sampled_from(["", *names[:i]]))
        specs.append(
            QueueSpec(
                name,
                parent,
                amounts(draw(st.sampled_from([None, 0, 1, 4]))),
                amounts(draw(st.sampled_from([None, 1, 6]))),
                weight=draw(st.integers(0, 3)),
                borrow=draw(st.integers(0, 3)) > 0,
                lend=draw(st.integers(0, 3)) > 0,
            )
        )
    made = Organisation(*specs, nodes=tuple(node(f"n{i}", 4) for i in range(draw(st.integers(1, 3)))))
    for name in names:
        if many := draw(st.integers(0, 5)):
            made.asks(name, many)
        if held := draw(st.integers(0, 2)):
            made.holds(name, held)
    return made


@settings(max_examples=300)
@given(organisations())
def test_shares_of_a_tree_are_those_of_the_exact_reference(made: Organisation) -> None:
    for name, share in made.exact_shares().items():
        assert made.gpus(name) == pytest.approx(float(share), abs=1e-4), name


@settings(max_examples=300)
@given(organisations())
def test_positions_are_whole_numbers_and_order_by_use_over_share(made: Organisation) -> None:
    for name in made.queues.specs:
        position = made.fairness.position(name)
        assert len(position) == len(made.queues.chain(name))
        for (light, ratio), at in zip(position, reversed(made.queues.chain(name)), strict=True):
            assert light == (made.queues.specs[at].weight == 0)
            assert isinstance(ratio, int)
            used, share = made.queues.used[at].get("gpus", 0) * FINE, made.fairness.share(at)
            assert ratio == (used * RATIO // share if share else RATIO * RATIO * (used > 0))


@settings(max_examples=200)
@given(organisations(), st.integers(1, 4))
def test_a_queue_that_holds_more_stands_no_further_ahead(made: Organisation, gpus: int) -> None:
    for name in made.queues.specs:
        more = {"gpus": gpus * WHOLE}
        assert made.fairness.position(name, more=more) >= made.fairness.position(name)
        if made.queues.used[name].get("gpus", 0) >= more["gpus"]:
            assert made.fairness.position(name, less=more) <= made.fairness.position(name)


def test_a_parent_asks_for_no_more_than_its_children_may_use() -> None:
    made = Organisation(QueueSpec("p"), QueueSpec("c", "p", limit=amounts(1)), QueueSpec("q"))
    made.asks("c", 12)
    made.asks("q", 12)
    assert (made.gpus("p"), made.gpus("c"), made.gpus("q")) == (1, 1, 11)


def test_a_queue_that_may_not_borrow_asks_for_its_guarantee() -> None:
    made = Organisation(QueueSpec("a", guarantee=amounts(2), borrow=False), QueueSpec("b"))
    made.asks("a", 12)
    made.asks("b", 12)
    assert (made.gpus("a"), made.gpus("b")) == (2, 10)


def test_shares_follow_the_fleet_and_the_line() -> None:
    made = Organisation(QueueSpec("a"), QueueSpec("b"))
    spec: JobSpec = job("j", gpus=12, queue="a")
    made.queues.ask(spec, 1)
    made.asks("b", 12)
    assert made.gpus("a") == 6
    made.ledger.add_node(NodeId(1), node("m", 8))
    assert made.gpus("a") == 10
    made.ledger.set_open(NodeId(0), is_open=False)
    assert made.gpus("a") == 4
    made.queues.ask(spec, -1)
    assert (made.gpus("a"), made.gpus("b")) == (0, 8)


def test_where_there_are_no_devices_shares_are_of_cpus() -> None:
    made = Organisation(QueueSpec("a"), QueueSpec("b", weight=3), nodes=(NodeSpec("n", cpus=8000),))
    for name in ("a", "b"):
        made.queues.ask(job("j", queue=name, roles=(role(cpus=8000),)), 1)
    assert made.fairness.unit() == "cpus"
    assert [made.fairness.thousandths(name) for name in ("a", "b")] == [2000, 6000]


def test_a_queue_with_no_share_stands_last_once_it_holds_something() -> None:
    made = Organisation(QueueSpec("a", limit=amounts(0)), QueueSpec("b"))
    made.asks("b", 12)
    made.holds("b", 12)
    assert made.fairness.position("a") < made.fairness.position("b")
    made.holds("a", 1)
    assert made.fairness.position("b") < made.fairness.position("a")


# --- dominant shares -----------------------------------------------------------------------------


def test_the_example_of_the_dominant_resource_paper() -> None:
    """Ghodsi et al. 2011, 4.1: 9 CPUs and 18 GB; A's tasks ask 1 CPU and 4 GB, B's 3 CPUs and 1 GB: 3 and 2 tasks."""
    nodes = (NodeSpec("n", cpus=9000, memory=18 * GIB),)
    made = Organisation(QueueSpec("a"), QueueSpec("b"), nodes=nodes, measure="dominant")
    demands = {"a": Demand(cpus=1000, memory=4 * GIB), "b": Demand(cpus=3000, memory=GIB)}
    for name, demand in demands.items():
        made.queues.ask(job("j", queue=name, roles=(role(tasks=6, cpus=demand.cpus, memory=demand.memory),)), 1)
    tasks, free = {"a": 0, "b": 0}, [9000, 18 * GIB]
    while True:
        fits = [q for q, d in demands.items() if d.cpus <= free[0] and d.memory <= free[1]]
        if not fits:
            break
        queue = min(fits, key=lambda q: (made.fairness.position(q), q))
        made.queues.count(queue, demands[queue], 1)
        free[0] -= demands[queue].cpus
        free[1] -= demands[queue].memory
        tasks[queue] += 1
    assert tasks == {"a": 3, "b": 2}
    dominant = [made.fairness.measured(made.queues.used[q]) / (TOTAL * FINE) for q in ("a", "b")]
    assert dominant == pytest.approx([2 / 3, 2 / 3], abs=1e-6)


def test_a_limit_caps_the_dominant_wish_whatever_the_size_of_the_fleet() -> None:
    nodes = tuple(NodeSpec(f"n{i}", cpus=64_000, memory=2**50) for i in range(4))
    made = Organisation(QueueSpec("a", limit=(("memory", 2**50),)), QueueSpec("b"), nodes=nodes, measure="dominant")
    for name in ("a", "b"):
        made.queues.ask(job("j", queue=name, roles=(role(memory=2**52),)), 1)
    assert made.fairness.thousandths("a") == pytest.approx(250, abs=1)
    assert made.fairness.thousandths("b") == pytest.approx(750, abs=1)
