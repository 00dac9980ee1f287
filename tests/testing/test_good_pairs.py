"""Timelines that keep everything, written by hand: neither judge finds anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clearway.testing.judge import judge
from tests.testing.stories import GOOD, independent_judge

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", GOOD)
def test_both_judges_find_nothing(name: str, shared: Path) -> None:
    scenario, shown = GOOD[name]()
    assert judge(scenario, shown) == []
    assert independent_judge(shared)(scenario, shown) == []
