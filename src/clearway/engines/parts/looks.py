"""What a task uses, seen by whoever stands beside it: looks at its processes, and what the system knows at the end."""

# ruff: noqa: PTH123  # pathlib would cost each start of a task 5 ms

from __future__ import annotations

import os
import resource
import time

TYPE_CHECKING = False  # not from typing: a step pays for every module
if TYPE_CHECKING:
    from collections.abc import Iterable

WHOLE = 1000
EVERY_S = 1.0
"""So often it is looked."""
TICKS, PAGE, KIBI = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE"), 1024


class Looks:
    """Looks at one task from its start to its end."""

    def __init__(self) -> None:
        self._began = self._next = time.monotonic()
        self._last: tuple[float, float] = (self._began, 0.0)
        self._cpus = self._memory = 0

    def due(self) -> bool:
        """Say whether it is time for the next look."""
        return time.monotonic() >= self._next

    def take(self, pids: Iterable[int]) -> None:
        """Look at the processes that are there."""
        now = time.monotonic()
        self._next = now + EVERY_S
        cpu_s, memory = _collected_s(), 0
        for pid in pids:
            one_s, one = _used(pid)
            cpu_s, memory = cpu_s + one_s, memory + one
        then, before_s = self._last
        if now > then:
            self._cpus = max(self._cpus, int((cpu_s - before_s) / (now - then) * WHOLE))
        self._last, self._memory = (now, cpu_s), max(self._memory, memory)

    def used(self) -> dict[str, int]:
        """Return, once all are collected, CPUs in the mean and at most (thousandths), and the most memory (bytes)."""
        over_s = max(time.monotonic() - self._began, 1 / TICKS)
        mean = int(_collected_s() / over_s * WHOLE)
        most = max(self._memory, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * KIBI)
        return {"cpus": mean, "peak_cpus": max(self._cpus, mean), "peak_memory": most}


def _collected_s() -> float:
    """Return the CPU time of those that have ended and been collected."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime


def _used(pid: int) -> tuple[float, int]:
    """Return the CPU time of a process in seconds, with that of what it collected, and its memory; of one gone none."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            words = file.read().rpartition(")")[2].split()
    except OSError:
        return 0.0, 0
    utime, stime, cutime, cstime = map(int, words[11:15])
    return (utime + stime + cutime + cstime) / TICKS, int(words[21]) * PAGE
