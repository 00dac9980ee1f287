"""Scenarios about who goes first, and at whose cost: each holds, and none makes the loop turn for ever."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from clearway.testing.judge import judge_file, play, same

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

FOLDER = Path(__file__).resolve().parent.parent / "scenarios"
FILES = sorted(FOLDER.glob("*.yaml"))
PATIENCE_S = 60  # each takes well under a second: longer means that jobs are exchanged at one moment for ever


def _turned_for_ever(signum: int, frame: FrameType | None) -> None:
    raise AssertionError(f"no end after {PATIENCE_S} s ({signum}, {frame})")


@pytest.fixture(autouse=True)
def _patience() -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, _turned_for_ever)
    signal.alarm(PATIENCE_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_scenario_holds(path: Path) -> None:
    _, broken = judge_file(path)
    assert broken == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_names_and_the_order_of_what_is_equal_change_nothing(path: Path) -> None:
    assert same(yaml.safe_load(path.read_text()), play) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_scenario_begins_with_what_bad_systems_do(path: Path) -> None:
    assert path.read_text().startswith("# Bad systems ")
