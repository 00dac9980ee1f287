"""What became of a policy is told with what led to it."""

from __future__ import annotations

import pytest

from clearway.model import policy_events as pe
from clearway.model.fleet import PolicySpec
from clearway.model.policies import Guard, Named, Worse
from clearway.model.values import SECOND_US
from clearway.observe.policy_words import policy_told
from clearway.observe.rules import Rules
from clearway.ports.observer import Heard

SPEC = PolicySpec()
WORSE = Worse("lab", 30, 900 * SECOND_US, 300 * SECOND_US)
TAKEN_BACK = pe.RolledBack(5, "fair", SPEC, "", WORSE)


@pytest.mark.parametrize(
    ("record", "title", "text"),
    [
        (
            pe.Promoted(1, "sjf", SPEC, Named("fair", SPEC), Guard(SECOND_US), "ann"),
            "in place of fair",
            "by ann; until",
        ),
        (pe.RolledBack(1, "fair", SPEC, "ann"), "fair is in force again", "by ann"),
        (TAKEN_BACK, "the guard has put policy fair in force again", "30 jobs of tenant lab waited 900 s"),
        (pe.GuardEnded(1, "sjf"), "sjf stays", "has not taken it back"),
    ],
)
def test_a_notice_says_who_did_it_or_why(record: pe.Promoted, title: str, text: str) -> None:
    said = policy_told(record)
    assert title in said[0]
    assert text in said[1]


def test_what_the_guard_does_stands_among_the_changes_and_what_people_do_only_once() -> None:
    lines: list[dict[str, object]] = []
    rules = Rules()
    rules.tell = lines.append
    rules.hear(Heard([TAKEN_BACK, pe.RolledBack(6, "fair", SPEC, "ann")], 2, 1, 1))
    (line,) = lines
    assert (line["who"], line["method"]) == ("the guard", "ROLLBACK")
    assert line["about"] == {"policy": "fair", "tenant": "lab", "jobs": 30, "wait_s": 900.0, "would_s": 300.0}
