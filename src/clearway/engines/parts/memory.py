"""Whether the system killed something of a task because memory ran out, seen by whoever stands beside it."""

# ruff: noqa: PTH118, PTH123  # pathlib would cost each start of a task 5 ms

from __future__ import annotations

import os

ROOT = "/sys/fs/cgroup"
ON_NODE = "/proc/vmstat"
"""Counts what the whole node has killed for want of memory, within the limits of groups and beyond."""


class Kills:
    """Looks at the counters of kills from the start of a task on.

    In a group that is the task's alone each kill is one of its own. In one that others share, and on a node without
    groups, it is one where the task was killed (SIGKILL, by nobody who says so) just when a counter rose.
    """

    def __init__(self, own: str = "") -> None:
        """`own`: a part of the name of a group that the task has to itself, "" where it has none."""
        group, self._file = _group()
        self._is_own = bool(own) and own in group.split("/") and os.path.exists(self._file)  # noqa: PTH110
        self._first = self._before = self._last = self._counts()

    def look(self) -> None:
        """Remember how it was, now and then."""
        self._before, self._last = self._last, self._counts()

    def ran_out(self, *, was_killed: bool) -> bool:
        """Say, at the end of the task, whether memory ran out. `was_killed`: SIGKILL ended it that nobody ordered."""
        now = self._counts()
        if self._is_own:
            return now[0] > self._first[0]
        return was_killed and any(after > before for before, after in zip(self._before, now, strict=True))

    def _counts(self) -> tuple[int, int]:
        return _count(self._file), _count(ON_NODE)


def _count(path: str) -> int:
    try:
        with open(path, encoding="ascii") as file:
            words = file.read().split()
    except OSError:  # a system without it
        return 0
    return int(words[words.index("oom_kill") + 1]) if "oom_kill" in words else 0


def _group() -> tuple[str, str]:
    """Return the control group of this process for memory, and the file of it that counts kills."""
    with open("/proc/self/cgroup", encoding="utf-8", errors="replace") as file:
        lines = [line.rstrip("\n").split(":", 2) for line in file]
    for _, parts, name in lines:
        if "memory" in parts.split(","):
            return name, os.path.join(ROOT, "memory", name.lstrip("/"), "memory.oom_control")
    name = next((name for number, _, name in lines if number == "0"), "/")
    return name, os.path.join(ROOT, name.lstrip("/"), "memory.events")
