"""What the tasks and devices of this machine really use: looked at now and then, in threads of its own.

One thread asks the driver of the devices, which may hang; the other looks at the tasks' processes, whose numbers the
runner tells. Nobody waits for either. What is known stands in `measured`.
"""

from __future__ import annotations

import threading
import time
from queue import SimpleQueue
from typing import TYPE_CHECKING

import psutil

from clearway.engines.local.driver import Driver
from clearway.engines.local.meter import Look, Meter
from clearway.engines.parts.orders import task_of
from clearway.ports.engine import DeviceUse, Measured, TaskIsIdle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.engines.local.driver import DeviceLook
    from clearway.engines.local.wire import Message
    from clearway.model.events import TaskRef
    from clearway.model.use import Used

LOOK_EVERY_S = 5.0
LOOKING_SHARE = 50
"""At most one part in so many of the time is spent looking, however many processes and devices there are."""
IDLE_AFTER_S = 60.0
"""A task is said to be idle when no look found it at work for so long."""
STALE_S = 60.0
"""What the driver said so long ago is not shown any more."""
NOT_FOUND = "the devices of this machine are declared, not found: nothing measures them"
NO_DEVICES = "this machine has no NVIDIA devices"
NOT_YET = "nothing has been measured yet"


class Uses:
    """Looks at tasks and devices of a node. `names` are those of CUDA_VISIBLE_DEVICES; `declared` without any."""

    def __init__(self, node: str, names: Sequence[str], *, declared: bool = False) -> None:
        self.every_s, self.idle_after_s = LOOK_EVERY_S, IDLE_AFTER_S
        self._news: SimpleQueue[tuple[TaskRef, float | None]] = SimpleQueue()
        self._node, self._driver = node, Driver(names) if names else None
        self._why_not = NOT_YET if names else NOT_FOUND if declared else NO_DEVICES
        self._devices: tuple[DeviceLook, ...] = ()
        self._asked = self._answered = time.monotonic()
        self._meters: dict[TaskRef, Meter] = {}
        self._gone: set[TaskRef] = set()
        self._lock = threading.Lock()
        self._told: SimpleQueue[Message | None] = SimpleQueue()
        self._over = threading.Event()
        self._next_s = 0.0
        self.measured = Measured(why_not=self._why_not)
        self._threads = [threading.Thread(target=self._watch_tasks, name="task use", daemon=True)]
        if self._driver is not None:
            self._threads.append(threading.Thread(target=self._watch_devices, name="device use", daemon=True))

    def begin(self) -> None:
        """Begin to look."""
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Stop looking; a driver that hangs is left behind and ends with the process."""
        self._over.set()
        self._told.put(None)

    def wait_s(self) -> float:
        """Return after how long the runner is to be asked which processes its tasks have."""
        return max(0.0, self._next_s - time.monotonic())

    def asked(self) -> None:
        """Learn that the runner is being asked."""
        self._next_s = time.monotonic() + self.every_s

    def members(self, tasks: Message) -> None:
        """Take what the runner tells: by task what it holds, and its processes."""
        self._told.put(tasks)

    def reports(self) -> list[TaskIsIdle]:
        """Return of which tasks the devices do nothing, or work again, since the last call."""
        found = []
        while not self._news.empty():
            task, since_s = self._news.get()
            for_us = None if since_s is None else round((time.monotonic() - since_s) * 1e6)
            found.append(TaskIsIdle(task, for_us))
        return found

    def used(self, task: TaskRef, cpus: int | None, peak: int | None) -> Used | None:
        """Return what a task that is over used, and forget it."""
        with self._lock:
            meter = self._meters.pop(task, None)
            return (meter or Meter("")).used(cpus, peak)

    # --- in threads of its own -------------------------------------------------------------------

    def _watch_devices(self) -> None:
        driver = self._driver
        pause_s = 0.0
        while driver is not None and not self._over.wait(pause_s):
            began = time.monotonic()
            devices, why_not = driver.look()
            with self._lock:
                self._devices, self._why_not, self._answered = devices, why_not, time.monotonic()
            self._publish()
            pause_s = max(self.every_s, LOOKING_SHARE * (time.monotonic() - began))
        if driver is not None:
            driver.close()

    def _watch_tasks(self) -> None:
        while (told := self._newest()) is not None:
            began = time.monotonic()
            self._look(told)
            self._publish()
            if self._over.wait(min(STALE_S, (LOOKING_SHARE - 1) * (time.monotonic() - began))):
                return

    def _newest(self) -> Message | None:
        """Return what was told last, None when it is over."""
        told = self._told.get()
        while told is not None and not self._told.empty():
            told = self._told.get()
        return told

    def _look(self, told: Message) -> None:
        tasks = {task_of(key): (str(held), set(map(int, pids))) for key, (held, *pids) in told.items()}
        looks = {task: _processes(pids) for task, (_, pids) in tasks.items()}
        now = time.monotonic()
        with self._lock:
            devices = dict(enumerate(self._devices)) if now - self._answered < STALE_S else {}
            gone = self._meters.keys() - tasks.keys()
            for task in gone & self._gone:  # its end was told by another runner, or long ago
                del self._meters[task]
            self._gone = gone
            for task, (held, _) in tasks.items():
                self._meters.setdefault(task, Meter(held))
            holders = [number for task in tasks for number in self._meters[task].devices]
            shared = {number for number in holders if holders.count(number) > 1}
            for task, (_, pids) in tasks.items():
                self._meters[task].take(now, looks[task], devices, pids, shared)
                self._tell(task, self._meters[task], now)

    def _tell(self, task: TaskRef, meter: Meter, now: float) -> None:
        idle = meter.idle_since is not None and now - meter.idle_since >= self.idle_after_s
        if idle != meter.idle_told and (idle or meter.idle_since is None):
            meter.idle_told = idle
            self._news.put((task, meter.idle_since))

    def _publish(self) -> None:
        with self._lock:
            stale = self._driver is not None and time.monotonic() - self._answered > STALE_S
            why_not = f"the driver has not answered for more than {STALE_S:g} s" if stale else self._why_not
            devices: dict[tuple[str, int], DeviceUse] = {}
            if not stale:
                devices = {(self._node, number): look.use for number, look in enumerate(self._devices)}
            tasks = {task: meter.now for task, meter in self._meters.items()}
            self.measured = Measured(self.measured.number + 1, devices, tasks, why_not)


def _processes(pids: set[int]) -> Look:
    """Return what processes use together; of those that have just ended, nothing."""
    cpu_s, memory = 0.0, 0
    for pid in pids:
        try:
            one = psutil.Process(pid)
            with one.oneshot():
                cpu_s += sum(one.cpu_times()[:4])  # its own, and of what it started and waited for
                memory += one.memory_info().rss
        except psutil.Error:
            continue
    return Look(cpu_s, memory)
