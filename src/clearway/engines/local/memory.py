"""What the runner knows of tasks across its own death: the tasks, read from records and written to them."""

from __future__ import annotations

from clearway.engines.local import procs
from clearway.engines.local.tasks import Phase, Task

TYPE_CHECKING = False  # not from typing: the runner pays for every module
if TYPE_CHECKING:
    from collections.abc import Iterator

    from clearway.engines.local.records import Line, Records

REMEMBERED = 1024
"""So many acknowledged ends are kept, newest first, so that an order that comes very late starts nothing again."""


class Memory:
    """All tasks by key, oldest first, and the records behind them."""

    def __init__(self, records: Records) -> None:
        self.records = records
        self.tasks: dict[str, Task] = {}
        self._boot = procs.boot()
        self._acked: dict[str, None] = {}
        for line in records.read():
            self._replay(line)
        self.trouble = ""
        if records.broken_lines:
            self.trouble = f"{records.broken_lines} lines of {records.path!r} cannot be read"

    def _replay(self, line: Line) -> None:
        kind, key = line[0], str(line[1])
        if kind == "ack":
            self._forget_later(key)
            return
        task = self.tasks.setdefault(key, Task(key))
        if kind == "run":
            task.pid, task.start = int(line[2] or 0), int(line[3] or 0)
            same = line[4] == self._boot
            task.phase = Phase.UP if same else Phase.ENDING
            task.start = task.start if same else 0
            task.sought = not same
            task.held = str(line[5]) if line[5:] else ""
        elif kind == "exit":
            task.phase, task.code, task.sought = Phase.ENDING, _code(line[2]), True
            _measured(task, line[3:])
        elif kind == "gone":
            task.phase, task.code, task.error = Phase.GONE, _code(line[2]), str(line[3])
            task.oom = bool(line[4:] and line[4])
            _measured(task, line[5:])

    def started(self, tasks: list[Task]) -> None:
        """Add the lines of tasks that wait at the gate."""
        for task in tasks:
            self.records.add("run", task.key, task.pid, task.start, self._boot, task.held)

    def exited(self, task: Task) -> None:
        """Add the line for the end of a main process."""
        self.records.add("exit", task.key, task.code, task.cpus, task.peak)

    def gone(self, task: Task) -> None:
        """Add the line for the end of a task."""
        self.records.add("gone", task.key, task.code, task.error, int(task.oom), task.cpus, task.peak)

    def acknowledge(self, keys: list[str]) -> None:
        """Add the lines for ends that the controller has in its journal, and forget the oldest of them."""
        for key in keys:
            task = self.tasks.get(key)
            if task is not None and task.phase is Phase.GONE and not task.acked:
                self.records.add("ack", key, urgent=False)
                self._forget_later(key)

    def _forget_later(self, key: str) -> None:
        if key in self.tasks:
            self.tasks[key].acked = True
            self._acked[key] = None
        while len(self._acked) > REMEMBERED:
            oldest = next(iter(self._acked))
            del self._acked[oldest], self.tasks[oldest]

    def shorten(self) -> None:
        """Write the records anew, without what is forgotten. Raises OSError; they stay as they were then."""
        self.records.rewrite(self._lines())

    def _lines(self) -> Iterator[Line]:
        for task in self.tasks.values():
            if task.live:
                yield ["run", task.key, task.pid, task.start, self._boot, task.held]
            if task.phase is Phase.ENDING:
                yield ["exit", task.key, task.code, task.cpus, task.peak]
            if task.phase is Phase.GONE:
                yield ["gone", task.key, task.code, task.error, int(task.oom), task.cpus, task.peak]
            if task.acked:
                yield ["ack", task.key]


def _measured(task: Task, told: Line) -> None:
    task.cpus, task.peak = (_code(told[0]), _code(told[1])) if told[1:] else (None, None)


def _code(value: str | int | None) -> int | None:
    return value if isinstance(value, int) else None
