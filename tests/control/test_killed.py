"""A controller that is killed at any instant, with real processes under it: nothing accepted is lost or runs twice."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from clearway.control.board import Board
from clearway.loop.world import World
from clearway.model import events as ev
from clearway.model.states import State
from clearway.store.sqlite import SqliteJournal

if TYPE_CHECKING:
    from pathlib import Path

KILLS = 5
NAMES_EACH = 30


def begin(home: Path, root: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.control.child", str(home)]
    child = subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "up\n"
    return child


def killed(home: Path, root: Path, round_: int, after_s: float) -> list[str]:
    """Submit as fast as it goes, kill it after a while, and return the names that it said were accepted."""
    child = begin(home, root)
    assert child.stdin is not None
    timer = threading.Timer(after_s, child.kill)
    timer.start()
    names = "".join(f"r{round_}-{i}\n" for i in range(NAMES_EACH))
    told, _ = child.communicate(names)
    timer.join()
    return [line.split()[1] for line in told.splitlines() if line.startswith("accepted ")]


@pytest.mark.slow
def test_killed_again_and_again(tmp_path: Path, root: Path) -> None:
    rng = random.Random(7)
    accepted: list[str] = []
    for round_ in range(KILLS):
        accepted += killed(tmp_path, root, round_, rng.uniform(0.01, 0.3))
    last = begin(tmp_path, root)
    told, _ = last.communicate("last\nend\n")
    assert told.splitlines() == ["accepted last", "over"]
    assert last.returncode == 0
    check(tmp_path, [*accepted, "last"])


def check(home: Path, accepted: list[str]) -> None:
    journal = SqliteJournal(home / "journal.db")
    board, world = Board(), World()
    for entry in journal.read():
        board.fold((entry.record,))
        world.apply(entry.record)
        world.validate()
    journal.close()
    names = [row.name for row in board.jobs.values()]
    ran = (home / "ran").read_text().split()
    assert set(accepted) <= set(names)
    assert len(names) == len(set(names))
    assert sorted(ran) == sorted(names)
    assert {row.state for row in board.jobs.values()} == {State.SUCCEEDED}
    assert {row.attempt for row in board.jobs.values()} == {1}
    assert world.jobs == {}
    assert sum(isinstance(e, ev.ControllerStarted) for e in records(home)) == KILLS + 1


def records(home: Path) -> list[ev.Record]:
    journal = SqliteJournal(home / "journal.db")
    found = [entry.record for entry in journal.read()]
    journal.close()
    return found
