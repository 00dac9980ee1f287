"""One task's meter: what it uses at each look, and what came together from its start to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from clearway.model.use import Used
from clearway.ports.engine import TaskUse

if TYPE_CHECKING:
    from clearway.engines.local.driver import DeviceLook

WHOLE = 1000
IDLE_BELOW = 50
"""A task is idle while each of its devices works for it less than this many thousandths of the time."""

FEWEST_LOOKS = 3
"""A device that did nothing at fewer looks may have worked between them: nothing is said of it."""


class Look(NamedTuple):
    """What the processes of a task use: all their CPU time so far in seconds, and bytes of memory now."""

    cpu_s: float
    memory: int


class Meter:
    """Takes looks at one task. Times are moments of a clock that never goes back, in seconds."""

    def __init__(self, held: str) -> None:
        """`held` are the devices of the task and its thousandths of each, as `0,1:1000`."""
        numbers, _, share = held.partition(":")
        self.devices = tuple(int(one) for one in numbers.split(",") if one)
        self._share = int(share or 0) or WHOLE
        self._began: tuple[float, float] | None = None
        self._last: tuple[float, float] | None = None
        self._peak_cpus = self._peak_memory = self._peak_gpu_memory = 0
        self._busy, self._looks = 0, 0
        self._worked: set[int] = set()
        self._seen = dict.fromkeys(self.devices, 0)
        self.idle_since: float | None = None
        self.idle_told = False
        self.now = TaskUse()

    def take(self, now: float, look: Look, devices: dict[int, DeviceLook], pids: set[int], shared: set[int]) -> None:
        """Take a look; `shared` are the devices that another task holds, too."""
        cpus = self._cpus(now, look.cpu_s)
        self._peak_memory = max(self._peak_memory, look.memory)
        mine = [(devices[number], number in shared) for number in self.devices if number in devices]
        parts = [self._busy_of(*one, pids) for one in mine]
        self._count_worked(parts)
        busy = self._mean(parts)
        memory = max((_memory_of(*one, pids) for one in mine), default=None)
        self._peak_gpu_memory = max(self._peak_gpu_memory, memory or 0)
        self._mind_idle(now, busy)
        self.now = TaskUse(cpus, look.memory, busy, memory, self._busy // self._looks if self._looks else None)

    def used(self, cpus: int | None, peak: int | None) -> Used | None:
        """Return what came together, with what the system told at the end; None where nobody knows anything."""
        looked = self._last is not None
        if not looked and cpus is None:
            return None
        mean = self._mean_cpus() if cpus is None else cpus
        gpus = bool(self._looks)
        return Used(
            mean,
            max(self._peak_cpus, mean or 0),
            max(self._peak_memory, peak or 0) or None,
            self._busy // self._looks if gpus else None,
            self._peak_gpu_memory if gpus else None,
            len(self._worked) if self._seen and min(self._seen.values()) >= FEWEST_LOOKS else None,
        )

    def _cpus(self, now: float, cpu_s: float) -> int | None:
        before, self._last = self._last, (now, cpu_s)
        self._began = self._began or self._last
        if before is None or now <= before[0]:
            return None
        cpus = max(0, int((cpu_s - before[1]) / (now - before[0]) * WHOLE))
        self._peak_cpus = max(self._peak_cpus, cpus)
        return cpus

    def _mean_cpus(self) -> int | None:
        if self._began is None or self._last is None or self._last[0] <= self._began[0]:
            return None
        return max(0, int((self._last[1] - self._began[1]) / (self._last[0] - self._began[0]) * WHOLE))

    def _busy_of(self, device: DeviceLook, shared: bool, pids: set[int]) -> int | None:  # noqa: FBT001
        """Return which part of what it holds of a device works for it."""
        if not shared:
            found = device.use.busy
        else:
            found = None if device.busy is None else sum(device.busy.get(pid, 0) for pid in pids)
        return None if found is None else min(WHOLE, found * WHOLE // self._share)

    def _count_worked(self, parts: list[int | None]) -> None:
        """Know which of its devices work; only where something is known of all of them."""
        for number, part in zip(self.devices, parts, strict=False):
            if part is not None and len(parts) == len(self.devices):
                self._seen[number] += 1
                self._worked |= {number} if part else set()

    def _mean(self, parts: list[int | None]) -> int | None:
        known = [part for part in parts if part is not None]
        if not known:
            return None
        mean = sum(known) // len(known)
        self._busy, self._looks = self._busy + mean, self._looks + 1
        return mean

    def _mind_idle(self, now: float, busy: int | None) -> None:
        if busy is None or busy >= IDLE_BELOW:
            self.idle_since = None
        elif self.idle_since is None:
            self.idle_since = now


def _memory_of(device: DeviceLook, shared: bool, pids: set[int]) -> int:  # noqa: FBT001
    """Return its memory on a device: all that is taken, where the driver does not know its processes by number."""
    mine = sum(device.memory.get(pid, 0) for pid in pids)
    return mine or (0 if shared else device.use.memory or 0)
