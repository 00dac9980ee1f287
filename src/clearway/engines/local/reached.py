"""How far tasks say they are: a file of each, of which now and then the last line is read.

A line is JSON with a whole number `step` and, where there is an end to it, `total`. All else is passed over.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any

import msgspec

from clearway.engines.local.handed import opened, path_of
from clearway.ports.engine import TaskReported

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from clearway.model.events import TaskRef

LOOK_EVERY_S = 5.0
PARTS = 10
"""Of many files some are looked at each time, so that what is told comes in ten parts and not at once."""
LAST_BYTES = 1024
"""In so many bytes at the end of a file a whole line is looked for."""
MOST_STEP = 2**53


class Reached:
    """The files of the first task of each role that runs; the others mostly say the same."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._seen: dict[TaskRef, tuple[int, int]] = {}
        """When a file was written last and how long it was, 0 and 0 before there is one."""
        self._turns: deque[TaskRef] = deque()
        self._next_s = 0.0

    def watch(self, tasks: Iterable[TaskRef]) -> None:
        """Look after tasks."""
        for task in tasks:
            if task.index == 0 and task not in self._seen:
                self._seen[task] = (0, 0)
                self._turns.append(task)

    def wait_s(self) -> float | None:
        """Return after how long to look next, None where there is nothing to look at."""
        return max(self._next_s - time.monotonic(), 0.0) if self._seen else None

    def look(self) -> list[TaskReported]:
        """Return how far those are who have told since they were looked at, every `LOOK_EVERY_S` seconds each."""
        if not self._seen or time.monotonic() < self._next_s:
            return []
        parts = min(PARTS, len(self._turns))
        self._next_s = time.monotonic() + LOOK_EVERY_S / parts
        found = []
        for _ in range(-(-len(self._turns) // parts)):
            task = self._turns.popleft()
            if task in self._seen:
                self._turns.append(task)
                if (told := self._news(task)) is not None:
                    found.append(told)
        return found

    def forget(self, task: TaskRef) -> None:
        """Look after a task no longer."""
        self._seen.pop(task, None)

    def _news(self, task: TaskRef) -> TaskReported | None:
        path = path_of(self._home, task, "progress")
        try:
            about = path.stat()
            now = (about.st_mtime_ns, about.st_size)
            if now == self._seen[task] or not about.st_size:
                return None
            self._seen[task] = now
            with opened(path) as file:
                file.seek(max(about.st_size - LAST_BYTES, 0))
                lines = file.read(LAST_BYTES).split(b"\n")[:-1]
        except OSError:  # nothing has been told yet, or nothing that can be read
            return None
        return next((told for line in reversed(lines) if (told := _read(task, line)) is not None), None)


def _read(task: TaskRef, line: bytes) -> TaskReported | None:
    try:
        told: Any = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(told, dict):
        return None
    step, total = _count(told.get("step")), _count(told.get("total", 0))
    if step is None or total is None or (total and step > total):
        return None
    return TaskReported(task, step, total=total)


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_STEP else None
