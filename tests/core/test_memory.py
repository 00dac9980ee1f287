"""Past use against exact formulas, and what follows from the records alone."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearway.core.memory import SCALE, WIDE, Memory, kept

DAY_US = 86_400 * 1_000_000


def no_children(_: str) -> list[str]:
    return []


def level(memory: Memory, queue: str = "q", resource: str = "gpus") -> Fraction:
    """Return a level in units."""
    return Fraction(memory.past(queue, no_children).get(resource, 0), 1 << WIDE)


# --- powers of two -------------------------------------------------------------------------------


@given(st.integers(0, 100))
def test_whole_half_lives_halve_exactly(times: int) -> None:
    assert kept(times * DAY_US, DAY_US) == ((1 << SCALE) >> times if times <= SCALE else 0)


@given(st.integers(0, 30 * DAY_US), st.integers(1, 30 * DAY_US))
def test_what_is_kept_is_the_power_of_two(passed_us: int, half_life_us: int) -> None:
    shown = kept(passed_us, half_life_us)
    assert isinstance(shown, int)
    assert shown / (1 << SCALE) == pytest.approx(2.0 ** -(passed_us / half_life_us), rel=1e-12, abs=2**-70)


@given(st.integers(0, 10**13), st.integers(0, 10**13), st.integers(1, 10**12))
def test_forgetting_in_two_steps_is_forgetting_at_once(one_us: int, more_us: int, half_life_us: int) -> None:
    twice = kept(one_us, half_life_us) * kept(more_us, half_life_us) >> SCALE
    assert twice == pytest.approx(kept(one_us + more_us, half_life_us), rel=1e-12, abs=2**12)


@given(st.integers(0, 10**13), st.integers(0, 10**12), st.integers(1, 10**12))
def test_what_is_kept_never_grows(passed_us: int, more_us: int, half_life_us: int) -> None:
    assert kept(passed_us + more_us, half_life_us) <= kept(passed_us, half_life_us) + 2**8


# --- levels --------------------------------------------------------------------------------------


def test_a_level_is_what_was_always_held_and_halves_in_a_half_life() -> None:
    memory = Memory(DAY_US, 0)
    memory.change("q", {"gpus": 8000}, 1)
    memory.reach(400 * DAY_US)
    assert level(memory) == pytest.approx(8000)
    memory.change("q", {"gpus": 8000}, -1)
    memory.reach(401 * DAY_US)
    assert level(memory) == pytest.approx(4000)
    memory.reach(402 * DAY_US)
    assert level(memory) == pytest.approx(2000)


def test_what_runs_counts_as_it_runs() -> None:
    memory = Memory(DAY_US, 0)
    memory.change("q", {"gpus": 8000}, 1)
    memory.reach(DAY_US)
    assert level(memory) == pytest.approx(4000)


def test_tiny_use_is_neither_lost_nor_not_a_number() -> None:
    memory = Memory(365 * DAY_US, 0)
    memory.change("q", {"gpus": 1}, 1)
    memory.reach(1000)  # a thousandth of a device for a millisecond in a year
    assert 0 < level(memory) < Fraction(1, 10**6)


def test_nothing_held_and_nothing_remembered_is_nothing() -> None:
    memory = Memory(1, 0)
    assert level(memory) == 0
    memory.change("q", {"gpus": 5}, 1)
    memory.change("q", {"gpus": 5}, -1)
    memory.reach(10**18)
    assert memory.past("q", no_children) == {}


changes = st.lists(
    st.tuples(st.sampled_from([0, 1, 1000, 10**6, 3_600_000_000, DAY_US]), st.integers(0, 9000)), max_size=40
)


def exact(steps: list[tuple[int, int]], half_life_us: int) -> float:
    """Return the level after the steps (time, then what is held from there on) by the formula in floats."""
    now, held = 0.0, 0
    for passed_us, amount in steps:
        now = held + (now - held) * math.exp2(-passed_us / half_life_us)
        held = amount
    return now


@given(changes, st.sampled_from([10**6, DAY_US, 7 * DAY_US, 365 * DAY_US]))
def test_levels_are_those_of_the_formula(steps: list[tuple[int, int]], half_life_us: int) -> None:
    memory, now, held = Memory(half_life_us, 0), 0, 0
    for passed_us, amount in steps:
        now += passed_us
        memory.reach(now)
        memory.change("q", {"gpus": amount - held}, 1)
        held = amount
    assert level(memory) == pytest.approx(exact(steps, half_life_us), rel=1e-9, abs=1e-6)
    assert 0 <= level(memory) <= max((amount for _, amount in steps), default=0)


@given(changes, st.lists(st.integers(0, 40), max_size=10))
def test_looking_changes_nothing(steps: list[tuple[int, int]], looks: list[int]) -> None:
    """Reads between the changes, however many, leave every later level as it would have been."""
    memories, now = (Memory(7 * DAY_US, 0), Memory(7 * DAY_US, 0)), 0
    for number, (passed_us, amount) in enumerate(steps):
        if number in looks:
            memories[0].reach(now + passed_us // 2)
            level(memories[0])
        now += passed_us
        for memory in memories:
            memory.reach(now)
            memory.change("q", {"gpus": amount}, 1)
    assert memories[0].past("q", no_children) == memories[1].past("q", no_children)


@given(changes)
def test_use_that_does_not_change_may_be_noted_at_any_moment(steps: list[tuple[int, int]]) -> None:
    """Noting nothing new in between moves a level by no more than rounding."""
    memory, other, now = Memory(DAY_US, 0), Memory(DAY_US, 0), 0
    for one in (memory, other):
        one.change("q", {"gpus": 4000}, 1)
    for passed_us, _ in steps:
        now += passed_us
        memory.reach(now)
        memory.change("q", {"gpus": 0}, 1)
    other.reach(now)
    assert abs(level(memory) - level(other)) < Fraction(1, 10**6)


def test_a_queue_counts_what_the_queues_below_it_held() -> None:
    memory = Memory(DAY_US, 0)
    memory.change("a", {"gpus": 1000}, 1)
    memory.change("b", {"gpus": 3000, "cpus": 7}, 1)
    memory.reach(DAY_US)

    def children(queue: str) -> list[str]:
        return ["a", "b"] if queue == "top" else []

    both = memory.past("top", children)
    assert {name: Fraction(amount, 1 << WIDE) for name, amount in both.items()} == pytest.approx(
        {"gpus": 2000, "cpus": 3.5}
    )


def test_counting_anew_and_another_half_life_keep_the_past() -> None:
    memory = Memory(DAY_US, 0)
    memory.change("q", {"gpus": 8000}, 1)
    memory.reach(DAY_US)
    memory.hold_nothing()
    assert level(memory) == pytest.approx(4000)
    memory.change("q", {"gpus": 8000}, 1)
    memory.forget_by(2 * DAY_US)
    memory.reach(3 * DAY_US)
    assert level(memory) == pytest.approx(6000), "half of the way in one of the new half-lives"
