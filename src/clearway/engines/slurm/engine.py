"""The engine of a Slurm cluster, in the controller: each task a batch job on its node, with its devices.

A thread of its own talks with Slurm, whose commands may take long. What a task is to do is written down before Slurm is
told of it: a controller that starts again finds what was meant, and what Slurm knows of it by the jobs' names.
"""

from __future__ import annotations

import hashlib
import os
import select
import shlex
import signal
import sys
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from clearway.engines.slurm import step
from clearway.engines.slurm.commands import MEBI, MILLI, gres_words, jobs_of, nodes_of, slurm, submit
from clearway.engines.slurm.files import Files, key_of, task_of
from clearway.model.actions import Halt, Launch, Pause
from clearway.model.errors import EngineError
from clearway.ports.engine import Inventory, Measured, NodeIsGone, NodeIsQuiet, NodeIsUp, Report, TaskIsGone, TaskIsUp

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from clearway.config.engine_words import Slurm
    from clearway.engines.slurm.commands import Job, Node
    from clearway.model.actions import Action
    from clearway.model.events import TaskRef

LOOK_S = 0.1
"""So often it looks for what steps have written."""

ASK_S = 2.0
"""So often Slurm is asked how jobs and nodes are."""

UNSEEN_S = 3.0
"""A job of which Slurm knows nothing for so long, and whose step wrote no end, is lost: files may come late."""

ENDED = ("COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "OUT_OF_MEMORY")


class SlurmEngine:
    """Starts and stops tasks by Slurm. The contract is that of `clearway.ports.engine.Engine`.

    `home` is a folder that all nodes see under this name. `order_of` returns what a task is to run, `result_of` what it
    gave back. `words` say what of the cluster is used. A job that Slurm does not start in time is taken back: somebody
    else holds what it needs.
    """

    def __init__(
        self, home: Path, order_of: Callable[[Launch], dict[str, Any]], words: Slurm,
        result_of: Callable[[TaskRef], str] = lambda _task: "",
    ) -> None:  # fmt: skip
        self._files = Files(home.absolute() / "slurm")
        self._prefix = f"clearway-{hashlib.sha256(str(home.absolute()).encode()).hexdigest()[:8]}-"
        self._order_of, self._result_of = order_of, result_of
        self._words = words
        self._nodes: dict[str, Node] = {}
        self._told: dict[str, NodeIsUp] = {}
        self._quiet_since: dict[str, float] = {}
        self._reports: deque[Report] = deque()
        self._todo: deque[str] = deque()
        self._ups: set[str] = set()
        self._ends: set[str] = set()
        self._unseen: dict[str, float] = {}
        self._waits: dict[str, float] = {}
        self._look_anew = self._closing = False
        self._lock, self._work = threading.RLock(), threading.Event()
        self._thread = threading.Thread(target=self._talk, name="slurm", daemon=True)
        self._wake_out, self._wake_in = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self.trouble = ""
        self.measured = Measured(why_not="the engine `slurm` measures nothing")

    def enforced(self) -> dict[str, str]:
        """Return what is done about each thing that a job can ask for, in a sentence each."""
        slurms = "Slurm holds them for the job; whether it keeps a task to them says its TaskPlugin (task/cgroup)"
        return {
            "gpus": "Slurm holds the very devices that were decided (GRES), and they are shown to the task",
            "cpus": slurms,
            "memory": slurms,
            "disk": "counted when placing; a task may use more",
            "user": "every task runs as the user of the controller",
            "stop": "the whole process tree, also what left its session; SIGKILL after the grace",
        }

    # --- the port --------------------------------------------------------------------------------

    def open(self) -> Inventory:
        """Read nodes from Slurm and tasks from the folder. Raises EngineError where Slurm does not answer."""
        self._files.make()
        self._nodes = {node.spec.name: node for node in nodes_of(self._words.partition)}
        if not self._nodes:
            raise EngineError(f"Slurm has no node in the partition {self._words.partition!r}")
        self._ends = self._files.keys("ends")
        self._ups = self._files.keys("ups") | self._ends
        gone = tuple(self._gone(key) for key in sorted(self._ends, key=task_of_key))
        self._todo += sorted(self._live(), key=task_of_key)
        ups = tuple(self._up(node) for node in self._nodes.values())
        self._told = {up.spec.name: up for up in ups}
        self._thread.start()
        return Inventory(ups, gone)

    def carry_out(self, actions: Sequence[Action]) -> None:
        """Write down what is to be done; Slurm is told in another thread."""
        with self._lock:
            for action in actions:
                self._carry_out(action)
        self._work.set()

    def reports(self) -> list[Report]:
        """Return what happened since the last call."""
        with self._lock:
            self._look()
            found = list(self._reports)
            self._reports.clear()
        return found

    def wait(self, timeout_s: float) -> None:
        """Return when there may be a report, when woken, or after `timeout_s`."""
        until = time.monotonic() + timeout_s
        while (left := until - time.monotonic()) > 0:
            with self._lock:
                self._look()
                if self._reports:
                    return
            if select.select([self._wake_out], [], [], min(left, LOOK_S))[0]:
                os.read(self._wake_out, 4096)
                return

    def wake(self) -> None:
        """End a running `wait`, or the next one; from any thread."""
        try:
            os.write(self._wake_in, b"w")
        except BlockingIOError:  # so many wishes to wake it are waiting that one more changes nothing
            return

    def acknowledge(self, tasks: Sequence[TaskRef]) -> None:
        """Forget all but the ends of these tasks."""
        with self._lock:
            for key in map(key_of, tasks):
                if key in self._ends:
                    self._ends.discard(key)
                    self._ups.discard(key)
                    self._files.over(key)

    def look(self) -> None:
        """Have all nodes reported anew."""
        self._look_anew = True
        self._work.set()

    def close(self) -> None:
        """Detach. Tasks go on; what was written down and not told yet is told by the next one."""
        self._closing = True
        self._work.set()
        if self._thread.is_alive():
            self._thread.join()
        os.close(self._wake_in)
        os.close(self._wake_out)

    # --- what is asked of it -----------------------------------------------------------------------

    def _carry_out(self, action: Action) -> None:
        key = key_of(action.task)
        if self._known(key):
            self._reports.append(self._gone(key))
        elif isinstance(action, Launch):
            self._launch(action, key)
        elif isinstance(action, Halt):
            self._halt(action, key)
        elif isinstance(action, Pause):
            self._files.write("halts", key, {**self._files.read("halts", key), "paused": action.paused})

    def _known(self, key: str) -> bool:
        return self._files.has("ends", key) or self._files.has("over", key)

    def _launch(self, launch: Launch, key: str) -> None:
        if self._files.has("orders", key):
            return
        if why := self._refusal(launch):
            self._reports.append(TaskIsGone(launch.task, error=why))
            return
        order, demand = self._order_of(launch), launch.spec.roles[launch.grant.role].demand
        first = self._nodes.get(launch.first_node) or self._nodes[launch.node]
        order["env"]["MASTER_ADDR"] = first.address
        more = {
            "node": launch.node, "devices": list(launch.grant.devices), "cpus": -(-demand.cpus // MILLI),
            "memory": -(-demand.memory // MEBI),
        }  # fmt: skip
        self._files.write("orders", key, {**order, **more})
        self._todo.append(key)

    def _refusal(self, launch: Launch) -> str:
        node = self._nodes.get(launch.node)
        if node is None:
            return f"this engine has no node {launch.node!r}"
        if launch.spec.image or launch.spec.venv:
            word, value = ("image", launch.spec.image) if launch.spec.image else ("venv", launch.spec.venv)
            return f"the engine `slurm` knows no {word}, and the job asks for {value!r}"
        if launch.grant.devices and launch.grant.share not in {0, MILLI}:
            return "the engine `slurm` gives whole devices, and the job asks for a share of one"
        if any(device >= node.spec.gpus for device in launch.grant.devices):
            return f"the node {launch.node!r} has only {node.spec.gpus} devices"
        return ""

    def _halt(self, halt: Halt, key: str) -> None:
        if not self._files.has("orders", key):
            self._files.write("over", key, {"code": None, "error": ""})
            self._reports.append(TaskIsGone(halt.task))
            return
        said = self._files.read("halts", key)
        number, grace_us = int(signal.Signals[halt.signal]), min(halt.grace_us, said.get("grace_us", halt.grace_us))
        self._files.write("halts", key, {**said, "signal": said.get("signal", number), "grace_us": grace_us})
        self._work.set()

    # --- what is seen ------------------------------------------------------------------------------

    def _look(self) -> None:
        ends = self._files.keys("ends") - self._ends
        for key in sorted((self._files.keys("ups") - self._ups), key=task_of_key):
            self._ups.add(key)
            self._reports.append(TaskIsUp(task_of(key)))
        for key in sorted(ends, key=task_of_key):
            self._ends.add(key)
            self._reports.append(self._gone(key))

    def _gone(self, key: str) -> TaskIsGone:
        end = self._files.read("ends", key) or self._files.read("over", key)
        task = task_of(key)
        return TaskIsGone(task, end["code"], end["error"], result=self._result_of(task) if end["code"] == 0 else "")

    def _live(self) -> set[str]:
        return self._files.keys("orders") - self._files.keys("ends")

    def _up(self, node: Node) -> NodeIsUp:
        """Return a node without what others hold of it, with all of ours."""
        orders = {key: self._files.read("orders", key) for key in self._live()}
        mine = {key: order for key, order in orders.items() if order.get("node") == node.spec.name}
        held = {device for order in mine.values() for device in order["devices"]}
        out = set(range(node.spec.gpus)) if not node.open else node.used - held
        return NodeIsUp(
            node.spec, tuple(task_of(key) for key in sorted(mine, key=task_of_key)), tuple(sorted(out - held))
        )

    # --- the thread that talks with Slurm ----------------------------------------------------------

    def _talk(self) -> None:
        asked = 0.0
        while not self._closing:
            self._work.wait(ASK_S)
            self._work.clear()
            try:
                jobs = jobs_of(self._prefix)
                self._submit_all(jobs)
                self._take_back(jobs)
                if self._look_anew or time.monotonic() - asked >= ASK_S:
                    asked = time.monotonic()
                    self._ask_nodes()
                self.trouble = ""
            except EngineError as error:
                self.trouble = str(error)

    def _submit_all(self, jobs: dict[str, Job]) -> None:
        while self._todo and not self._closing:
            key = self._todo[0]
            if key not in jobs and not self._files.has("claims", key) and self._files.has("orders", key):
                self._submit(key)
            self._unseen.pop(key, None)
            self._todo.popleft()

    def _submit(self, key: str) -> None:
        order = self._files.read("orders", key)
        node = self._nodes[order["node"]]
        command = [sys.executable, "-I", step.__file__, str(self._files.folder), key]
        words = self._words
        options = {
            "cpus-per-task": str(max(order["cpus"], 1)), "mem": f"{order['memory']}M" if order["memory"] else "",
            "partition": words.partition, "account": words.account, "qos": words.qos, "chdir": str(self._files.folder),
        }  # fmt: skip
        try:
            submit(self._prefix + key, order["node"], gres_words(node, order["devices"]), _script(command), options)
        except EngineError as error:
            with self._lock:
                self._files.write("ends", key, {"code": None, "error": f"Slurm refuses it: {error}"})

    def _take_back(self, jobs: dict[str, Job]) -> None:
        """Cancel what waits and should not, and give up what Slurm knows no more."""
        now = time.monotonic()
        for key in self._live() - set(self._todo):
            job = jobs.get(key)
            if job is None or job.state in ENDED:
                self._miss(key, now)
            elif job.state == "PENDING":
                since = self._waits.setdefault(key, now)
                if self._files.read("halts", key).get("signal") or now - since > self._words.pending_us / 1e6:
                    slurm("scancel", "--state=PENDING", job.number)
            else:
                self._unseen.pop(key, None)

    def _miss(self, key: str, now: float) -> None:
        if now - self._unseen.setdefault(key, now) < UNSEEN_S:
            return
        with self._lock:
            if not self._known(key):
                self._files.write("ends", key, {"code": None, "error": ""})
        self._unseen.pop(key, None)
        self.wake()

    def _ask_nodes(self) -> None:
        anew, self._look_anew = self._look_anew, False
        found = {node.spec.name: node for node in nodes_of(self._words.partition)}
        with self._lock:
            for name in self._nodes.keys() - found.keys():
                self._told.pop(name, None)
                self._reports.append(NodeIsGone(name))
            self._nodes = found
            for node in found.values():
                self._tell(node, anew=anew)
        self.wake()

    def _tell(self, node: Node, *, anew: bool) -> None:
        name = node.spec.name
        if not node.up:
            since = self._quiet_since.setdefault(name, time.monotonic())
            self._told.pop(name, None)
            self._reports.append(NodeIsQuiet(name, round((time.monotonic() - since) * 1e6)))
            return
        self._quiet_since.pop(name, None)
        up, told = self._up(node), self._told.get(name)
        if anew or told is None or (told.spec, told.unhealthy) != (up.spec, up.unhealthy):
            self._told[name] = up
            self._reports.append(up)


def task_of_key(key: str) -> tuple[int, ...]:
    """Return what keys are ordered by."""
    return tuple(map(int, key.split(".")))


def _script(command: Sequence[str]) -> str:
    return f"#!/bin/sh\nexec {shlex.join(command)}\n"
