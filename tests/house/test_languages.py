"""The pages that exist in two languages are kept in step: as many headings, of the same rank, in the same order."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.house.code import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PAIRS = [("README.md", "README.zh.md"), ("docs/index.md", "docs/index.zh.md")]
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^(#+) ", re.MULTILINE)
_CHINESE = re.compile(r"[\u4e00-\u9fff]")


def prose(path: Path) -> str:
    return _FENCED.sub("", path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("english", "chinese"), PAIRS)
def test_headings_are_in_step(english: str, chinese: str) -> None:
    ranks = [_HEADING.findall(prose(ROOT / name)) for name in (english, chinese)]
    assert ranks[0] == ranks[1]


@pytest.mark.parametrize(("english", "chinese"), PAIRS)
def test_each_section_is_in_its_language_and_names_the_other_page(english: str, chinese: str) -> None:
    for section in re.split(r"^#+ .*$", prose(ROOT / chinese), flags=re.MULTILINE)[1:]:
        assert _CHINESE.search(section) or not section.strip(), section[:80]
    first = prose(ROOT / english).split("\n## ")[0]
    assert f"({(ROOT / chinese).name})" in first
    assert f"({(ROOT / english).name})" in prose(ROOT / chinese).split("\n## ")[0]


def test_the_index_in_both_languages_leads_to_the_same_pages() -> None:
    links = [re.findall(r"\]\(([^)#:]+)", (ROOT / "docs" / name).read_text()) for name in ("index.md", "index.zh.md")]
    plain = [sorted({link.replace(".zh.md", ".md") for link in found} - {"index.md"}) for found in links]
    assert plain[0] == plain[1]
