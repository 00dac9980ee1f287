"""An engine by hand: tasks start at once, and end when the test says so. They outlive the controller."""

from __future__ import annotations

from threading import Event, Lock
from typing import TYPE_CHECKING

from clearway.model.actions import Action, Halt, Launch
from clearway.model.errors import EngineError
from clearway.model.fleet import NodeSpec
from clearway.ports.engine import Inventory, Measured, NodeIsUp, Report, TaskIsGone, TaskIsUp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.model.events import TaskRef

NODE = NodeSpec("n1", gpus=4, counted_only=True)


class HandEngine:
    """A `ports.Engine` on one node. While `broken`, it fails as a whole; what `heard` holds was told to it."""

    def __init__(self, node: NodeSpec = NODE) -> None:
        self.node = node
        self.heard: list[Action] = []
        self.running: dict[TaskRef, Launch] = {}
        self.ends: dict[TaskRef, TaskIsGone] = {}
        self.starts: list[TaskRef] = []
        self.broken = False
        self.trouble = ""
        self.lacks: dict[str, str] = {}
        self.measured = Measured()
        self._reports: list[Report] = []
        self._lock = Lock()
        self._woken = Event()

    # --- for the test --------------------------------------------------------------------------

    def finish(self, task: TaskRef, exit_code: int = 0) -> None:
        """End a task."""
        with self._lock:
            self._end(task, exit_code)
        self.wake()

    def end_all(self) -> None:
        """End all tasks that run."""
        for task in list(self.running):
            self.finish(task)

    # --- the port ------------------------------------------------------------------------------

    def enforced(self) -> dict[str, str]:
        return {"gpus": "not enforced: a test"}

    def open(self) -> Inventory:
        with self._lock:
            self._reports.clear()
            return Inventory((NodeIsUp(self.node, tuple(self.running)),), tuple(self.ends.values()))

    def carry_out(self, actions: Sequence[Action]) -> None:
        self._fail_if_broken()
        with self._lock:
            for action in actions:
                self.heard.append(action)
                self._do(action)

    def reports(self) -> list[Report]:
        self._fail_if_broken()
        with self._lock:
            found, self._reports = self._reports, []
            return found

    def wait(self, timeout_s: float) -> None:
        self._woken.wait(timeout_s)
        self._woken.clear()

    def wake(self) -> None:
        self._woken.set()

    def acknowledge(self, tasks: Sequence[TaskRef]) -> None:
        with self._lock:
            for task in tasks:
                self.ends.pop(task, None)

    def look(self) -> None:
        self._fail_if_broken()
        with self._lock:
            self._reports.append(NodeIsUp(self.node, tuple(self.running)))
        self.wake()

    def close(self) -> None:
        pass

    def _do(self, action: Action) -> None:
        if isinstance(action, Launch) and action.task in self.ends:
            self._reports.append(self.ends[action.task])
        elif isinstance(action, Launch):
            if action.task not in self.running:
                self.starts.append(action.task)
                self.running[action.task] = action
            self._reports.append(TaskIsUp(action.task))
            self._woken.set()
        elif isinstance(action, Halt):
            self._end(action.task, 143)
            self._woken.set()

    def _end(self, task: TaskRef, exit_code: int) -> None:
        if task in self.running:
            del self.running[task]
            self.ends[task] = TaskIsGone(task, exit_code)
        self._reports.append(self.ends.get(task, TaskIsGone(task)))

    def _fail_if_broken(self) -> None:
        if self.broken:
            raise EngineError("the runner does not answer")
