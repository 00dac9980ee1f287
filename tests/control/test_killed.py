"""A controller process that is killed, with real processes under it: nothing accepted is lost or runs twice.

At any instant, and at each of its acts in turn: before and after each write to the journal and each call of the
engine. `CLEARWAY_KILLS` says how many acts: with 60 each one has its turn.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from clearway.control.board import Board
from clearway.loop.world import World
from clearway.model.states import State
from tests.control.child import opened

if TYPE_CHECKING:
    from pathlib import Path

    from tests.servers import Server

KILLS = 5
NAMES_EACH = 30
ACTS = int(os.environ.get("CLEARWAY_KILLS", "15"))
MOST_ACTS = 60
"""So many acts a life takes at most before its end: where each one dies goes round these."""
STEP = 7
"""From one life to the next; it has no divisor in common with MOST_ACTS, so that each act has its turn."""
KINDS = ("plain", "again", "after", "many")


def begin(home: Path, root: Path, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.control.child", str(home), *more]
    return subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def told_by(child: subprocess.Popen[str], names: list[str]) -> list[str]:
    """Hand over names, and return what it said until it was over or dead."""
    told, _ = child.communicate("".join(f"{name}\n" for name in names))
    return told.splitlines()


def accepted_in(told: list[str]) -> set[str]:
    return {line.split()[1] for line in told if line.startswith("accepted ")}


@pytest.mark.slow
def test_killed_at_any_instant(tmp_path: Path, root: Path) -> None:
    rng = random.Random(7)
    accepted: set[str] = set()
    for round_ in range(KILLS):
        child = begin(tmp_path, root)
        assert child.stdout is not None
        assert child.stdout.readline() == "up\n"
        timer = threading.Timer(rng.uniform(0.01, 0.3), child.kill)
        timer.start()
        accepted |= accepted_in(told_by(child, [f"plain-{round_}-{i}" for i in range(NAMES_EACH)]))
        timer.join()
    last = begin(tmp_path, root)
    assert told_by(last, ["plain-last", "end"]) == ["up", "accepted plain-last", "over"]
    assert last.returncode == 0
    check(tmp_path, "sqlite", {*accepted, "plain-last"})


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest) -> str:
    if request.param == "sqlite":
        return "sqlite"
    server: Server = request.getfixturevalue("postgres")
    return server.make("kills")


@pytest.mark.slow
@pytest.mark.real_engine
def test_killed_at_its_acts(tmp_path: Path, root: Path, store: str) -> None:
    accepted: set[str] = set()
    killed = 0
    for life in range(ACTS):
        child = begin(tmp_path, root, store, str(1 + life * STEP % MOST_ACTS))
        names = [f"{kind}-{life}" for kind in KINDS]
        accepted |= accepted_in(told_by(child, names))
        killed += child.returncode == -9
    last = begin(tmp_path, root, store)
    assert told_by(last, ["plain-last", "end"]) == ["up", "accepted plain-last", "over"]
    check(tmp_path, store, {*accepted, "plain-last"})
    assert killed >= ACTS * 3 // 4, f"only {killed} were killed at an act"


def check(home: Path, store: str, accepted: set[str]) -> None:
    """See that all that was accepted is there once and has run once an attempt, in as many attempts as it must."""
    journal = opened(home, store)
    board, world, began = Board(10**6), World(), dict[tuple[str, int, int], None]()
    for entry in journal.read():
        board.fold((entry.record,))
        world.apply(entry.record)
        world.validate()
    journal.close()
    names = [row.name for row in board.jobs.values() if row.index is None]
    assert accepted <= set(names)
    assert len(names) == len(set(names))
    assert {row.state for row in board.jobs.values()} == {State.SUCCEEDED}
    assert world.jobs == {}
    for row in board.jobs.values():
        attempts = 2 if row.name.startswith("again") else 1
        if row.index is None and row.progress is None:
            assert row.attempt == attempts, row
        if row.index is None:
            size = 1 if row.progress is None else row.progress.succeeded
            began |= {(row.name, index, attempt): None for index in range(size) for attempt in range(1, attempts + 1)}
    ran = [line.rsplit(".", 2) for line in (home / "ran").read_text().split()]
    assert sorted((name, int(index), int(attempt)) for name, index, attempt in ran) == sorted(began)
