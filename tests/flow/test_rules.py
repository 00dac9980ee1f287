"""Each rule over every way in which three steps can have ended, beside a plain telling of what it means."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest

from clearway.flow.rules import RULES, Counts, Verdict, judge

if TYPE_CHECKING:
    from collections.abc import Callable

MEANS: dict[str, Callable[[tuple[str, ...]], bool]] = {
    "all_succeeded": lambda ends: all(e == "ok" for e in ends),
    "all_done": lambda _: True,
    "all_failed": lambda ends: all(e == "bad" for e in ends),
    "one_succeeded": lambda ends: "ok" in ends,
    "one_failed": lambda ends: "bad" in ends,
    "none_failed": lambda ends: "bad" not in ends,
    "none_failed_min_one_success": lambda ends: "bad" not in ends and "ok" in ends,
}


def counts(ends: tuple[str, ...]) -> Counts:
    return Counts(len(ends), ends.count("ok"), ends.count("bad"), ends.count("skipped"))


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_says_what_it_means(rule: str) -> None:
    for ends in product(("ok", "bad", "skipped", "open"), repeat=3):
        done, holds = "open" not in ends, MEANS[rule](tuple(e for e in ends if e != "open"))
        if rule.startswith("one_") and holds:
            expected = Verdict.RUN
        elif not done:
            expected = Verdict.WAIT
        else:
            expected = Verdict.RUN if holds else Verdict.NEVER
        assert judge(rule, counts(ends)) is expected, ends


@pytest.mark.parametrize("rule", RULES)
def test_a_step_that_nothing_stands_before_runs(rule: str) -> None:
    assert judge(rule, counts(())) is Verdict.RUN
