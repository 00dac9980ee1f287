"""What the suite of engines stands on: a talk with an engine, and what each engine gives for its tests."""
# ruff: noqa: S604  # pytest reads asserts; a shell line is what a job of the suite is

from __future__ import annotations

import shlex
import sys
import time
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from clearway.model.actions import Halt, Launch, Pause
from clearway.model.events import Grant, TaskRef
from clearway.model.ids import JobId, NodeId
from clearway.model.job import JobSpec
from clearway.ports.engine import Engine, Inventory, Report, TaskIsGone, TaskIsUp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

SECOND_US = 1_000_000
PATIENCE_S = 30.0
"""So long a behaviour may take before it counts as not shown."""


def how(end: TaskIsGone) -> TaskIsGone:
    """Return how a task ended, without what it used: no two runs use the same."""
    return replace(end, used=None)


class Talk:
    """An engine and everything it has said so far."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.inventory: Inventory = engine.open()
        self.heard: list[Report] = []

    def tell(self, *actions: Launch | Halt | Pause) -> None:
        """Have the engine carry out actions."""
        self.engine.carry_out(actions)

    def listen(self, seconds: float) -> None:
        """Hear what comes in so much of real time (of an engine that pretends: of its own)."""
        until = time.monotonic() + seconds
        while True:
            self.engine.wait(min(0.05, seconds))
            self.heard += self.engine.reports()
            if time.monotonic() >= until:
                return

    def up(self, task: TaskRef) -> None:
        """Wait until a task is reported as running."""
        self.until(lambda: TaskIsUp(task) in self.heard, f"{task} was not reported as running")

    def gone(self, task: TaskRef, times: int = 1) -> TaskIsGone:
        """Wait until the end of a task was reported so often, and return the latest report."""
        self.until(lambda: len(self.ends(task)) >= times, f"the end of {task} was not reported {times} times")
        return self.ends(task)[-1]

    def ends(self, task: TaskRef) -> list[TaskIsGone]:
        """Return all reports of a task's end that were heard."""
        return [report for report in self.heard if isinstance(report, TaskIsGone) and report.task == task]

    def until(self, holds: Callable[[], bool], otherwise: str) -> None:
        """Listen until something is so."""
        until = time.monotonic() + PATIENCE_S
        while not holds():
            if time.monotonic() > until:
                pytest.fail(f"{otherwise}; heard: {self.heard}")
            self.engine.wait(0.5)
            self.heard += self.engine.reports()


class EnginePlace:
    """What an engine gives for its tests. `scratch` is a folder that its tasks can write to."""

    node = "n1"
    real = True
    cannot: Mapping[str, str] = {}
    scratch: Path

    # --- what a subclass gives -------------------------------------------------------------------

    def attach(self) -> Engine:
        """Return a new engine for the same machines: at first they are empty, later they are as they were left."""
        raise NotImplementedError

    def log(self, task: TaskRef, stream: str) -> bytes:
        """Return what a task wrote to `stream`: stdout or stderr."""
        raise NotImplementedError

    def exits(self, code: int) -> JobSpec:
        """Return a job that ends at once with this code."""
        return self.shell(f"exit {code}")

    def runs_on(self) -> JobSpec:
        """Return a job that runs until it is told to stop, and then stops at once."""
        return self.shell("exec sleep 600")

    def stubborn(self) -> JobSpec:
        """Return a job that only SIGKILL ends."""
        return self.shell("trap '' TERM INT; echo ready; while :; do sleep 0.1; done")

    def lingers(self, seconds: float, code: int) -> JobSpec:
        """Return a job that needs so much time to stop when it is told to, and then ends with this code."""
        return self.shell(f"trap 'sleep {seconds}; exit {code}' TERM; echo ready; while :; do sleep 0.05; done")

    def refused(self) -> JobSpec:
        """Return a job that asks for `no-such-thing`, which this engine does not give."""
        return JobSpec("refused", run=("true",), image="no-such-thing")

    def cannot_start(self) -> JobSpec:
        """Return a job whose command `no-such-command` does not exist."""
        return JobSpec("broken", run=("no-such-command", "--flag"))

    def lasts(self, seconds: float) -> JobSpec:
        """Return a job that ends with 0 after so much of its own time."""
        return self.shell(f"sleep {seconds}")

    def starts(self, task: TaskRef) -> int:
        """Return how many processes were started for a task."""
        mark = self.scratch / f"{task.job}.{task.attempt}.{task.role}.{task.index}"
        return len(mark.read_text().splitlines()) if mark.exists() else 0

    def shell(self, line: str, **env: str) -> JobSpec:
        """Return a job that runs a shell line, after it has left a mark that it was started."""
        mark = shlex.quote(str(self.scratch)) + "/$CLEARWAY_JOB.$CLEARWAY_ATTEMPT.0.$CLEARWAY_INDEX"
        run = (f"echo started >> {mark}; {line}",)
        return JobSpec("job", run=run, shell=True, env=tuple(sorted(env.items())))

    def python(self, code: str) -> JobSpec:
        """Return a job that runs Python code."""
        return JobSpec("job", run=(sys.executable, "-c", code))

    def lose_node(self) -> None:
        """Have the node die with all that runs on it."""
        raise NotImplementedError

    def bring_back(self) -> None:
        """Have the node that was lost be there again, empty."""
        raise NotImplementedError

    def change_node(self) -> None:
        """Have the node be another one than it was: other words, or devices that are ill."""
        raise NotImplementedError

    def change_back(self) -> None:
        """Have the node be as it was before `change_node`."""
        raise NotImplementedError

    def join_node(self) -> str:
        """Have one more node join, and return its name."""
        raise NotImplementedError

    def leave_node(self) -> None:
        """Have the node that joined leave again."""
        raise NotImplementedError

    def settle(self, talk: Talk, seconds: float = 0.3) -> None:
        """Let some time pass in which nothing is expected."""
        talk.listen(seconds)

    # --- helpers ---------------------------------------------------------------------------------

    @pytest.fixture
    def talk(self) -> Iterator[Talk]:
        """Give an engine that is open, and leave nothing running behind."""
        self.talks: list[Talk] = []
        self.used: set[TaskRef] = set()
        yield self.again()
        last = self.talks[-1]
        for task in self.used:
            last.tell(Halt(task, self.node, "SIGKILL", 0))
        for task in self.used:
            last.gone(task)
        last.engine.acknowledge(list(self.used))
        last.engine.close()

    def again(self, meanwhile: Callable[[], None] = lambda: None) -> Talk:
        """Return a talk with a new instance, as after a restart of the controller."""
        if self.talks:
            self.talks[-1].engine.close()
        meanwhile()
        self.talks.append(Talk(self.attach()))
        return self.talks[-1]

    def ready(self, talk: Talk, order: Launch) -> None:
        """Start a task, and wait until it runs and has printed that it is ready, which only a real one does."""
        talk.tell(order)
        talk.up(order.task)
        if self.real:
            talk.until(lambda: b"ready" in self.printed(order.task), "what a task prints is not there while it runs")

    def printed(self, task: TaskRef) -> bytes:
        """Return what a task wrote to its standard output up to now."""
        try:
            return self.log(task, "stdout")
        except FileNotFoundError:  # nothing yet
            return b""

    def launch(
        self, spec: JobSpec, job: int = 1, attempt: int = 1, devices: tuple[int, ...] = (), index: int = 0, of: int = 1
    ) -> Launch:
        """Return the order to start a task: the only one of its attempt, or one `of` several."""
        task = TaskRef(JobId(job), attempt, 0, index)
        self.used.add(task)
        return Launch(task, spec, Grant(0, index, NodeId(0), devices), self.node, index, of, self.node)

    def halt(self, task: TaskRef, grace_s: float = 10.0, signal: str = "SIGTERM") -> Halt:
        """Return the order to stop a task."""
        return Halt(task, self.node, signal, round(grace_s * SECOND_US))

    def _needs(self, what: str) -> None:
        if what in self.cannot:
            pytest.skip(f"this engine cannot {what}: {self.cannot[what]}")

    def _only_real(self) -> None:
        if not self.real:
            pytest.skip("this engine only pretends: there is no process to look at")
