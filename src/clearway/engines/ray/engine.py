"""The engine of a Ray cluster, in the controller: it translates, and a bridge process talks with Ray."""

from __future__ import annotations

import hashlib
import time
from collections import deque
from typing import TYPE_CHECKING, Any

import msgspec

from clearway.engines.parts.orders import halt_order, key_of, pause_order, task_of
from clearway.engines.parts.wake import Wake
from clearway.engines.ray import orders
from clearway.engines.ray.link import Link
from clearway.model.actions import Halt, Launch, Pause
from clearway.model.errors import EngineError
from clearway.model.fleet import NodeSpec
from clearway.model.use import Used
from clearway.ports.engine import (
    Inventory,
    Measured,
    NodeIsGone,
    NodeIsQuiet,
    NodeIsUp,
    Report,
    TaskIsGone,
    TaskIsUp,
)  # fmt: skip
from clearway.ports.optional import lacked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from clearway.engines.parts.reported import Reported
    from clearway.model.actions import Action
    from clearway.model.events import TaskRef

    Message = dict[str, Any]

LACKS = {
    "image": "none: the engine `ray` starts no containers",
    "venv": "none: the engine `ray` has `runtime_env` for that: {pip: [..]}",
}

OPEN_WAIT_S = 120.0
OPEN_TRIES = 4
"""Ray's client server now and then fails to start a driver, and the next one comes."""
QUIET_AFTER_S = 15.0
"""A bridge that said nothing for so long cannot see its nodes: they are reported as quiet."""
QUIET_AGAIN_S = 5.0
HUNG_AFTER_S = 20.0
"""A bridge that said nothing for so long is ended, and another one begins: it stands still, its cluster may not."""
TROUBLE_S = 60.0
"""A trouble that was not told again for so long is over."""
MOST_OVER = 10_000
"""So many tasks that are over are remembered: a launch that comes late starts none of them again."""


class RayEngine:
    """Starts and stops tasks on a Ray cluster. The contract is that of `clearway.ports.engine.Engine`.

    `address`: as the setting `ray.address`. `lead`: the mark of a journal, by which its tasks are found again, and the
    term by which it is led: no host obeys an older one than it has heard of.
    `order_of` returns what a task is to run, `result_of` what it gave back, `reported` reads what it reports: all by
    files in `home`, as on this machine. A `link` that is given is used as it is, and not closed.
    """

    lacks: Mapping[str, str] = LACKS

    def __init__(  # noqa: PLR0913  what it is made from, part by part
        self, home: Path, order_of: Callable[[Launch], Mapping[str, Any]], reported: Reported, *, address: str = "auto",
        lead: tuple[str, int] = ("", 0),
        result_of: Callable[[TaskRef], str] = lambda _task: "", namespace: str = "", link: Link | None = None,
    ) -> None:  # fmt: skip
        self._home, self._address = home.absolute(), address
        mark, self._term = lead
        digest = hashlib.sha256((mark or str(self._home)).encode()).hexdigest()
        self._namespace = namespace or f"clearway-{digest[:12]}"
        self._order_of, self._result_of, self._reported = order_of, result_of, reported
        self._given = link
        self._link = link or Link(self._home / "ray")
        self._nodes: dict[str, Message] = {}
        self._launches: dict[TaskRef, Message] = {}
        self._wishes: dict[TaskRef, dict[str, Message]] = {}
        self._over: dict[TaskRef, TaskIsGone] = {}
        self._reports: deque[Report] = deque()
        self._here: Message | None = None
        self._refused = False
        self._heard_at = self._began_at = time.monotonic()
        self._quiet_told_at = self._troubled_at = 0.0
        self._wake = Wake()
        self._trouble = ""
        self.measured = Measured(why_not="the engine `ray` measures tasks at their end, and no devices")

    def enforced(self) -> dict[str, str]:
        """Return what is done about each thing that a job can ask for, in a sentence each."""
        counted = "held in Ray's ledger, so that others on the cluster do not get it too; a task may use more"
        return {
            "gpus": "the very devices are held in Ray's ledger and shown to the task through CUDA_VISIBLE_DEVICES",
            "cpus": counted,
            "memory": counted,
            "disk": "counted when placing; a task may use more",
            "user": "every task runs as the user of its Ray node",
            "stop": "the whole process tree, also what left its session; SIGKILL after the grace",
        }

    @property
    def trouble(self) -> str:
        """What the bridge cannot do at the moment, "" when all is well."""
        return self._trouble if time.monotonic() - self._troubled_at < TROUBLE_S else ""

    # --- the port --------------------------------------------------------------------------------

    def open(self) -> Inventory:
        """Have a bridge connect to the cluster. Raises EngineError where that cannot be."""
        until = time.monotonic() + OPEN_WAIT_S
        tries = 1
        self._connect()
        while self._here is None:
            self._turn()
            vain = self._refused or tries == OPEN_TRIES
            if time.monotonic() > until or (vain and not self._link.alive()):
                why = self.trouble or self._link.talk()
                self._end_link()
                raise EngineError(f"the Ray cluster {self._address!r} cannot be joined: {why}")
            if not self._link.alive() and self._link.start():
                tries += 1
                self._connect()
            self._link.wait(0.5, self._wake.fd)
        self._reports.clear()
        nodes = tuple(self._up(node) for node in self._here["nodes"])
        return Inventory(nodes, tuple(self._gone(end) for end in self._here["gone"]))

    def carry_out(self, actions: Sequence[Action]) -> None:
        """Tell the bridge; all tasks of an attempt that come together are told together."""
        gangs: dict[tuple[int, int], list[Message]] = {}
        for action in actions:
            if (over := self._over.get(action.task)) is not None:
                self._reports.append(over)
            elif isinstance(action, Launch):
                order = self._launch(action)
                if order is not None:
                    gangs.setdefault((action.task.job, action.task.attempt), []).append(order)
            else:
                self._send_all(gangs)
                self._wish(action)
        self._send_all(gangs)

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
            look_s = self._reported.wait_s()
            left = min(left, QUIET_AGAIN_S if look_s is None else look_s)
            if self._link.wait(left, self._wake.fd):
                self._wake.heard()
                return
            self._turn()

    def wake(self) -> None:
        """End a running `wait`, or the next one; from any thread."""
        self._wake.ring()

    def acknowledge(self, tasks: Sequence[TaskRef]) -> None:
        """Have the ends of these tasks forgotten, but for what keeps them from being started again."""
        if tasks:
            self._link.send({"do": "ack", "tasks": [key_of(task) for task in tasks if task in self._over]})

    def look(self) -> None:
        """Have all nodes reported anew."""
        self._link.send({"do": "look"})

    def close(self) -> None:
        """Detach. Tasks go on."""
        self._end_link()
        self._wake.close()

    # --- what is told ----------------------------------------------------------------------------

    def _connect(self) -> None:
        self._link.start()
        self._link.send({
            "do": "open", "address": self._address, "namespace": self._namespace, "home": str(self._home),
            "term": self._term, "nodes": {name: node["number"] for name, node in self._nodes.items()},
        })  # fmt: skip

    def _launch(self, launch: Launch) -> Message | None:
        if why := self._refusal(launch):
            self._end(TaskIsGone(launch.task, error=why))
            return None
        if launch.task not in self._launches:
            first = self._nodes.get(launch.first_node) or self._nodes[launch.node]
            self._launches[launch.task] = orders.launch_order(launch, self._order_of(launch), first["address"])
            self._reported.watch([launch.task])
        return self._launches[launch.task]

    def _refusal(self, launch: Launch) -> str:
        node, spec = self._nodes.get(launch.node), launch.spec
        if node is None:
            return f"this engine has no node {launch.node!r}"
        if (without := lacked(spec, self.lacks)) is not None:
            return str(without)
        if spec.roles[launch.grant.role].demand.colocate and len(launch.grant.devices) > 1:
            return "the engine `ray` lets jobs take turns on one device only, and the job asks for more"
        gpus = node["spec"].get("gpus", 0)
        return f"the node {launch.node!r} has {gpus} devices" if max(launch.grant.devices, default=-1) >= gpus else ""

    def _wish(self, action: Halt | Pause) -> None:
        order = halt_order(action) if isinstance(action, Halt) else pause_order(action)
        self._wishes.setdefault(action.task, {})[order["do"]] = order
        self._link.send(order)

    def _send_all(self, gangs: dict[tuple[int, int], list[Message]]) -> None:
        for gang in gangs.values():
            self._link.send({"do": "launch", "orders": gang})
        gangs.clear()

    def _tell_again(self) -> None:
        """Tell a new bridge all that is not over."""
        gangs: dict[tuple[int, int], list[Message]] = {}
        for task, order in self._launches.items():
            gangs.setdefault((task.job, task.attempt), []).append(order)
        self._send_all(gangs)
        for wishes in self._wishes.values():
            for order in wishes.values():
                self._link.send(order)

    def _end_link(self) -> None:
        if self._given is None:
            self._link.close()

    # --- what is heard ---------------------------------------------------------------------------

    def _turn(self) -> None:
        for message in self._link.heard():
            self._hear(message)
        self._reports += self._reported.look()
        if self._here is not None:
            if not self._link.alive() and self._link.start():
                self._began_at = time.monotonic()
                self._connect()
            self._mind_quiet()

    def _hear(self, message: Message) -> None:
        said = message["is"]
        if said != "broken":
            self._heard_at = time.monotonic()
        match said:
            case "here":
                self._meet(message)
            case "node":
                self._reports.append(self._up(message))
            case "quiet":
                self._reports.append(NodeIsQuiet(message["node"], message["us"]))
            case "left":
                self._nodes.pop(message["node"], None)
                self._reports.append(NodeIsGone(message["node"]))
            case "up":
                self._reports.append(TaskIsUp(task_of(message["task"])))
            case "over":
                self._end(self._gone(message))
            case "trouble" | "broken":
                self._trouble, self._troubled_at = str(message["text"]), time.monotonic()
                self._refused = message.get("refused", False)
            case _:  # it lives
                return

    def _meet(self, here: Message) -> None:
        again, self._here, self._trouble = self._here is not None, here, ""
        for node in here["nodes"]:
            self._reports.append(self._up(node))
        for end in here["gone"]:
            self._over[task_of(end["task"])] = self._gone(end)
            if again:
                self._end(self._gone(end))
        if again:
            self._tell_again()

    def _up(self, node: Message) -> NodeIsUp:
        spec = msgspec.convert(node["spec"], NodeSpec)
        self._nodes[spec.name] = node
        launched = (task for task, order in self._launches.items() if order["node"] == spec.name)
        running = dict.fromkeys((*map(task_of, node["running"]), *launched))
        self._reported.watch(running)
        return NodeIsUp(spec, tuple(running), tuple(node["unhealthy"]))

    def _gone(self, end: Message) -> TaskIsGone:
        task, code, used = task_of(end["task"]), end["code"], end.get("used")
        given = self._result_of(task) if code == 0 else ""
        return TaskIsGone(task, code, end["error"], end.get("oom", False), given, used=Used(**used) if used else None)

    def _end(self, end: TaskIsGone) -> None:
        self._launches.pop(end.task, None)
        self._wishes.pop(end.task, None)
        self._over[end.task] = end
        if len(self._over) > MOST_OVER:
            del self._over[next(iter(self._over))]
        self._reports += self._reported.last(end.task)
        self._reports.append(end)

    def _mind_quiet(self) -> None:
        now = time.monotonic()
        quiet = now - self._heard_at
        if quiet >= QUIET_AFTER_S and now - self._quiet_told_at >= QUIET_AGAIN_S:
            self._quiet_told_at = now
            patience_s = HUNG_AFTER_S if self._heard_at > self._began_at else OPEN_WAIT_S
            if now - max(self._heard_at, self._began_at) >= patience_s:
                self._link.end()
            self._reports += [NodeIsQuiet(name, int(quiet * 1_000_000)) for name in self._nodes]
