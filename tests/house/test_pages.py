"""What a user meets is explained: every reason, policy, command and setting."""

from __future__ import annotations

import re

import click
import pytest

from clearway.cli.main import cli
from clearway.model.machine_words import NODE_WORDS, POLICY_WORDS, QUEUE_WORDS
from clearway.model.reasons import Code, Reason
from clearway.model.type_words import TYPE_WORDS
from clearway.model.words import JOB_WORDS
from clearway.observe.words import sentence
from clearway.policies.registry import CAUSES, FILTERS, ORDERS, SCORES
from tests.house.code import ROOT, tracked

DOCS = ROOT / "docs"
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
COMMANDS = cli.list_commands(click.Context(cli))


@pytest.mark.parametrize("code", Code)
def test_every_reason_has_a_page_and_a_sentence(code: Code) -> None:
    page = DOCS / "reasons" / f"{code}.md"
    assert page.is_file(), f"{page} is missing"
    assert code in page.read_text()
    said = sentence(Reason(code))
    assert len(said) > len(code)
    assert code.value not in said or "-" not in code.value, "a sentence says it in words, not by its code"


def test_no_page_explains_a_reason_that_is_gone() -> None:
    pages = {path.stem for path in (DOCS / "reasons").glob("*.md")} - {"README", "index"}
    assert pages == {code.value for code in Code}


@pytest.mark.parametrize("name", sorted({*ORDERS, *SCORES, *CAUSES, *(rule.name for rule in FILTERS)}))
def test_every_policy_has_a_page(name: str) -> None:
    page = DOCS / "policies" / f"{name}.md"
    assert page.is_file(), f"{page} is missing"


def test_every_decision_is_in_their_list() -> None:
    records = {path.name for path in (DOCS / "decisions").glob("0*.md")}
    assert set(LINK.findall((DOCS / "decisions" / "README.md").read_text())) >= records


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_each_of_its_options_has_a_help_text(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert command.help, name
    silent = [p.name for p in command.params if isinstance(p, click.Option) and not p.help]
    assert silent == []


def test_every_word_has_a_meaning() -> None:
    for words in (JOB_WORDS, NODE_WORDS, QUEUE_WORDS, POLICY_WORDS, TYPE_WORDS):
        assert [name for name, word in words.items() if not word.help] == []


def test_links_between_pages_lead_somewhere() -> None:
    links = [(p, to) for p in tracked() if p.suffix == ".md" for to in LINK.findall(p.read_text()) if "://" not in to]
    assert [f"{page.relative_to(ROOT)}: {to}" for page, to in links if not (page.parent / to).exists()] == []


def test_the_architecture_names_tests_that_exist() -> None:
    text = (DOCS / "ARCHITECTURE.md").read_text()
    named = set(re.findall(r"`(tests/[\w/]+\.py)`", text))
    assert named
    assert sorted(name for name in named if not (ROOT / name).is_file()) == []
