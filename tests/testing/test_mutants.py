"""Each lie about a good timeline is seen by our judge and by the independent one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clearway.testing.judge import EXPECT, judge
from tests.testing import mutants
from tests.testing.stories import GOOD, independent_judge

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", GOOD)
def test_wrong_expectations_are_seen_by_both(name: str, shared: Path) -> None:
    scenario, shown = GOOD[name]()
    theirs = independent_judge(shared)
    seen = 0
    for label, expect in mutants.of_expect(scenario["expect"]):
        wrong = {**scenario, "expect": expect}
        assert judge(wrong, shown), f"not seen: {label}"
        assert theirs(wrong, shown), f"not seen by the independent judge: {label}"
        seen += 1
    assert seen


@pytest.mark.parametrize("name", GOOD)
def test_wrong_timelines_are_seen_by_both_and_named_by_their_rule(name: str, shared: Path) -> None:
    scenario, shown = GOOD[name]()
    theirs = independent_judge(shared)
    for label, rule, told in mutants.of_timeline(scenario, shown):
        lines = judge(scenario, told)
        assert any(line.startswith(f"{rule}: ") for line in lines), (label, lines)
        assert theirs(scenario, told), f"not seen by the independent judge: {label}"


def test_every_lie_is_told_at_least_once() -> None:
    told = {label for make in GOOD.values() for label, _, _ in mutants.of_timeline(*make())}
    assert told == set(mutants.LIES)


def test_every_first_half_key_is_mutated() -> None:
    larger = {
        "inputs",
        "results",
        "fires",
        "skips",
        "machines",
        "replicas",
        "requests",
        "trials",
        "refused",
        "never_starts",
    }
    mutated = {label.split()[0] for make in GOOD.values() for label, _ in mutants.of_expect(make()[0]["expect"])}
    assert set(EXPECT) - larger <= mutated
