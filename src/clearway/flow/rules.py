"""When a step runs, by how the steps before it ended."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class Verdict(Enum):
    """What a rule says."""

    WAIT = "wait"
    RUN = "run"
    NEVER = "never"


class Counts(NamedTuple):
    """How many of the steps before one there are, succeeded, failed (in any way) and were skipped."""

    all: int
    succeeded: int
    failed: int
    skipped: int

    @property
    def done(self) -> bool:
        """Whether every one of them is over."""
        return self.succeeded + self.failed + self.skipped == self.all


class Rule(NamedTuple):
    """`holds` is asked when all are over; where `early`, at any time. `forgives`: a failure may come before."""

    holds: Callable[[Counts], bool]
    early: bool
    forgives: bool


RULES: dict[str, Rule] = {
    "all_succeeded": Rule(lambda c: c.succeeded == c.all, early=False, forgives=False),
    "all_done": Rule(lambda c: c.done, early=False, forgives=True),
    "all_failed": Rule(lambda c: c.failed == c.all, early=False, forgives=True),
    "one_succeeded": Rule(lambda c: c.succeeded > 0, early=True, forgives=True),
    "one_failed": Rule(lambda c: c.failed > 0, early=True, forgives=True),
    "none_failed": Rule(lambda c: c.failed == 0, early=False, forgives=False),
    "none_failed_min_one_success": Rule(lambda c: c.failed == 0 and c.succeeded > 0, early=False, forgives=False),
}


def judge(name: str, counts: Counts) -> Verdict:
    """Return what a rule says; a step that nothing stands before runs."""
    rule = RULES[name]
    if counts.all == 0 or ((rule.early or counts.done) and rule.holds(counts)):
        return Verdict.RUN
    return Verdict.NEVER if counts.done else Verdict.WAIT
