"""What tasks report on their way: lines of JSON that they add to a file of theirs, read as they come.

A line is a number, or a map of names to numbers with, if it likes, a whole number `step`; else the lines are counted.
What is none of these is passed over. After a restart a file is read from its beginning: what was told comes again.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec

from clearway.engines.local.handed import opened, path_of
from clearway.engines.local.reached import MOST_STEP, Reached
from clearway.ports.engine import TaskReported

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from clearway.model.events import TaskRef

LOOK_EVERY_S = 0.25
MOST_BYTES = 1_000_000
"""What is read of one file at once; more comes with the next look."""


class Metrics:
    """The files of tasks that live here and may report, or say how far they are."""

    def __init__(self, home: Path) -> None:
        self._home, self._reached = home, Reached(home)
        self._read: dict[TaskRef, tuple[int, int]] = {}
        """Bytes and lines read."""
        self._next_s = 0.0

    def watch(self, tasks: Iterable[TaskRef]) -> None:
        """Look after tasks; for reports, after those that were given a file for it."""
        tasks = tuple(tasks)
        self._reached.watch(tasks)
        for task in tasks:
            if task not in self._read and path_of(self._home, task, "metrics").exists():
                self._read[task] = (0, 0)

    def wait_s(self) -> float | None:
        """Return after how long to look next, None where there is nothing to look at."""
        own = max(self._next_s - time.monotonic(), 0.0) if self._read else None
        return min((found for found in (own, self._reached.wait_s()) if found is not None), default=None)

    def look(self) -> list[TaskReported]:
        """Return what has been reported since the last look, at most every `LOOK_EVERY_S` seconds."""
        found = self._reached.look()
        if not self._read or time.monotonic() < self._next_s:
            return found
        self._next_s = time.monotonic() + LOOK_EVERY_S
        return [*found, *(report for task in list(self._read) for report in self._news(task))]

    def last(self, task: TaskRef) -> list[TaskReported]:
        """Return what a task has reported that is over, and look after it no longer."""
        self.watch([task])
        found = list[TaskReported]()
        while task in self._read and (more := self._news(task)):
            found += more
        self._read.pop(task, None)
        self._reached.forget(task)
        return found

    def _news(self, task: TaskRef) -> list[TaskReported]:
        offset, lines = self._read[task]
        try:
            with opened(path_of(self._home, task, "metrics")) as file:
                file.seek(offset)
                data = file.read(MOST_BYTES)
        except OSError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        if not whole and len(data) == MOST_BYTES:
            whole = data  # a line that long is none
        found = []
        for line in whole.splitlines():
            lines += 1
            report = _read(task, line, lines)
            if report is not None:
                found.append(report)
        self._read[task] = (offset + len(whole), lines)
        return found


def _read(task: TaskRef, line: bytes, number: int) -> TaskReported | None:
    try:
        told: Any = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    step = told.pop("step", number) if isinstance(told, dict) else number
    if isinstance(step, bool) or not isinstance(step, int) or not 0 < step <= MOST_STEP:
        return None
    return TaskReported(task, step, msgspec.json.encode(told, order="deterministic").decode())
