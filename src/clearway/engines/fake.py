"""A machine room made up for tests: tasks that last as long as they are told, in time that moves when it is told.

`Room` is what exists (nodes, tasks, messages under way) and outlives any `FakeEngine`, as real machines outlive a
controller. There are no threads and no waiting: `FakeEngine.wait` moves the clock.
"""

from __future__ import annotations

import random
import signal
from collections import Counter
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, NamedTuple, assert_never

from clearway.model.actions import Halt, Launch, Pause
from clearway.model.events import Grant
from clearway.model.ids import NodeId
from clearway.model.job import JobSpec
from clearway.ports.engine import (
    Inventory,
    Measured,
    NodeIsGone,
    NodeIsQuiet,
    NodeIsUp,
    Report,
    TaskIsGone,
    TaskIsIdle,
    TaskIsUp,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from clearway.model.actions import Action
    from clearway.model.events import TaskRef
    from clearway.model.fleet import NodeSpec

PER_MILLE = 1000


class ManualClock:
    """A clock that stands still until it is moved. Serves as `clearway.ports.clock.Clock`."""

    def __init__(self, now_us: int = 0) -> None:
        self._now_us = now_us

    def now_us(self) -> int:
        """Return the moment in microseconds."""
        return self._now_us

    def move_to(self, moment_us: int) -> None:
        """Go on to a moment; one that is past changes nothing."""
        self._now_us = max(self._now_us, moment_us)


class Life(NamedTuple):
    """What becomes of one task. None for a duration means: never by itself."""

    run_us: int | None = None
    exit_code: int = 0
    stop_us: int | None = 0
    """From the order to stop to the end, if that is within the grace; with None only SIGKILL ends it."""
    stop_code: int | None = None
    """How it ends then; None: by the signal."""
    unkillable: bool = False
    error: str = ""
    """Not empty: it cannot be started, for this reason."""


class Faults(NamedTuple):
    """How often, in a thousand, something goes wrong, from a seed. `Room.happened` counts what really did.

    A report that is `lost` comes after `again_us`, one that is `late` within `late_us`; `reordered` are those that came
    together. A `phantom` is a task that is told to be up and is not. A node that is `wrong` about itself leaves out
    a task that it runs, or names one that is gone.
    """

    lost: int = 0
    late: int = 0
    doubled: int = 0
    late_us: int = 1_000_000
    again_us: int = 5_000_000
    reordered: int = 0
    phantom: int = 0
    wrong: int = 0


NO_FAULTS = Faults()


class _Task:
    def __init__(self, launch: Launch | None, node: str, life: Life) -> None:
        self.launch, self.node, self.life = launch, node, life
        self.ends_at: int | None = None
        self.left_us: int | None = None  # of its run while it stands still
        self.gone: TaskIsGone | None = None
        self.generation = 0  # an end that was planned for an earlier one does not happen


class Room:
    """Nodes and tasks. `life` tells what becomes of a task; `refuses` may refuse an action, with the reason."""

    def __init__(
        self, nodes: Iterable[NodeSpec], clock: ManualClock, life: Callable[[Launch], Life] = lambda _: Life(), *,
        seed: int = 0, faults: Faults = NO_FAULTS, refuses: Callable[[Action], str] = lambda _: "",
    ) -> None:  # fmt: skip
        self.clock = clock
        self.nodes = {node.name: node for node in nodes}
        self.unhealthy: dict[str, tuple[int, ...]] = {}
        self.measured = Measured()
        self.launched: list[Launch] = []
        """Every process that was really started, in order: what the promise to start once is judged by."""
        self._life, self._refuses, self._faults = life, refuses, faults
        self._chance = random.Random(seed)
        self._tasks: dict[TaskRef, _Task] = {}
        self._due: list[tuple[int, int, Callable[[], None]]] = []
        self._order = count()
        self._away: dict[str, int] = {}  # nodes that are not heard of, and since when
        self._withheld: dict[str, list[Report]] = {}
        self._silences: Counter[str] = Counter()
        self.told: list[Report] = []
        """Reports that have arrived and were not fetched yet."""
        self.happened: Counter[str] = Counter()
        """What went wrong, by the words of `Faults`; `refused` orders too."""

    # --- what a test does to it ------------------------------------------------------------------

    def finish(self, task: TaskRef, exit_code: int = 0) -> None:
        """Have a task end by itself now."""
        self._end(task, exit_code)

    def idle(self, task: TaskRef, for_us: int | None = 0) -> None:
        """Have the devices of a task do nothing for so long, or (None) work again."""
        self._tell(TaskIsIdle(task, for_us))

    def be_honest(self) -> None:
        """Have nothing go wrong any more."""
        self._faults = NO_FAULTS

    def lose_node(self, node: str) -> None:
        """Have a node die with all that runs on it, without a word."""
        for task in self._tasks.values():
            if task.node == node and task.gone is None and task.launch is not None:
                task.generation += 1
                task.gone = TaskIsGone(task.launch.task)
        self.cut_node(node)
        self._withheld[node] = []

    def cut_node(self, node: str) -> None:
        """Have a node not be heard of any more; what runs on it goes on."""
        self._away[node] = self.clock.now_us()
        self._silences[node] += 1
        self._withheld.setdefault(node, [])
        self.told.append(NodeIsQuiet(node))

    def bring_back(self, node: str) -> None:
        """Have a node that was lost or cut off be heard of again, with what it had to say."""
        self._away.pop(node)
        for report in (*self._withheld.pop(node), self.node_is_up(node)):
            self._tell(report)

    def remove_node(self, node: str) -> None:
        """Have a node leave for good."""
        del self.nodes[node]
        self._tell(NodeIsGone(node))

    def add_node(self, node: NodeSpec) -> None:
        """Have a node join, or give it new words."""
        self.nodes[node.name] = node
        self._tell(self.node_is_up(node.name))

    def hurt_devices(self, node: str, devices: tuple[int, ...]) -> None:
        """Have exactly these devices of a node be unhealthy from now on."""
        self.unhealthy[node] = devices
        self._tell(self.node_is_up(node))

    def vanish(self, task: TaskRef) -> None:
        """Have a task's processes be gone without a word."""
        known = self._tasks.get(task)
        if known is not None and known.gone is None:
            known.generation += 1
            known.gone = TaskIsGone(task)

    def intrude(self, task: TaskRef, node: str) -> None:
        """Have a node run a task that nobody ordered there, until it is told to stop."""
        if task not in self._tasks and node not in self._away:
            order = Launch(task, JobSpec("nobody's"), Grant(0, 0, NodeId(0), ()), node, 0, 1)
            self._tasks[task] = _Task(order, node, Life())

    def tell_again(self, task: TaskRef) -> None:
        """Have the report of a task's end arrive once more, if it has ended."""
        known = self._tasks.get(task)
        if known is not None and known.gone is not None:
            self._tell(known.gone)

    # --- what the engine asks --------------------------------------------------------------------

    def carry_out(self, action: Action) -> None:
        """Do one action, unless it is refused or its node is away (then it is lost on the way)."""
        if why := self._refuses(action):
            self.happened["refused"] += 1
            self._tell(TaskIsGone(action.task, error=why), action.node)
        elif action.node in self._away:
            return
        elif action.node not in self.nodes:
            self._tell(TaskIsGone(action.task, error=f"there is no node {action.node!r}"))
        else:
            self._do(action)

    def run_until(self, moment_us: int) -> None:
        """Let everything happen that is due up to a moment, in order, and stop there or at the first report."""
        while self._due and self._due[0][0] <= moment_us and not self.told:
            at, _, happen = heappop(self._due)
            self.clock.move_to(at)
            happen()
        if not self.told:
            self.clock.move_to(moment_us)

    def inventory(self) -> Inventory:
        """Return the nodes that are heard of, with what runs there, and the ends that nobody acknowledged."""
        here = [name for name in self.nodes if name not in self._away]
        gone = [t.gone for t in self._tasks.values() if t.gone is not None and t.launch is not None and t.node in here]
        return Inventory(tuple(map(self._said, here)), tuple(gone))

    def look(self) -> None:
        """Have all nodes that are heard of tell what they are and run."""
        for name in self.nodes:
            if name not in self._away:
                self._tell(self._said(name))

    def forget(self, task: TaskRef) -> None:
        """Take note that the end of a task is known: it is not told again, and still never started again."""
        known = self._tasks.get(task)
        if known is not None and known.gone is not None:
            known.launch = None

    def clean(self) -> None:
        """Drop what only tests look at: what was launched, and tasks whose end is known. A launch of one starts it."""
        self.launched.clear()
        self._tasks = {ref: task for ref, task in self._tasks.items() if task.gone is None or task.launch is not None}

    def node_is_up(self, node: str) -> NodeIsUp:
        """Return a node as it is."""
        running = tuple(ref for ref, task in self._tasks.items() if task.node == node and task.gone is None)
        return NodeIsUp(self.nodes[node], running, self.unhealthy.get(node, ()))

    def fetch(self) -> list[Report]:
        """Return what has arrived, oldest first unless it was reordered on the way."""
        found, self.told = self.told, []
        if len(found) > 1 and self._chances(self._faults.reordered):
            self.happened["reordered"] += 1
            return _shuffled(found, self._chance)
        return found

    # --- inside ----------------------------------------------------------------------------------

    def _said(self, node: str) -> NodeIsUp:
        """Return what a node says of itself, which may be wrong about one task."""
        up = self.node_is_up(node)
        if not self._chances(self._faults.wrong):
            return up
        over = [ref for ref, task in self._tasks.items() if task.node == node and task.gone is not None]
        if not up.running and not over:
            return up
        self.happened["wrong"] += 1
        if up.running and (not over or self._chance.randrange(2)):
            out = self._chance.choice(up.running)
            return NodeIsUp(up.spec, tuple(ref for ref in up.running if ref != out), up.unhealthy)
        return NodeIsUp(up.spec, (*up.running, self._chance.choice(over)), up.unhealthy)

    def _do(self, action: Action) -> None:
        match action:
            case Launch():
                self._launch(action)
            case Halt():
                self._halt(action)
            case Pause():
                self._pause(action)
            case _:
                assert_never(action)

    def _launch(self, launch: Launch) -> None:
        known = self._tasks.get(launch.task)
        if known is not None:
            self._tell(known.gone or TaskIsUp(launch.task), known.node)
            return
        task = self._tasks[launch.task] = _Task(launch, launch.node, self._life(launch))
        if why := task.life.error or _lacks(self.nodes[launch.node], launch):
            self._end(launch.task, None, why)
            return
        if self._chances(self._faults.phantom):
            self.happened["phantom"] += 1
            task.gone = TaskIsGone(launch.task)
            self._tell(TaskIsUp(launch.task), launch.node)
            return
        self.launched.append(launch)
        self._tell(TaskIsUp(launch.task), launch.node)
        self._plan_end(task, task.life.run_us, task.life.exit_code)

    def _halt(self, halt: Halt) -> None:
        task = self._tasks.get(halt.task)
        if task is None:
            task = self._tasks[halt.task] = _Task(None, halt.node, Life())
            task.gone = TaskIsGone(halt.task)
        if task.gone is not None:
            self._tell(task.gone, halt.node)
            return
        heeds = task.life.stop_us is not None and task.life.stop_us <= halt.grace_us
        after = task.life.stop_us if heeds and task.life.stop_us is not None else halt.grace_us
        code = -int(signal.Signals[halt.signal]) if heeds else -int(signal.SIGKILL)
        code = task.life.stop_code if heeds and task.life.stop_code is not None else code
        at = self.clock.now_us() + after
        if not task.life.unkillable and (task.ends_at is None or at < task.ends_at):
            task.left_us = None
            self._plan_end(task, after, code)

    def _pause(self, pause: Pause) -> None:
        task = self._tasks.get(pause.task)
        if task is None or task.gone is not None:
            return
        if pause.paused and task.ends_at is not None:
            task.left_us = task.ends_at - self.clock.now_us()
            task.ends_at = None
            task.generation += 1
        elif not pause.paused and task.left_us is not None:
            self._plan_end(task, task.left_us, task.life.exit_code)
            task.left_us = None

    def _plan_end(self, task: _Task, after_us: int | None, exit_code: int) -> None:
        task.generation += 1
        task.ends_at = None if after_us is None else self.clock.now_us() + after_us
        if task.ends_at is None or task.launch is None:
            return
        ref, generation = task.launch.task, task.generation

        def end() -> None:
            if task.generation == generation:
                self._end(ref, exit_code)

        self._at(task.ends_at, end)

    def _end(self, ref: TaskRef, exit_code: int | None, error: str = "") -> None:
        task = self._tasks[ref]
        if task.gone is None:
            task.generation += 1
            task.gone = TaskIsGone(ref, exit_code, error)
            self._tell(task.gone, task.node)

    def _tell(self, report: Report, node: str = "") -> None:
        """Put a report on its way, which may be long, crooked or double."""
        if node in self._away:
            self._withheld[node].append(report)
            return
        times = 2 if self._happens("doubled", self._faults.doubled) else 1
        for _ in range(times):
            delay = 0
            if self._happens("lost", self._faults.lost):
                delay = self._faults.again_us
            elif self._happens("late", self._faults.late):
                delay = self._chance.randint(1, self._faults.late_us)
            if delay:
                self._at(self.clock.now_us() + delay, self._arrival(report))
            else:
                self.told.append(report)

    def _arrival(self, report: Report) -> Callable[[], None]:
        """Return what happens when a late report arrives; of a node that has fallen silent since, nothing does."""
        if not isinstance(report, NodeIsUp):
            return lambda: self.told.append(report)
        name = report.spec.name
        silences = self._silences[name]

        def arrive() -> None:
            if name in self.nodes and self._silences[name] == silences:
                now = self.node_is_up(name)  # its words and its devices are as they are; what it says of tasks is old
                self.told.append(NodeIsUp(now.spec, report.running, now.unhealthy))

        return arrive

    def _happens(self, what: str, per_mille: int) -> bool:
        happens = self._chances(per_mille)
        if happens:
            self.happened[what] += 1
        return happens

    def _chances(self, per_mille: int) -> bool:
        return per_mille > 0 and self._chance.randrange(PER_MILLE) < per_mille

    def _at(self, moment_us: int, happen: Callable[[], None]) -> None:
        heappush(self._due, (moment_us, next(self._order), happen))


def _shuffled(reports: list[Report], chance: random.Random) -> list[Report]:
    """Return reports in another order; what is said of nodes keeps its own, as an engine has to see to."""
    mixed = chance.sample(reports, len(reports))
    of_nodes = iter([one for one in reports if not isinstance(one, TaskIsUp | TaskIsGone)])
    return [one if isinstance(one, TaskIsUp | TaskIsGone) else next(of_nodes) for one in mixed]


def _lacks(node: NodeSpec, launch: Launch) -> str:
    """Return why a node cannot give what was granted on it, "" where it can."""
    many = node.gpus + len(node.slices)
    return f"the node {node.name!r} has {many} devices" if max(launch.grant.devices, default=-1) >= many else ""


class FakeEngine:
    """The engine of a `Room`. A new one for the same room is what a restarted controller has."""

    trouble = ""
    lacks: Mapping[str, str] = {}

    def __init__(self, room: Room) -> None:
        self.room = room

    @property
    def measured(self) -> Measured:
        """What the test says is used."""
        return self.room.measured

    def enforced(self) -> dict[str, str]:
        """Say that nothing stands behind what is promised."""
        return dict.fromkeys(("gpus", "cpus", "memory", "disk", "user", "stop"), "not enforced: invented nodes")

    def open(self) -> Inventory:
        """Attach."""
        self.room.told.clear()
        return self.room.inventory()

    def carry_out(self, actions: Sequence[Action]) -> None:
        """Do each action at once."""
        for action in actions:
            self.room.carry_out(action)

    def reports(self) -> list[Report]:
        """Return what arrived, also what is due at this very moment."""
        found: list[Report] = []
        while True:
            self.room.run_until(self.room.clock.now_us())
            if not self.room.told:
                return found
            found += self.room.fetch()

    def wait(self, timeout_s: float) -> None:
        """Move the clock to the next report, at most by `timeout_s`."""
        self.room.run_until(self.room.clock.now_us() + round(timeout_s * 1_000_000))

    def wake(self) -> None:
        """Nothing waits here."""

    def acknowledge(self, tasks: Sequence[TaskRef]) -> None:
        """Do not tell these ends again."""
        for task in tasks:
            self.room.forget(task)

    def look(self) -> None:
        """Have all nodes that are heard of say what they are and run."""
        self.room.look()

    def close(self) -> None:
        """Detach."""
