"""An engine of one's own: tasks run at a service that knows names and programs (`examples.service`).

It shows how each promise of `clearway.ports.engine.Engine` is kept; tests/examples/test_engine.py runs the suite on it.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, NamedTuple

from clearway.model.actions import Halt, Launch
from clearway.model.events import TaskRef
from clearway.model.fleet import NodeSpec
from clearway.ports.engine import Inventory, Measured, NodeIsUp, TaskIsGone, TaskIsUp
from clearway.ports.optional import OPTIONAL, lacked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clearway.model.actions import Action
    from clearway.ports.engine import Report
    from examples.service import Service

NODE = NodeSpec("n1", gpus=4)


class Known(NamedTuple):
    """What is kept where a restart finds it: here in memory beside the service, else in a file or the service's labels.

    `ends`: of each task that is over, how; they stay, so that an order that comes late starts nothing again. `unsaid`:
    those that nobody has acknowledged.
    """

    ends: dict[TaskRef, TaskIsGone]
    unsaid: set[TaskRef]


class ServiceEngine:
    """Starts and stops tasks at a service, whose one machine is the node."""

    trouble = ""
    measured = Measured(why_not="the service measures nothing")
    lacks: Mapping[str, str] = dict.fromkeys(OPTIONAL, "none: the service has nothing of that kind")

    def __init__(self, service: Service, known: Known) -> None:
        self._service, self._known = service, known
        self._tasks: dict[str, TaskRef] = {}
        self._reports: list[Report] = []

    def enforced(self) -> dict[str, str]:
        """Say the truth: users read it."""
        return dict.fromkeys(("gpus", "cpus", "memory", "disk", "user", "stop"), "as the service does it")

    def open(self) -> Inventory:
        """Find what runs by its name, and what has ended while nobody was there."""
        self._tasks = {name: _task(name) for name in self._service.runs}
        for name in self._service.ended():
            self._end(TaskIsGone(self._tasks[name], self._service.runs[name].code))
        self._reports.clear()
        return Inventory(
            (self._node(),), tuple(self._known.ends[task] for task in sorted(self._known.unsaid, key=_name))
        )

    def carry_out(self, actions: Sequence[Action]) -> None:
        """Do each action. What is over already is answered with its end."""
        self._reports += self._ended()
        for action in actions:
            if (end := self._known.ends.get(action.task)) is not None:
                self._reports.append(end)
            elif isinstance(action, Launch):
                self._launch(action)
            elif _name(action.task) not in self._tasks:  # if its launch comes late, it starts nothing
                self._end(TaskIsGone(action.task))
            elif isinstance(action, Halt):
                number = int(signal.Signals[action.signal])
                self._service.stop(_name(action.task), number, action.grace_us / 1_000_000)
            else:
                self._service.stand_still(_name(action.task), still=action.paused)

    def reports(self) -> list[Report]:
        """Return what has happened."""
        found = [*self._reports, *self._ended()]
        self._reports = []
        return found

    def wait(self, timeout_s: float) -> None:
        """Let time pass until there is something to tell. A service that is far away is asked in a thread."""
        if not self._reports:
            self._service.let_pass(timeout_s)

    def wake(self) -> None:
        """Nothing waits here: time passes at once."""

    def acknowledge(self, tasks: Sequence[TaskRef]) -> None:
        """Tell these ends to no new instance."""
        self._known.unsaid.difference_update(tasks)

    def look(self) -> None:
        """Report the node anew."""
        self._reports.append(self._node())

    def close(self) -> None:
        """Leave everything as it is."""

    # --- inside ----------------------------------------------------------------------------------

    def _launch(self, launch: Launch) -> None:
        name, task = _name(launch.task), launch.task
        if name in self._tasks:  # told twice, started once
            self._reports.append(TaskIsUp(task))
            return
        if why := _refusal(launch):
            self._end(TaskIsGone(task, error=why))
            return
        try:
            self._service.start(name, launch.spec.run)
        except ValueError as error:  # one task's trouble is that task's end, and no other's
            self._end(TaskIsGone(task, error=str(error)))
            return
        self._tasks[name] = task
        self._reports.append(TaskIsUp(task))

    def _ended(self) -> Iterator[Report]:
        for name in self._service.ended():
            yield self._end(TaskIsGone(self._tasks.pop(name), self._service.runs[name].code), told=False)

    def _end(self, end: TaskIsGone, *, told: bool = True) -> TaskIsGone:
        self._known.ends[end.task] = end
        self._known.unsaid.add(end.task)
        if told:
            self._reports.append(end)
        return end

    def _node(self) -> NodeIsUp:
        running = [
            self._tasks[name] for name, run in self._service.runs.items() if not run.over and name in self._tasks
        ]
        return NodeIsUp(NODE, tuple(running))


def _refusal(launch: Launch) -> str:
    if launch.node != NODE.name:
        return f"there is no node {launch.node!r}"
    if max(launch.grant.devices, default=-1) >= NODE.gpus:
        return f"the node {launch.node!r} has {NODE.gpus} devices"
    without = lacked(launch.spec, ServiceEngine.lacks)
    return "" if without is None else str(without)


def _name(task: TaskRef) -> str:
    """Return the name of a task at the service: all four numbers, so that no two share one."""
    return f"{task.job}.{task.attempt}.{task.role}.{task.index}"


def _task(name: str) -> TaskRef:
    return TaskRef(*map(int, name.split(".")))  # type: ignore[arg-type]  # ids are numbers
