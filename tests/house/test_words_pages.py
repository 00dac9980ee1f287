"""The pages about words name every word, once, and no word that is not there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from clearway.flow.rules import RULES
from clearway.flow.schedule_words import SCHEDULE_WORDS
from clearway.flow.search_words import SEARCH_WORDS
from clearway.flow.words import FLOW_WORDS, STEP_WORDS
from clearway.model.machine_words import LIMIT_WORDS, NODE_WORDS, POLICY_WORDS, QUEUE_WORDS
from clearway.model.type_words import TYPE_WORDS
from clearway.model.verb_words import BOOKING_WORDS
from clearway.model.words import CHECKPOINT_WORDS, JOB_WORDS, PIN_WORDS, ROLE_WORDS
from clearway.sim import events, scenario
from clearway.sim.flow_words import STEP_TRUTH_WORDS
from clearway.sim.truth import TRUTH_WORDS
from tests.house.code import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable

DOCS = ROOT / "docs"
ROW = re.compile(r"^\| (`[^|]+`) \|", re.MULTILINE)
WORD = re.compile(r"`(\w+)`")
ENTRY_WORDS = {"submit", "count", "every", "pin"}
"""Words of an entry of a scenario's `jobs` that no table of the model has."""


def section(page: str, title: str) -> str:
    """Return the text below a heading, with what stands below smaller headings."""
    text = (DOCS / page).read_text()
    found = re.search(rf"^(#+) {re.escape(title)}\n(.*?)(?=^#{{1,2}} |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found is not None, f"{page} has no section {title}"
    return found[2]


def explained(text: str) -> list[str]:
    """Return the words in the first cells of its tables."""
    return [word for cell in ROW.findall(text) for word in WORD.findall(cell)]


@pytest.mark.parametrize(
    ("page", "title", "words"),
    [
        ("job.md", "All words", JOB_WORDS),
        ("job.md", "Inside `roles`", ROLE_WORDS),
        ("job.md", "Inside `checkpoint`", CHECKPOINT_WORDS),
        ("scenario.md", "Keys", scenario.WORDS),
        ("scenario.md", "Fleet", NODE_WORDS),
        ("scenario.md", "Machine types", TYPE_WORDS),
        ("scenario.md", "Queues", [*QUEUE_WORDS, *BOOKING_WORDS]),
        ("scenario.md", "Policy", POLICY_WORDS),
        ("scenario.md", "Jobs", [*TRUTH_WORDS, *ENTRY_WORDS]),
        ("scenario.md", "Workflows", STEP_TRUTH_WORDS),
        ("workflows.md", "The workflow", FLOW_WORDS),
        ("schedules.md", "Words", SCHEDULE_WORDS),
        ("searches.md", "The words", SEARCH_WORDS),
        ("workflows.md", "Steps", [*STEP_WORDS, *RULES]),
    ],
)
def test_a_page_explains_each_word_and_no_other(page: str, title: str, words: Iterable[str]) -> None:
    assert sorted(explained(section(page, title))) == sorted(words)


@pytest.mark.parametrize(
    ("page", "title", "words"),
    [
        ("scenario.md", "Keys", scenario.LATER),
        ("scenario.md", "Queues", LIMIT_WORDS),
        ("scenario.md", "Jobs", PIN_WORDS),
        ("scenario.md", "Expect", scenario.EXPECT_WORDS),
    ],
)
def test_a_page_names_each_word(page: str, title: str, words: Iterable[str]) -> None:
    text = section(page, title)
    assert [word for word in sorted(words) if not re.search(rf"[`{{ ]{word}[`:]", text)] == []


def test_the_page_of_a_scenario_explains_each_event() -> None:
    kinds = {*vars(events)["_KINDS"], events.QUEUE_EVENT, events.RERUN}
    assert set(explained(section("scenario.md", "Events"))) == kinds
