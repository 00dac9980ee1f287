"""The example of an engine keeps all that an engine promises."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clearway.model.job import JobSpec
from clearway.testing.engines import EngineSuite, Talk
from examples.engine import Known, ServiceEngine
from examples.service import Service

if TYPE_CHECKING:
    from clearway.model.events import TaskRef

ONE = "the service is one machine"


class TestServiceEngine(EngineSuite):
    real = False
    cannot = {"lose_node": ONE, "change_node": ONE, "join_node": ONE}  # noqa: RUF012  read, never changed

    @pytest.fixture(autouse=True)
    def _place(self) -> None:
        self.service, self.known = Service(), Known({}, set())

    def attach(self) -> ServiceEngine:
        return ServiceEngine(self.service, self.known)

    def starts(self, task: TaskRef) -> int:
        return self.service.started.count(f"{task.job}.{task.attempt}.{task.role}.{task.index}")

    def exits(self, code: int) -> JobSpec:
        return JobSpec("job", run=("exit", str(code)))

    def lasts(self, seconds: float) -> JobSpec:
        return JobSpec("job", run=("lasts", str(seconds)))

    def runs_on(self) -> JobSpec:
        return JobSpec("job", run=("runs",))

    def stubborn(self) -> JobSpec:
        return JobSpec("job", run=("stubborn",))

    def lingers(self, seconds: float, code: int) -> JobSpec:
        return JobSpec("job", run=("lingers", str(seconds), str(code)))

    def settle(self, talk: Talk, seconds: float = 0.3) -> None:
        until = self.service.now + seconds
        while self.service.now < until:
            talk.engine.wait(until - self.service.now)
            talk.heard += talk.engine.reports()
