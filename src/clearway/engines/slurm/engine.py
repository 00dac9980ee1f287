"""The engine of a Slurm cluster, in the controller: each task a batch job on its node, with its devices.

A thread of its own talks with Slurm, whose commands may take long. What a task is to do is written down before Slurm is
told of it: a controller that starts again finds what was meant, and what Slurm knows of it by the jobs' names.
"""

from __future__ import annotations

import logging
import select
import signal
import sys
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from clearway.engines.parts.orders import key_of, task_of
from clearway.engines.parts.wake import Wake
from clearway.engines.slurm import step
from clearway.engines.slurm.commands import ENDED, FAILED, MEBI, MILLI, OUT_OF_MEMORY, PENDING, slurm
from clearway.engines.slurm.files import Files
from clearway.engines.slurm.jobs import Jobs
from clearway.engines.slurm.others import Others, of_others
from clearway.engines.slurm.within import Within
from clearway.model.actions import Halt, Launch, Pause
from clearway.model.errors import EngineError
from clearway.model.use import Used
from clearway.ports.engine import Inventory, Measured, NodeIsGone, NodeIsQuiet, NodeIsUp, Report, TaskIsGone, TaskIsUp
from clearway.ports.optional import lacked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from clearway.config.engine_words import Slurm
    from clearway.engines.parts.reported import Reported
    from clearway.engines.slurm.commands import Job, Node
    from clearway.model.actions import Action
    from clearway.model.events import TaskRef

LOG = logging.getLogger("clearway.slurm")

LACKS = {
    "image": "none: the engine `slurm` starts no containers; what `run` names may, on its nodes",
    "venv": "none: the engine `slurm` enters no environment; `run` may name its Python",
    "runtime_env": "none: the engine `slurm` makes no environments of Ray; see `env` and `code`",
    "gpus": "a whole number: the engine `slurm` gives whole devices",
    "gpu_memory": "beside `gpus` alone: the engine `slurm` gives whole devices",
    "colocate": "none: the engine `slurm` gives a device to one task",
}

LOOK_S = 0.1
"""So often it looks for what steps have written."""

ASK_S = 2.0
"""So often Slurm is asked how jobs and nodes are."""

UNSEEN_S = 3.0
"""A job that Slurm ended, and whose step wrote no end, is lost after so long .."""

UNKNOWN_S = 30.0
""".. so long where Slurm does not know it and it had not begun: what Slurm says may be old .."""

LATE_S = 120.0
""".. and so long where it came to its end, or had begun: files of other nodes may be seen late."""

BLIND_S = 60.0
"""So long a node gets nothing on which a task could not even begin: it may not see the home."""

LAST_S = 30.0
"""So long after its grace a task that was to stop has Slurm end it; and jobs that belong to no task are ended then."""


class SlurmEngine:
    """Starts and stops tasks by Slurm. The contract is that of `clearway.ports.engine.Engine`.

    `home` is a folder that all nodes see under this name. `order_of` returns what a task is to run, `result_of` what it
    gave back, `reported` reads what it reports on its way. `words` say what of the cluster is used. A job that Slurm
    does not start in time is taken back: somebody else holds what it needs. `lead`: a journal, and its term: nothing is
    done once a later term leads.
    """

    lacks: Mapping[str, str] = LACKS

    def __init__(
        self, home: Path, order_of: Callable[[Launch], dict[str, Any]], reported: Reported, words: Slurm,
        result_of: Callable[[TaskRef], str] = lambda _task: "", lead: tuple[str, int] = ("", 0),
    ) -> None:  # fmt: skip
        self._files = Files(home.absolute() / "slurm")
        self._slurm: Jobs | Within = Within(words.within) if words.within else Jobs(words)
        self._order_of, self._result_of, self._reported = order_of, result_of, reported
        self._words, self._lead = words, lead
        self._nodes: dict[str, Node] = {}
        self._mine: dict[str, dict[str, Any]] = {}
        """What each task was given for which Slurm may hold something, also shortly after its end."""
        self._others: dict[str, Others] = {}
        self._told: dict[str, NodeIsUp] = {}
        self._quiet_since: dict[str, float] = {}
        self._reports: deque[Report] = deque()
        self._todo: deque[str] = deque()
        self._ups: set[str] = set()
        self._ends: set[str] = set()
        self._unseen: dict[str, float] = {}
        self._waits: dict[str, float] = {}
        self._stops: dict[str, float] = {}
        self._blind: dict[str, float] = {}
        self._strays: dict[str, float] = {}
        self._look_anew = self._closing = False
        self._asked = 0.0
        self._lock, self._work = threading.RLock(), threading.Event()
        self._thread = threading.Thread(target=self._talk, name="slurm", daemon=True)
        self._wake = Wake()
        self._uncut = self.trouble = ""
        self.measured = Measured(why_not="the engine `slurm` measures tasks at their end, and no devices")

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
        self._files.take_over(*self._lead)
        self._files.forget_old()
        self._slurm.prefix = f"clearway-{self._files.name()}-"
        self._mine = {key: self._files.read("orders", key) for key in self._files.keys("orders")}
        try:
            self._count(self._slurm.known())
        except EngineError as error:
            raise EngineError(f"no Slurm answers on this machine: {error}") from error
        self._ends = self._files.keys("ends")
        self._ups = self._files.keys("ups") | self._ends
        gone = tuple(self._gone(key) for key in sorted(self._ends, key=task_of_key))
        self._reported.watch(map(task_of, self._live()))
        self._todo += sorted(self._live(), key=task_of_key)
        live = self._live()
        ups = tuple(self._up(node, live) for node in self._nodes.values() if node.up)
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
            if select.select([self._wake.fd], [], [], min(left, LOOK_S))[0]:
                self._wake.heard()
                return

    def wake(self) -> None:
        """End a running `wait`, or the next one; from any thread."""
        self._wake.ring()

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
        self._slurm.close()
        self._wake.close()

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
        node = self._nodes[launch.node]
        first = self._nodes.get(launch.first_node, node)
        order["env"]["MASTER_ADDR"] = first.address
        more = {
            "node": launch.node, "devices": list(launch.grant.devices), "exact": bool(node.types),
            "cpus": -(-demand.cpus // MILLI), "milli": demand.cpus, "memory": -(-demand.memory // MEBI),
            "limit_us": launch.spec.time_limit_us,
        }  # fmt: skip
        self._mine[key] = {**order, **more}
        self._files.write("orders", key, self._mine[key])
        self._todo.append(key)
        self._reported.watch([launch.task])

    def _refusal(self, launch: Launch) -> str:
        node = self._nodes.get(launch.node)
        if node is None:
            return f"this engine has no node {launch.node!r}"
        if (without := lacked(launch.spec, self.lacks)) is not None:
            return str(without)
        gpus = node.spec.gpus
        return f"the node {launch.node!r} has {gpus} devices" if max(launch.grant.devices, default=-1) >= gpus else ""

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
        self._reports += self._reported.look()
        for key in sorted(ends, key=task_of_key):
            self._ends.add(key)
            self._reports += self._reported.last(task_of(key))
            self._reports.append(self._gone(key))

    def _gone(self, key: str) -> TaskIsGone:
        end = self._files.read("ends", key) or self._files.read("over", key)
        task, code, used = task_of(key), end["code"], end.get("used")
        self._uncut = end.get("uncut") or self._uncut
        given = self._result_of(task) if code == 0 else ""
        return TaskIsGone(task, code, end["error"], end.get("oom", False), given, used=Used(**used) if used else None)

    def _live(self) -> set[str]:
        return self._files.keys("orders") - self._files.keys("ends")

    def _up(self, node: Node, live: set[str]) -> NodeIsUp:
        """Return a node without what others hold of it, with all of ours."""
        name, spec = node.spec.name, node.spec
        mine = {key: order for key, order in self._mine.items() if order.get("node") == name and key in live}
        held = {device for order in mine.values() for device in order["devices"]}
        others = self._others.get(name, Others())
        cpus = max(spec.cpus - others.cpus, sum(order["milli"] for order in mine.values()))
        memory = max(spec.memory - others.memory, sum(order["memory"] for order in mine.values()) * MEBI)
        running = tuple(task_of(key) for key in sorted(mine, key=task_of_key))
        return NodeIsUp(replace(spec, cpus=cpus, memory=memory), running, tuple(sorted(others.devices - held)))

    # --- the thread that talks with Slurm ----------------------------------------------------------

    def _talk(self) -> None:
        while not self._closing:
            self._work.wait(ASK_S)
            self._work.clear()
            try:
                self._turn()
            except EngineError as error:
                self.trouble = str(error)
            except Exception as error:
                LOG.exception("a defect in the engine `slurm`, which goes on")
                self.trouble = f"a defect in the engine `slurm`: {error!r}"

    def _turn(self) -> None:
        self._check_leads()
        jobs = self._slurm.known()
        self._submit_all(jobs)
        self._take_back(jobs)
        self._end_strays(jobs)
        if self._look_anew or time.monotonic() - self._asked >= ASK_S:
            self._asked = time.monotonic()
            self._ask_nodes(jobs)
        self.trouble = self._uncut or self._blindness()

    def _blindness(self) -> str:
        """Say which nodes could not even begin a task lately."""
        now = time.monotonic()
        self._blind = {name: at for name, at in self._blind.items() if now - at < BLIND_S}
        if not self._blind:
            return ""
        names, python = ", ".join(sorted(self._blind)), sys.executable
        return f"jobs end on {names} before their tasks begin: do these nodes see {self._files.folder} and {python}?"

    def _check_leads(self) -> None:
        if not self._files.leads(*self._lead):
            raise EngineError("another controller took over the tasks of this home")

    def _submit_all(self, jobs: dict[str, Job]) -> None:
        """Tell Slurm of all that it does not know. What it does not take now goes to the end, and is told again."""
        while self._todo and not self._closing:
            key = self._todo[0]
            known = key in jobs and jobs[key].state not in ENDED
            try:
                if not known and not self._files.has("claims", key) and self._files.has("orders", key):
                    self._submit(key)
            except EngineError:
                self._todo.rotate(-1)
                raise
            self._unseen.pop(key, None)
            self._todo.popleft()

    def _submit(self, key: str) -> None:
        order = self._files.read("orders", key)
        node = self._nodes.get(order["node"])
        if node is None or self._is_to_stop(key):  # it has left since
            self._end(key)
            return
        command = [sys.executable, "-I", step.__file__, str(self._files.folder), key]
        try:
            why = self._slurm.submit(key, order, command, node)
        except EngineError:
            if key not in self._slurm.known():
                raise
        else:
            if why:
                self._end(key, error=f"Slurm refuses it: {why}")

    def _is_to_stop(self, key: str) -> bool:
        return bool(self._files.read("halts", key).get("signal"))

    def _end(self, key: str, *, code: int | None = None, error: str = "", oom: bool = False) -> None:
        """Write down that a task is over of which no step will tell, unless a step tells it now."""
        with self._lock:
            if not self._known(key) and (self._files.claim(key) or not error):
                self._files.write("ends", key, {"code": code, "error": error, "oom": oom})
        self.wake()

    def _take_back(self, jobs: dict[str, Job]) -> None:
        """Cancel what waits and should not, and give up what Slurm knows no more."""
        now = time.monotonic()
        for key in self._live() - set(self._todo):
            job = jobs.get(key)
            if job is None or job.state in ENDED:
                self._miss(key, job, now)
                continue
            self._unseen.pop(key, None)
            if job.state == PENDING:
                since = self._waits.setdefault(key, now)
                if self._is_to_stop(key) or now - since > self._words.pending_us / 1e6:
                    self._slurm.withdraw(key, job)
            else:
                self._waits.pop(key, None)
                self._insist(key, job, now)

    def _insist(self, key: str, job: Job, now: float) -> None:
        """Have Slurm end a task that should have stopped: its step does not answer."""
        said = self._files.read("halts", key)
        if said.get("signal") and now - self._stops.setdefault(key, now) > said["grace_us"] / 1e6 + LAST_S:
            slurm("scancel", job.number)
            self._stops[key] = now

    def _end_strays(self, jobs: dict[str, Job]) -> None:
        """End jobs that belong to no task any more: one that was given up and came back, or was told to Slurm twice."""
        now, live = time.monotonic(), self._live()
        strays = {key: job for key, job in jobs.items() if key not in live and job.rank}
        self._strays = {key: self._strays.get(key, now) for key in strays}
        self._stops = {key: at for key, at in self._stops.items() if key in live}
        self._waits = {key: at for key, at in self._waits.items() if key in live}
        for key, since in self._strays.items():
            if now - since > LAST_S and strays[key].number:
                slurm("scancel", strays[key].number)
                self._strays[key] = now

    def _miss(self, key: str, job: Job | None, now: float) -> None:
        node, begun = self._nodes.get(self._files.read("orders", key).get("node", "")), self._files.has("claims", key)
        if node is not None and not node.up and begun:
            self._unseen.pop(key, None)  # it may run on: whether its node is lost is decided elsewhere
            return
        if now - self._unseen.setdefault(key, now) < _patience_s(job, begun=begun):
            return
        if job is not None and job.state == OUT_OF_MEMORY:
            self._end(key, code=-signal.SIGKILL, oom=True)
        else:
            if job is not None and job.state == FAILED and not begun and node is not None:
                self._blind[node.spec.name] = now
            self._end(key)
        self._unseen.pop(key, None)

    def _ask_nodes(self, before: dict[str, Job]) -> None:
        anew, self._look_anew = self._look_anew, False
        known = set(self._nodes)
        self._count(before)
        with self._lock:
            for name in known - self._nodes.keys():
                self._told.pop(name, None)
                self._reports.append(NodeIsGone(name))
            live = self._live()
            for node in self._nodes.values():
                self._tell(node, live, anew=anew)
        self.wake()

    def _count(self, before: dict[str, Job]) -> None:
        """Look at the nodes, and at what others hold of them: what Slurm holds there, less what it holds for us.

        Jobs begin and end while one asks: they are asked for before and after, and what is ours in either is ours.
        """
        nodes = {
            node.spec.name: node.closed() if node.spec.name in self._blind else node for node in self._slurm.nodes()
        }
        after = self._slurm.known()
        with self._lock:
            self._nodes = nodes
            live = self._live()
            ours = {key for jobs in (before, after) for key, job in jobs.items() if job.holds}
            self._mine = {key: order for key, order in self._mine.items() if key in live | ours}
            self._others = {
                name: of_others(node, {key: one for key, one in self._mine.items() if one["node"] == name}, ours)
                for name, node in nodes.items()
            }

    def _tell(self, node: Node, live: set[str], *, anew: bool) -> None:
        name = node.spec.name
        if not node.up:
            since = self._quiet_since.setdefault(name, time.monotonic())
            self._told.pop(name, None)
            self._reports.append(NodeIsQuiet(name, round((time.monotonic() - since) * 1e6)))
            return
        self._quiet_since.pop(name, None)
        up, told = self._up(node, live), self._told.get(name)
        if anew or told is None or (told.spec, told.unhealthy) != (up.spec, up.unhealthy):
            self._told[name] = up
            self._reports.append(up)


def task_of_key(key: str) -> tuple[int, ...]:
    """Return what keys are ordered by."""
    return tuple(map(int, key.split(".")))


def _patience_s(job: Job | None, *, begun: bool) -> float:
    if job is None:
        return LATE_S if begun else UNKNOWN_S
    return LATE_S if job.state == ENDED[0] else UNSEEN_S
