"""The runner's work: starting tasks, seeing them end, stopping them with all they started, and remembering it.

A turn never waits for a task. What is said to the controller is said after it is durable; where the disk refuses,
it is said anyway and written later, since nothing is started again for lack of a line: a task that could not be
recorded is started later.
"""

from __future__ import annotations

import contextlib
import errno
import os
import selectors
import signal
import time

from clearway.engines.local import procs, spawn
from clearway.engines.local.stopping import Stopping
from clearway.engines.local.tasks import Phase, Task
from clearway.engines.parts.cuts import Cuts

TYPE_CHECKING = False  # not from typing: the runner pays for every module
if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.engines.local.memory import Memory
    from clearway.engines.local.trees import Trees
    from clearway.engines.local.wire import Message

FORKS_A_TURN = 32
"""So many tasks are started between two looks at what ended and what is asked."""

RETRY_WRITING_S = 1.0
"""How long a disk that refused is left alone."""

EXIT_CODE_WAIT_S = 3.0
"""How long an orphan's end may stay uncollected by whoever adopted it before its exit code counts as unknown."""

EXIT_CODE_POLL_S = 0.1

SHORT_OF = frozenset({errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM})
"""What a machine says that is out of descriptors, processes or memory now, and may have some in a moment."""

FORK_AGAIN_S = 0.5
"""How long it is left alone then."""

START_AGAIN_S = 1.0
"""How long nothing is started after one could not be for want of space or the like. That is waited for without end."""

FORK_PATIENCE_S = 60.0
"""When nothing could be started for so long, what waits to be started is over."""

CUT_EVERY_S = 1.0
"""How often the logs of running tasks are looked at."""


class Keeper:
    """Keeps all tasks of this runner. `say` takes what the controller is to hear."""

    def __init__(
        self, memory: Memory, trees: Trees, settings: spawn.Settings, selector: selectors.BaseSelector,
        say: Callable[[Message], None],
    ) -> None:  # fmt: skip
        self.tasks = memory.tasks
        self.trouble = memory.trouble
        self._memory, self._settings, self._selector, self._say = memory, settings, selector, say
        self._groups, self._cuts = trees.groups, Cuts()
        self._stopping = Stopping(trees, self._tree_is_gone)
        self._live: dict[str, Task] = {}
        self._queue: list[Task] = []
        self._mains: dict[int, Task] = {}
        self._to_say: list[Message] = []
        self._uncollected: dict[str, float] = {}
        self._write_again_at = 0.0
        self._gate: tuple[int, ...] = ()
        self._not_now: dict[str, str] = {}
        self._cannot_write = self._cannot_fork = self._cannot_group = ""
        self._fork_again_at = self._short_since = self._cut_at = 0.0
        for task in list(self.tasks.values()):
            if task.live:
                self._adopt(task)
        self._groups.sweep(self._live)

    @property
    def live(self) -> list[str]:
        """The tasks that have or may have processes, or are about to."""
        return [*self._live, *(task.key for task in self._queue if task.phase is Phase.QUEUED)]

    @property
    def stuck(self) -> list[str]:
        """The tasks that cannot be ended though they were killed."""
        return self._stopping.stuck

    @property
    def unacknowledged(self) -> list[Task]:
        """The tasks whose end no controller has in its journal yet, oldest first."""
        return [task for task in self.tasks.values() if task.phase is Phase.GONE and not task.acked]

    # --- what the controller asks ----------------------------------------------------------------

    def launch(self, order: Message) -> None:
        """Start a task once; one that is known is only reported again."""
        key = str(order["task"])
        task = self.tasks.get(key)
        if task is None:
            task = self.tasks[key] = Task(key, order)
            self._queue.append(task)
        elif task.phase is Phase.GONE:
            self._to_say.append(task.gone())
        elif task.phase is Phase.UP or task.phase is Phase.ENDING:
            self._to_say.append({"is": "up", "task": key})

    def halt(self, key: str, number: int, grace_s: float) -> None:
        """Stop a task. One that is unknown is remembered as gone, so that a launch that comes late starts nothing."""
        task = self.tasks.get(key)
        if task is None:
            task = self.tasks[key] = Task(key)
        if task.live:
            self._stopping.ask(task, number, grace_s)
        elif task.phase is Phase.QUEUED:
            self._over(task)
        else:
            self._to_say.append(task.gone())

    def pause(self, key: str, *, paused: bool) -> None:
        """Make a task stand still or go on; one that is over stays so."""
        task = self.tasks.get(key)
        if task is not None and task.phase is not Phase.GONE and task.paused != paused:
            task.paused = paused
            if task.phase is Phase.UP:
                self._stopping.pause(task)

    def acknowledge(self, keys: list[str]) -> None:
        """Stop reporting these ends when a controller comes."""
        self._memory.acknowledge(keys)

    def members(self) -> dict[str, list[str | int]]:
        """Return what each task that runs holds, and its processes as of the last look, its main process first."""
        up = (task for task in self._live.values() if task.phase in (Phase.UP, Phase.ENDING))
        return {task.key: [task.held, task.pid, *(p for p, _ in task.known if p != task.pid)] for task in up}

    # --- one turn --------------------------------------------------------------------------------

    def turn(self, now: float) -> float:
        """Do what is due, and return how many seconds the next turn may wait at most."""
        self._collect()
        self._ask_for_exit_codes(now)
        self._stopping.turn(now, list(self._live.values()))
        forked = self._fork_queued(now)
        self._mind_logs(now)
        self._remember(now, forked)
        self._mind_trouble()
        for message in self._to_say:
            self._say(message)
        self._to_say = []
        return 0.0 if self._queue and now >= self._fork_again_at else self._wait(now)

    def _wait(self, now: float) -> float:
        waits = [self._stopping.wait(now, bool(self._live))]
        if self._memory.records.urgent:
            waits.append(max(0.0, self._write_again_at - now))
        if self._uncollected:
            waits.append(EXIT_CODE_POLL_S)
        if self._queue:
            waits.append(max(0.0, self._fork_again_at - now))
        return min(waits)

    def _fork_queued(self, now: float) -> list[Task]:
        if now < self._fork_again_at:
            return []
        self._queue = [task for task in self._queue if task.phase is Phase.QUEUED]
        if not self._queue:
            return []
        forked: list[Task] = []
        try:
            room = min(FORKS_A_TURN, self._settings.room())
            self._gate = os.pipe2(os.O_CLOEXEC)
            while self._queue and len(forked) < room:
                self._fork(self._queue[0])
                forked.append(self._queue.pop(0))
            self._cannot_fork = ""
        except OSError as error:
            self._put_off(now, error, some=bool(forked))
        if not forked:
            self._close_gate()
        return forked

    def _close_gate(self) -> None:
        for end in self._gate:
            os.close(end)
        self._gate = ()

    def _put_off(self, now: float, error: OSError, *, some: bool) -> None:
        """Try again in a moment where the machine is only short of something, and not for ever."""
        if some or not self._cannot_fork:
            self._short_since = now
        self._fork_again_at = now + FORK_AGAIN_S
        self._cannot_fork = f"this machine cannot start another process: {error.strerror}"
        if error.errno not in SHORT_OF or now - self._short_since > FORK_PATIENCE_S:
            for task in self._queue:
                self._over(task, error=self._cannot_fork)
            self._queue, self._cannot_fork = [], ""

    def _fork(self, task: Task) -> None:
        order = task.order or {}
        order["groups"] = self._grouped(task)
        task.held = order.get("held", "")
        task.logs, task.limit = (order.get("stdout", ""), order.get("stderr", "")), order.get("output_size", 0)
        task.pid, task.told = spawn.fork(order, self._gate, self._settings)
        task.mine, task.again, task.phase = True, "", Phase.LAUNCHING
        self._mains[task.pid] = self._live[task.key] = task
        try:
            task.start = procs.start_of(task.pid)
        except OSError as error:
            task.error = f"its start time cannot be read: {error.strerror}"
            os.kill(task.pid, signal.SIGKILL)  # it still waits at the gate
        self._selector.register(task.told, selectors.EVENT_READ, lambda: self._hear_child(task))

    def _grouped(self, task: Task) -> list[str]:
        """Return the files by which a task's process enters its groups; a task without a group runs all the same."""
        order = task.order or {}
        try:
            return self._groups.make(task.key, order.get("memory", 0), order.get("cpus", 0))
        except OSError as error:
            self._cannot_group = f"task {task.key} runs without a control group: {error.strerror}"
            return []

    def _remember(self, now: float, forked: list[Task]) -> None:
        """Make everything durable with one sync, then let the new children through the gate."""
        self._memory.started(forked)
        try:
            if forked or (self._memory.records.urgent and now >= self._write_again_at):
                self._memory.records.sync()
                self._cannot_write = ""
                self._write_again_at = 0.0
        except OSError as error:
            self._write_again_at = now + RETRY_WRITING_S
            self._cannot_write = f"the runner cannot write {self._memory.records.path!r}: {error.strerror}"
            self._memory.records.forget(len(forked))
            for task in forked:
                task.again = f"its start cannot be recorded: {error.strerror}"
                os.kill(task.pid, signal.SIGKILL)  # not collected yet, so the number is still its own
        else:
            if forked:
                os.write(self._gate[1], spawn.OPEN * len(forked))
        if forked:
            self._close_gate()

    def _mind_logs(self, now: float) -> None:
        if now >= self._cut_at:
            self._cut_at = now + CUT_EVERY_S
            for task in self._live.values():
                self._cuts.look(task.logs, task.limit)

    def _mind_trouble(self) -> None:
        troubles = (
            self._memory.trouble,
            self._cannot_write,
            self._cannot_fork,
            next(iter(self._not_now.values()), ""),
            self._cannot_group,
            self._cuts.trouble,
            self._stopping.trouble(),
        )
        text = "; ".join(filter(None, troubles))
        if text != self.trouble:
            self.trouble = text
            self._to_say.append({"is": "trouble", "text": text, "stuck": self.stuck})

    # --- what becomes of a task ------------------------------------------------------------------

    def _hear_child(self, task: Task) -> None:
        """Take in what a child's pipe says: it is the command now, or why not (then it is collected in a moment)."""
        if task.told < 0:
            return
        try:
            said = os.read(task.told, 65536)
        except BlockingIOError:
            return
        self._selector.unregister(task.told)
        os.close(task.told)
        task.told = -1
        if said.startswith(spawn.NOT_NOW):
            task.again = said[len(spawn.NOT_NOW) :].decode(errors="replace")
        elif said and not task.error:
            task.error = said.decode(errors="replace")
        elif not (task.error or task.again) and task.phase is Phase.LAUNCHING:
            self._up(task)

    def _up(self, task: Task) -> None:
        task.phase, task.order = Phase.UP, None
        self._not_now.pop(task.key, None)
        self._to_say.append({"is": "up", "task": task.key})
        if task.paused:
            self._stopping.pause(task)

    def _collect(self) -> None:
        """Take in every child that ended: main processes, and orphans that came to us."""
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status, used = os.wait4(-1, os.WNOHANG)
                if pid == 0:
                    return
                self._stopping.look_soon()
                task = self._mains.pop(pid, None)
                if task is not None:
                    self._hear_child(task)
                    task.cpus, task.peak = procs.used(used, task.start)
                    self._main_ended(task, os.waitstatus_to_exitcode(status))

    def _main_ended(self, task: Task, code: int | None) -> None:
        if task.again and not task.error and task.kill_at is None:
            self._start_later(task)
            return
        if task.error or task.again:
            self._over(task, error=task.error or task.again)
            return
        task.code, task.phase, task.sought = code, Phase.ENDING, True
        self._memory.exited(task)
        self._stopping.look_soon()

    def _start_later(self, task: Task) -> None:
        """Have a task wait on: the machine could not start it now, and that is no end of it."""
        task.phase, task.pid, task.start, task.mine, task.known = Phase.QUEUED, 0, 0, False, frozenset()
        self._not_now[task.key] = f"task {task.key} cannot be started now: {task.again}"
        self._groups.remove(task.key)
        self._live.pop(task.key, None)
        self._queue.append(task)
        self._fork_again_at = time.monotonic() + START_AGAIN_S

    def _tree_is_gone(self, task: Task) -> None:
        self._over(task, code=task.code)

    def _over(self, task: Task, code: int | None = None, error: str = "") -> None:
        task.phase, task.code, task.error, task.order = Phase.GONE, code, error, None
        task.known = frozenset()
        self._not_now.pop(task.key, None)
        self._cuts.look(task.logs, task.limit)
        task.oom = self._groups.ran_out_of_memory(task.key)
        self._groups.remove(task.key)
        self._live.pop(task.key, None)
        self._memory.gone(task)
        self._to_say.append(task.gone())

    # --- tasks that an earlier runner forked -----------------------------------------------------

    def _adopt(self, task: Task) -> None:
        self._live[task.key] = task
        if task.phase is Phase.UP:
            held = procs.hold(task.pid, task.start)
            if held is None:
                self._main_ended(task, None)
                return
            task.pidfd = held
            self._selector.register(held, selectors.EVENT_READ, lambda: self._orphan_ended(task))
        self._stopping.look_soon()

    def _orphan_ended(self, task: Task) -> None:
        self._selector.unregister(task.pidfd)
        self._uncollected[task.key] = time.monotonic() + EXIT_CODE_WAIT_S

    def _ask_for_exit_codes(self, now: float) -> None:
        for key, until in list(self._uncollected.items()):
            task = self.tasks[key]
            try:
                code = procs.exit_code(task.pidfd)
            except BlockingIOError:
                if now < until:
                    continue
                code = None
            del self._uncollected[key]
            os.close(task.pidfd)
            task.pidfd = -1
            self._main_ended(task, code)
