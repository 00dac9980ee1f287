"""Stopping whole trees: the signal, the grace, the kill, and the certainty that nothing is left."""

from __future__ import annotations

import signal
import time

from clearway.engines.local import procs
from clearway.engines.local.tasks import Phase

TYPE_CHECKING = False  # not from typing: the runner pays for every module
if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.engines.local.procs import Proc
    from clearway.engines.local.tasks import Task
    from clearway.engines.local.trees import Trees

LEFTOVER_GRACE_S = 10.0
"""What a task's main process left behind when it ended by itself gets SIGTERM, and so long after it SIGKILL."""

LOOK_EVERY_S = 1.0
"""How often the trees of running tasks are looked at, so that a process is known before it can hide."""

ENDING_LOOK_S = 0.1
"""The same while something is to end. An end is usually told by the system at once; this is for the rest."""

LOOKING_SHARE = 5
"""At most one part in so many of the time is spent looking, however many processes the machine has."""

STUCK_AFTER_S = 5.0
"""What still lives so long after SIGKILL is said to be stuck; it is killed again and again all the same."""

EMPTY_LOOKS = 3
"""So many looks in turn that find nothing are enough where a single one is not certain."""

PASSES = 20
"""So often a tree is looked at again at once, for what was forked while it was being signalled."""


class Stopping:
    """Follows the trees of live tasks. `gone` is called for a task whose last process is gone."""

    def __init__(self, trees: Trees, gone: Callable[[Task], None]) -> None:
        self._trees, self._gone = trees, gone
        self._asked: list[Task] = []
        self._to_pause: list[Task] = []
        self._soon = True
        self._looked_at = 0.0
        self._rest_until = 0.0
        self._ending = False
        self._stuck: dict[str, list[int]] = {}

    def ask(self, task: Task, number: int, grace_s: float) -> None:
        """Signal a task's tree at the next turn, and kill what is left after `grace_s`. Asking again delays nothing."""
        task.sought = True
        kill_at = time.monotonic() + grace_s
        task.kill_at = kill_at if task.kill_at is None else min(task.kill_at, kill_at)
        if task.asked_signal != number:
            task.asked_signal = number
            self._asked.append(task)
        self._soon = True

    def pause(self, task: Task) -> None:
        """Make a task's tree stand still or go on, as it says, at the next turn."""
        task.sought = True
        self._to_pause.append(task)

    @property
    def stuck(self) -> list[str]:
        """The tasks that cannot be ended."""
        return sorted(self._stuck)

    def trouble(self) -> str:
        """Return what cannot be ended, in a sentence; empty where there is nothing."""
        each = (f"task {key} (process {', '.join(map(str, pids))})" for key, pids in sorted(self._stuck.items()))
        return "cannot be ended though killed, and so holds its place: " + ", ".join(each) if self._stuck else ""

    def look_soon(self) -> None:
        """Something ended: see what it left."""
        self._soon = True

    def wait(self, now: float, anything_lives: bool) -> float:  # noqa: FBT001
        """Return the seconds until the next turn has something to do here."""
        if self._asked or self._to_pause:
            return 0.0
        if self._soon and anything_lives:
            return max(0.0, self._rest_until - now)
        every = ENDING_LOOK_S if self._ending else LOOK_EVERY_S
        return max(0.0, self._looked_at + every - now, self._rest_until - now) if anything_lives else 3600.0

    def turn(self, now: float, live: list[Task]) -> None:
        """Look if it is time to, and do what the look shows to be due."""
        if not live:
            self._asked, self._to_pause, self._soon, self._stuck = [], [], False, {}
            return
        ordered = bool(self._asked or self._to_pause)
        if not ordered and self.wait(now, anything_lives=True) > 0.0:
            return
        began = time.monotonic()
        found = self._trees.look(live)
        self._soon = False
        self._act(live, found)
        self._looked_at = time.monotonic()
        self._rest_until = self._looked_at + (LOOKING_SHARE - 1) * (self._looked_at - began)

    def _act(self, live: list[Task], found: dict[str, list[Proc]]) -> None:
        now = time.monotonic()
        asked, self._asked = self._asked, []
        to_pause, self._to_pause = self._to_pause, []
        for task in asked:
            for proc in found.get(task.key, []):
                procs.send(proc, task.asked_signal)
                procs.send(proc, signal.SIGCONT)  # what stands still cannot hear a signal
        for task in to_pause:
            self._until_steady(live, task, signal.SIGSTOP if task.paused else signal.SIGCONT)
        for task in live:
            self._see_to(task, live, found.get(task.key, []))
        long_killed = {t.key for t in live if t.live and t.kill_at is not None and now > t.kill_at + STUCK_AFTER_S}
        self._stuck = {key: [proc.pid for proc in found.get(key, [])] for key in long_killed if found.get(key)}
        self._ending = any(t.live and (t.phase is Phase.ENDING or t.kill_at is not None) for t in live)

    def _see_to(self, task: Task, live: list[Task], left: list[Proc]) -> None:
        now = time.monotonic()
        if task.phase is Phase.ENDING and not left:
            self._nothing_left(task)
            return
        task.empty_looks = 0
        if task.phase is Phase.ENDING and task.kill_at is None:
            task.kill_at = now + LEFTOVER_GRACE_S
            for proc in left:
                procs.send(proc, signal.SIGTERM)
                procs.send(proc, signal.SIGCONT)
        elif task.kill_at is not None and now >= task.kill_at:
            self._until_steady(live, task, signal.SIGKILL)

    def _nothing_left(self, task: Task) -> None:
        """Believe it when nothing can have hidden from the look.

        Where something may have, or where another runner forked the task, so that its orphans come to init and nobody
        sees them hide, several looks in turn must find nothing.
        """
        task.empty_looks += 1
        if (task.mine and self._trees.steady) or task.empty_looks >= EMPTY_LOOKS:
            self._gone(task)
        else:
            self._soon = True

    def _until_steady(self, live: list[Task], task: Task, number: int) -> None:
        """Signal the tree, and what was forked meanwhile, until a look shows nothing new."""
        done: set[tuple[int, int]] = set()
        if number == signal.SIGKILL:
            self._trees.groups.kill(task.key)
        for _ in range(PASSES):
            fresh = [p for p in self._trees.look(live).get(task.key, []) if (p.pid, p.start) not in done]
            if not fresh:
                return
            for proc in fresh:
                procs.send(proc, number)
                done.add((proc.pid, proc.start))
