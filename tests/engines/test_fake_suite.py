from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clearway.engines.fake import FakeEngine, Life, ManualClock, Room
from clearway.model.actions import Launch
from clearway.model.fleet import NodeSpec
from clearway.model.job import JobSpec
from clearway.testing.engines import SECOND_US, EngineSuite, Talk

if TYPE_CHECKING:
    from clearway.model.actions import Action
    from clearway.model.events import TaskRef

RUNS_ON = Life(run_us=None, stop_us=0)


def _refusal(action: Action) -> str:
    return "there is no-such-thing here" if isinstance(action, Launch) and action.spec.name == "refused" else ""


class TestFakeEngine(EngineSuite):
    real = False

    @pytest.fixture(autouse=True)
    def _place(self) -> None:
        self.lives: dict[str, Life] = {}
        self.room = Room(
            [NodeSpec(self.node)], ManualClock(), lambda launch: self.lives[launch.spec.name], refuses=_refusal
        )

    def attach(self) -> FakeEngine:
        return FakeEngine(self.room)

    def _job(self, life: Life) -> JobSpec:
        name = f"life-{len(self.lives)}"
        self.lives[name] = life
        return JobSpec(name)

    def exits(self, code: int) -> JobSpec:
        return self._job(Life(run_us=0, exit_code=code))

    def runs_on(self) -> JobSpec:
        return self._job(RUNS_ON)

    def stubborn(self) -> JobSpec:
        return self._job(Life(stop_us=None))

    def lingers(self, seconds: float, code: int) -> JobSpec:
        return self._job(Life(stop_us=round(seconds * SECOND_US), stop_code=code))

    def refused(self) -> JobSpec:
        return JobSpec("refused")

    def cannot_start(self) -> JobSpec:
        return self._job(Life(error="the command 'no-such-command' does not exist"))

    def lasts(self, seconds: float) -> JobSpec:
        return self._job(Life(run_us=round(seconds * SECOND_US)))

    def starts(self, task: TaskRef) -> int:
        return sum(order.task == task for order in self.room.launched)

    def lose_node(self) -> None:
        self.room.lose_node(self.node)

    def bring_back(self) -> None:
        self.room.bring_back(self.node)

    def change_node(self) -> None:
        self.room.add_node(NodeSpec(self.node, gpus=1))

    def change_back(self) -> None:
        self.room.add_node(NodeSpec(self.node))

    def join_node(self) -> str:
        self.room.add_node(NodeSpec("n2"))
        return "n2"

    def leave_node(self) -> None:
        self.room.remove_node("n2")

    def settle(self, talk: Talk, seconds: float = 0.3) -> None:
        until = self.room.clock.now_us() + round(seconds * SECOND_US)
        while self.room.clock.now_us() < until:
            talk.engine.wait((until - self.room.clock.now_us()) / SECOND_US)
            talk.heard += talk.engine.reports()
