"""What stopping does where the system does not play along: with trees that are made up."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from clearway.engines.local import stopping
from clearway.engines.local.groups import Groups
from clearway.engines.local.procs import Proc
from clearway.engines.local.stopping import EMPTY_LOOKS, Stopping
from clearway.engines.local.tasks import Phase, Task
from clearway.engines.local.trees import Trees

if TYPE_CHECKING:
    from collections.abc import Collection

NOBODY = 2**22 + 1
"""A process number that no process can have."""


class MadeUp(Trees):
    """Shows what it is told to."""

    def __init__(self) -> None:
        super().__init__("made-up", Groups("made-up", "/nowhere"))
        self.shown: list[Proc] = []
        self.looks = 0

    def look(self, tasks: Collection[Task]) -> dict[str, list[Proc]]:
        self.looks += 1
        return {task.key: list(self.shown) for task in tasks}


@pytest.fixture
def trees() -> MadeUp:
    return MadeUp()


@pytest.fixture
def gone() -> list[Task]:
    return []


@pytest.fixture
def stopper(trees: MadeUp, gone: list[Task]) -> Stopping:
    return Stopping(trees, gone.append)


def _ending(*, mine: bool) -> Task:
    task = Task("1.1.0.0")
    task.phase, task.mine = Phase.ENDING, mine
    return task


def _turn(stopper: Stopping, task: Task, times: int = 1) -> None:
    for _ in range(times):
        stopper.look_soon()
        stopper.turn(time.monotonic() + 60, [task])


def test_nothing_left_is_believed_at_once_where_nothing_can_hide(stopper: Stopping, gone: list[Task]) -> None:
    task = _ending(mine=True)
    _turn(stopper, task)
    assert gone == [task]


@pytest.mark.parametrize(("mine", "steady"), [(True, False), (False, True)])
def test_nothing_left_is_believed_after_several_looks_elsewhere(
    trees: MadeUp,
    stopper: Stopping,
    gone: list[Task],
    mine: bool,  # noqa: FBT001
    steady: bool,  # noqa: FBT001
) -> None:
    trees.steady = steady
    task = _ending(mine=mine)
    _turn(stopper, task, EMPTY_LOOKS - 1)
    trees.shown = [Proc(NOBODY, 1, NOBODY, 1, dead=False)]
    _turn(stopper, task)  # something after all: counting begins anew
    trees.shown = []
    _turn(stopper, task, EMPTY_LOOKS - 1)
    assert gone == []
    _turn(stopper, task)
    assert gone == [task]


def test_what_cannot_be_killed_is_said_and_holds_its_place(
    trees: MadeUp, stopper: Stopping, gone: list[Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stopping, "STUCK_AFTER_S", 0.0)
    trees.shown = [Proc(NOBODY, 1, NOBODY, 1, dead=False)]
    task = _ending(mine=True)
    stopper.ask(task, 15, 0.0)
    _turn(stopper, task, 2)
    assert stopper.trouble() == (
        f"cannot be ended though killed, and so holds its place: task 1.1.0.0 (process {NOBODY})"
    )
    assert gone == []
    trees.shown = []
    _turn(stopper, task)
    assert gone == [task]
    stopper.turn(time.monotonic(), [])
    assert stopper.trouble() == ""


def test_looking_takes_its_share_of_time_at_most(trees: MadeUp, stopper: Stopping) -> None:
    task = Task("1.1.0.0")
    task.phase = Phase.UP
    for _ in range(100):
        stopper.turn(time.monotonic(), [task])
    assert trees.looks <= 2
