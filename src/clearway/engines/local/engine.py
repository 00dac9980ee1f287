"""The engine of this machine, in the controller: one connection to the runner, and nothing that waits.

What may hang is asked by threads of their own: how the devices are, and what is used of them.
"""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from clearway.engines.local import groups, orders, paths
from clearway.engines.local.handed import result_of
from clearway.engines.local.health import Health
from clearway.engines.local.inventory import unhealthy_of
from clearway.engines.local.link import Link
from clearway.engines.local.metrics import Metrics
from clearway.engines.local.users import Users
from clearway.engines.local.uses import Uses
from clearway.engines.parts.orders import halt_order, key_of, pause_order, task_of
from clearway.engines.parts.wake import Wake
from clearway.model.actions import Halt, Launch, Pause
from clearway.model.errors import EngineError
from clearway.ports.engine import Inventory, Measured, NodeIsQuiet, NodeIsUp, Report, TaskIsGone, TaskIsUp
from clearway.ports.optional import lacked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clearway.engines.local.wire import Message
    from clearway.model.actions import Action
    from clearway.model.events import TaskRef
    from clearway.model.fleet import NodeSpec

LACKS = {
    "image": "none: the engine `local` runs no containers; `venv` takes an environment",
    "runtime_env": "none: the engine `local` makes no environments of Ray; see `env`, `code` and `venv`",
}

OPEN_WAIT_S = 15.0
"""How long `open` waits for a runner to answer."""

PING_AFTER_S = 5.0
"""A runner that said nothing for so long is asked whether it lives."""

QUIET_AFTER_S = 15.0
"""A runner that did not answer for so long is reported as quiet."""

QUIET_WHEN_CUT_S = 1.0
"""The same when the connection is gone and no other runner could be started."""

QUIET_AGAIN_S = 5.0
"""How often a node that stays quiet is reported again."""


class LocalEngine:
    """Starts and stops tasks on this machine. The contract is that of `clearway.ports.engine.Engine`.

    `home` is the state directory: the runner lives in `home/runner`, output goes to `home/logs`. `node` is this
    machine as `inventory.discover` describes it, with the devices that are `unhealthy`. `devices` are the names that
    go into CUDA_VISIBLE_DEVICES, by device number. A job that names no working directory runs in `workdir`
    (default: the user's home). A log that grows beyond `output_size` bytes is cut in the middle; 0 for no limit.
    `lead`: a journal, and the term by which it is led: a runner obeys no older term of the same journal than before.
    `traces`: what the numbers of spans follow from, which tasks are told; "" where there are none.
    """

    lacks: Mapping[str, str] = LACKS

    def __init__(  # noqa: PLR0913  what it is told of this machine, part by part
        self, home: Path, node: NodeSpec, *, unhealthy: tuple[int, ...] = (), devices: tuple[str, ...] = (),
        workdir: Path | None = None, output_size: int = 0, lead: tuple[str, int] = ("", 0),
        uids: Mapping[str, int] | None = None, traces: str = "",
    ) -> None:  # fmt: skip
        self.home = home.absolute()
        self._users = Users(uids)
        self._users.open_home(self.home)
        self._said = ""
        self._stuck: list[str] = []
        self._node, self._devices = node, devices
        self._health = Health(lambda: unhealthy_of(devices), self.wake, unhealthy)
        self._told_unhealthy = unhealthy
        self._output_size, self._traces = output_size, traces
        self._workdir = workdir if workdir is not None else Path.home()
        self._link = Link(self.home / paths.RUNNER, *lead)
        self._metrics = Metrics(self.home)
        self._uses = Uses(node.name, devices, declared=node.counted_only)
        self._alive: set[TaskRef] = set()
        self._launches: dict[TaskRef, Message] = {}
        self._halts: dict[TaskRef, Message] = {}
        self._pauses: dict[TaskRef, Message] = {}
        self._reports: deque[Report] = deque()
        self._opened = False
        self._groups: frozenset[str] = frozenset()
        self._can = self._counts = False
        self._refused = ""
        self._quiet_told_at: float | None = None
        self._pinged_at = 0.0
        self._wake = Wake()

    @property
    def trouble(self) -> str:
        """What runner or driver cannot do at the moment though all goes on, in a sentence; empty when all is well."""
        return "; ".join(filter(None, (self._said, self._health.trouble())))

    @property
    def measured(self) -> Measured:
        """What is used now, as far as it is measured."""
        return self._uses.measured

    @property
    def runner_pid(self) -> int:
        """The process number of the runner that answered last, 0 before."""
        return self._link.runner_pid

    def enforced(self) -> dict[str, str]:
        """Return what this engine does about each thing that a job can ask for, in a sentence each."""
        devices = "shown to the task through CUDA_VISIBLE_DEVICES; a task that ignores it is not held back"
        counted = "counted when placing; a task may use more"
        why = f" ({self._refused})" if self._refused else ""
        cpus = "a control group: where CPUs are short each task gets its part; what is idle anyone may use"
        memory = "a control group: a task that asked for memory and uses more is killed by the system"
        tree = "the whole process tree, also what left its session; SIGKILL after the grace"
        certain = tree + "; certain, by its control group"
        return {
            "gpus": "only counted: these devices were declared, not found" if self._node.counted_only else devices,
            "cpus": cpus if groups.CPU in self._groups else counted + why,
            "memory": memory if groups.MEMORY in self._groups else counted + why,
            "disk": counted,
            "user": self._users.told(),
            "stop": certain if groups.MEMBERS in self._groups else tree + why,
        }

    # --- the port --------------------------------------------------------------------------------

    def open(self) -> Inventory:
        """Attach to the runner, starting one where none answers. Raises EngineError when none can be had."""
        self._link.make_folder()
        until = time.monotonic() + OPEN_WAIT_S
        while True:
            for message in self._link.turn():
                if message["is"] == "here":
                    self._opened = True
                    if self._devices:
                        self._health.begin()
                    self._uses.begin()
                    self._meet(message)
                    return Inventory((self._up(message),), tuple(self._gone(m) for m in message["gone"]))
            place = str(self.home / paths.RUNNER)
            if self._link.displaced:
                raise EngineError(f"the runner in {place!r} is led by another controller")
            if time.monotonic() > until:
                raise EngineError(f"the runner in {place!r} does not answer: {self._link.talk()}")
            self._link.wait(min(0.5, self._link.wait_s()), self._wake.fd)

    def carry_out(self, actions: Sequence[Action]) -> None:
        """Tell the runner. What it cannot be told now it is told as soon as it answers."""
        for action in actions:
            if action.node != self._node.name:
                self._reports.append(TaskIsGone(action.task, error=f"this engine has no node {action.node!r}"))
                continue
            if isinstance(action, Launch) and (why := self._refusal(action)):
                self._reports.append(TaskIsGone(action.task, error=why))
                continue
            self._link.send(self._remembered(action))

    def reports(self) -> list[Report]:
        """Return what happened since the last call."""
        self._turn()
        found = list(self._reports)
        self._reports.clear()
        return found

    def wait(self, timeout_s: float) -> None:
        """Return when there may be a report, when woken, or after `timeout_s`."""
        until = time.monotonic() + timeout_s
        while not self._reports and (left := until - time.monotonic()) > 0:
            look_s = self._metrics.wait_s()
            left = left if look_s is None else min(left, look_s)
            left = min(left, self._uses.wait_s()) if self._asks_for_members else left
            if self._link.wait(min(left, self._link.wait_s(), PING_AFTER_S), self._wake.fd):
                self._wake.heard()
                return
            self._turn()

    def wake(self) -> None:
        """End a running `wait`, or the next one; from any thread."""
        self._wake.ring()

    def acknowledge(self, tasks: Sequence[TaskRef]) -> None:
        """Let the runner forget these ends."""
        if tasks:
            self._link.send({"do": "ack", "tasks": [key_of(task) for task in tasks]})

    def look(self) -> None:
        """Ask the runner what it has."""
        self._link.greet()

    def close(self) -> None:
        """Detach. Tasks go on; a runner without any leaves."""
        self._health.close()
        self._uses.close()
        self._link.close({"do": "bye"})
        self._wake.close()

    # --- inside ----------------------------------------------------------------------------------

    def _refusal(self, launch: Launch) -> str:
        """Return why a task is not started here at all, "" where it is."""
        if (without := lacked(launch.spec, self.lacks)) is not None:
            return str(without)
        many = self._node.gpus + len(self._node.slices)
        if max(launch.grant.devices, default=-1) >= many:
            return f"the node {launch.node!r} has {many} devices"
        if (self._users.enforced or launch.spec.venv) and not self._can:
            return "the runner is of an older version, and knows no users and environments; it leaves when nothing runs"
        return self._users.refusal(launch.spec.user)

    def _remembered(self, action: Action) -> Message:
        """Return the order for an action, kept until the runner has answered it: another runner is told it again."""
        match action:
            case Launch():
                parts = (self.home, self._workdir, self._devices, self._output_size, self._traces)
                order = {**orders.launch_order(action, *parts), "as": self._users.order(action.spec.user)}
                self._launches[action.task] = order
            case Halt():
                order = self._halts[action.task] = halt_order(action)
            case Pause():
                order = self._pauses[action.task] = pause_order(action)
            case _:
                assert_never(action)
        return order

    def _turn(self) -> None:
        for message in self._link.turn():
            self._hear(message)
        self._reports += self._metrics.look()
        self._reports += self._uses.reports()
        if self._asks_for_members and not self._uses.wait_s():
            self._uses.asked()
            self._link.send({"do": "members"})
        told = self._quiet_told_at
        if told is not None and self._link.greeted and self._link.last_heard > told:
            self._quiet_told_at = None  # it only hung: what it knows comes with its answer
            self._link.greet()
        elif self._opened and self._health.unhealthy != self._told_unhealthy and self._link.greeted:
            self._told_unhealthy = self._health.unhealthy  # the node is reported anew, with what runs on it
            self._link.greet()
        if self._link.displaced:
            self._said = "another controller took over the runner of this machine"
        self._mind_quiet()

    def _hear(self, message: Message) -> None:
        said = message["is"]
        if said == "up":
            task = task_of(message["task"])
            self._launches.pop(task, None)
            self._alive.add(task)
            self._metrics.watch([task])
            self._reports.append(TaskIsUp(task))
        elif said == "gone":
            self._report_gone(self._gone(message))
        elif said == "members":
            self._uses.members(message["tasks"])
        elif said == "trouble":
            self._said = message["text"]
            if message.get("stuck", []) != self._stuck:
                self._link.greet()  # the node is reported anew, without the devices that are held for ever
        elif said == "here":
            self._meet_again(message)

    def _meet(self, here: Message) -> None:
        self._said, self._stuck = here["trouble"], here.get("stuck", [])
        self._can = {"as", "venv"} <= set(here.get("can", ()))
        self._counts = "members" in here.get("can", ())
        self._alive = set(map(task_of, here["live"]))
        self._groups, self._refused = frozenset(here.get("groups", ())), here.get("refused", "")

    def _meet_again(self, here: Message) -> None:
        """Hear what ended from a runner that answers again, this or another one, and tell it what is still to do."""
        self._meet(here)
        for message in here["gone"]:
            self._report_gone(self._gone(message))
        self._quiet_told_at = None
        self._reports.append(self._up(here))
        for order in (*self._launches.values(), *self._halts.values(), *self._pauses.values()):
            self._link.send(order)

    def _report_gone(self, report: TaskIsGone) -> None:
        for kept in (self._launches, self._halts, self._pauses):
            kept.pop(report.task, None)
        self._alive.discard(report.task)
        self._reports += self._metrics.last(report.task)
        self._reports.append(report)

    def _up(self, here: Message) -> NodeIsUp:
        running = dict.fromkeys((*map(task_of, here["live"]), *self._launches))
        self._metrics.watch(running)
        self._told_unhealthy = self._health.unhealthy
        return NodeIsUp(self._node, tuple(running), self._told_unhealthy, tuple(map(task_of, self._stuck)))

    @property
    def _asks_for_members(self) -> bool:
        return bool(self._alive) and self._counts and self._link.greeted

    def _mind_quiet(self) -> None:
        now = time.monotonic()
        quiet = now - self._link.last_heard
        if self._link.greeted and quiet >= PING_AFTER_S and now - self._pinged_at >= PING_AFTER_S:
            self._pinged_at = now
            self._link.send({"do": "ping"})
        due = QUIET_AFTER_S if self._link.greeted else QUIET_WHEN_CUT_S
        told = self._quiet_told_at
        if self._opened and quiet >= due and (told is None or now - told >= QUIET_AGAIN_S):
            self._quiet_told_at = now
            self._reports.append(NodeIsQuiet(self._node.name, int(quiet * 1_000_000)))

    def _gone(self, message: Message) -> TaskIsGone:
        task = task_of(message["task"])
        result = result_of(self.home, task) if message["code"] == 0 else ""
        used = self._uses.used(task, message.get("cpus"), message.get("peak"))
        return TaskIsGone(task, message["code"], message["error"], message.get("oom", False), result, used)
