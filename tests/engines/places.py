"""A place for a local engine, and what the tests of its faults do to it."""

from __future__ import annotations

import contextlib
import os
import resource
import shlex
import signal
import time
from typing import TYPE_CHECKING

from clearway.engines.local.engine import LocalEngine
from clearway.engines.local.paths import log_path
from clearway.model.actions import Halt, Launch
from clearway.model.events import Grant, TaskRef
from clearway.model.fleet import NodeSpec
from clearway.model.ids import JobId, NodeId
from clearway.model.job import JobSpec
from clearway.testing.engines import PATIENCE_S, Talk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from clearway.ports.engine import TaskIsGone

NODE = "n1"


def task(job: int, attempt: int = 1) -> TaskRef:
    return TaskRef(JobId(job), attempt, 0, 0)


def until(holds: Callable[[], bool], what: str) -> None:
    limit = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < limit, f"never: {what}"
        time.sleep(0.01)


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


class Place:
    """A home with marks of what was started there."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.scratch = folder / "scratch"
        self.scratch.mkdir(parents=True)
        self.talk: Talk

    def engine(self) -> LocalEngine:
        return LocalEngine(self.home, NodeSpec(NODE), workdir=self.scratch)

    def open(self) -> Talk:
        self.talk = Talk(self.engine())
        return self.talk

    @property
    def runner(self) -> int:
        assert isinstance(self.talk.engine, LocalEngine)
        return self.talk.engine.runner_pid

    @property
    def trouble(self) -> str:
        assert isinstance(self.talk.engine, LocalEngine)
        return self.talk.engine.trouble

    def line(self, text: str) -> tuple[str, ...]:
        return (f"echo x >> {shlex.quote(str(self.scratch))}/started.$CLEARWAY_JOB; {text}",)

    def launch(self, job: int, text: str, **words: object) -> TaskRef:
        """Start a shell line that leaves a mark first."""
        self.start(job, JobSpec("job", run=self.line(text), shell=True, **words))  # type: ignore[arg-type]  # noqa: S604
        return task(job)

    def start(self, job: int, spec: JobSpec) -> TaskRef:
        self.talk.tell(Launch(task(job), spec, Grant(0, 0, NodeId(0)), NODE, 0, 1))
        return task(job)

    def started(self, job: int) -> int:
        mark = self.scratch / f"started.{job}"
        return len(mark.read_text().splitlines()) if mark.exists() else 0

    def began(self, job: int) -> bool:
        return self.started(job) > 0

    def output(self, job: int, stream: str = "stdout") -> bytes:
        return log_path(self.home, task(job), stream).read_bytes()

    def halt(self, job: int, grace_s: float = 5) -> TaskIsGone:
        self.talk.tell(Halt(task(job), NODE, "SIGTERM", round(grace_s * 1e6)))
        return self.talk.gone(task(job))

    def hear_until(self, holds: Callable[[], bool], what: str) -> None:
        """Listen until something is so."""

        def now() -> bool:
            self.talk.listen(0.05)
            return holds()

        until(now, what)

    def number_in(self, name: str) -> int:
        """Wait for a file with a process number, as `echo $$ > name` leaves it."""
        path = self.scratch / name
        until(lambda: path.exists() and path.read_text().endswith("\n"), f"{name} is written")
        return int(path.read_text())

    def kill_runner(self) -> int:
        """Kill the runner that answered last, if it was not killed before; return its number."""
        old = self.runner
        with contextlib.suppress(ProcessLookupError):
            os.kill(old, signal.SIGKILL)
        return old

    def limit_runner(self, what: int, amount: int | None) -> None:
        """Set a limit of the running runner; None lifts it."""
        _, hard = resource.prlimit(self.runner, what)
        resource.prlimit(self.runner, what, (hard if amount is None else amount, hard))

    def clear(self) -> None:
        """Leave nothing running."""
        for path in self.scratch.glob("started.*"):
            with contextlib.suppress(ValueError):
                self.halt(int(path.suffix[1:]), 0)
        self.talk.engine.close()


def rss_bytes(pid: int) -> int:
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:  # noqa: PTH123
        return int(file.read().split()[1]) * resource.getpagesize()
