"""An engine of many invented nodes in real time: tasks start when told, and run until they are told to stop."""

from __future__ import annotations

from threading import Event, Lock
from typing import TYPE_CHECKING
from zlib import crc32

from clearway.model.actions import Halt, Launch
from clearway.ports.engine import DeviceUse, Inventory, Measured, NodeIsUp, TaskIsGone, TaskIsIdle, TaskIsUp, TaskUse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from clearway.model.actions import Action
    from clearway.model.events import TaskRef
    from clearway.model.fleet import NodeSpec
    from clearway.ports.engine import Report

STOPPED = 143
IDLE = 100  # of a thousand devices so many do nothing
IDLE_FOR_US = 90 * 60 * 10**6
"""For less than so long those of the running tasks that do nothing have done so when it begins."""
_MEGA = 10**6


def _busy(name: str) -> int:
    drawn = crc32(name.encode()) % 1000
    return 0 if drawn < IDLE else 350 + drawn * 64 // 100


def _of_task(task: TaskRef) -> TaskUse:
    busy = _busy(f"job {task.job}")
    return TaskUse(busy * 8, busy * _MEGA * 16, busy, busy * _MEGA * 80, busy)


class InventedEngine:
    """A `ports.Engine`. `running` are tasks by the name of their node, `unhealthy` devices by it."""

    trouble = ""
    lacks: Mapping[str, str] = {}

    def __init__(
        self,
        nodes: Iterable[NodeSpec],
        running: Mapping[str, Sequence[TaskRef]],
        unhealthy: Mapping[str, tuple[int, ...]],
    ) -> None:
        """Begin with these nodes and tasks."""
        self._nodes = tuple(nodes)
        self._unhealthy = unhealthy
        self._running = {task: name for name, tasks in running.items() for task in tasks}
        idle = (task for task in self._running if not _busy(f"job {task.job}"))
        self._reports: list[Report] = [TaskIsIdle(task, crc32(b"%d" % task.job) % IDLE_FOR_US) for task in idle]
        self._lock, self._woken = Lock(), Event()

    @property
    def measured(self) -> Measured:
        """Say an invented use of each device and task: always the same one, and of every tenth nothing at all."""
        devices = {
            (node.name, number): DeviceUse(_busy(f"{node.name}:{number}"), _busy(f"{node.name}/{number}") * _MEGA * 80)
            for node in self._nodes
            for number in range(node.gpus)
        }
        with self._lock:
            tasks = {task: _of_task(task) for task in self._running}
        return Measured(1, devices, tasks)

    def _up(self) -> list[NodeIsUp]:
        tasks: dict[str, list[TaskRef]] = {}
        for task, name in self._running.items():
            tasks.setdefault(name, []).append(task)
        return [NodeIsUp(n, tuple(tasks.get(n.name, ())), self._unhealthy.get(n.name, ())) for n in self._nodes]

    def open(self) -> Inventory:
        """Attach."""
        with self._lock:
            return Inventory(tuple(self._up()), ())

    def carry_out(self, actions: Sequence[Action]) -> None:
        """Start and stop at once."""
        with self._lock:
            for action in actions:
                if isinstance(action, Launch):
                    self._running[action.task] = action.node
                    self._reports.append(TaskIsUp(action.task))
                elif isinstance(action, Halt):
                    self._running.pop(action.task, None)
                    self._reports.append(TaskIsGone(action.task, STOPPED))
        self._woken.set()

    def reports(self) -> list[Report]:
        """Return what has happened."""
        with self._lock:
            found, self._reports = self._reports, []
            return found

    def wait(self, timeout_s: float) -> None:
        """Wait for something to happen."""
        self._woken.wait(timeout_s)
        self._woken.clear()

    def wake(self) -> None:
        """End the wait."""
        self._woken.set()

    def acknowledge(self, tasks: Sequence[TaskRef]) -> None:
        """Forget what is known."""

    def look(self) -> None:
        """Have all nodes say what they run."""
        with self._lock:
            self._reports += self._up()
        self._woken.set()

    def close(self) -> None:
        """Detach."""

    def enforced(self) -> dict[str, str]:
        """Say that nothing stands behind what is promised."""
        return {"cpus": "not enforced: invented nodes", "memory": "not enforced: invented nodes"}
