"""An engine that only pretends: machines and processes in virtual time, on which happens what a truth says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from clearway.model.actions import Action, Halt, Launch, Pause
from clearway.ports.engine import (
    Inventory,
    Measured,
    NodeIsGone,
    NodeIsNoticed,
    NodeIsQuiet,
    NodeIsUp,
    Report,
    TaskIsGone,
    TaskIsIdle,
    TaskIsUp,
    TaskReported,
)
from clearway.sim.heap import Heap, VirtualClock
from clearway.sim.machines import Held, Machine, Reach, Run
from clearway.sim.truth import Truth

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from clearway.model.events import TaskRef
    from clearway.model.fleet import NodeSpec
    from clearway.model.ids import JobId

BEATS_PER_LEASE = 3
"""A node is heard of so many times while a lease lasts, so that one lost message loses no node."""

KILLED = 143  # 128 + SIGTERM, as a shell shows the exit code of what was told to stop
ENDS_FIRST, FAULTS_LATER = 0, 1  # ranks at one moment: what ends by itself has ended before a machine dies

_ENDLESS = Truth()


_T = TypeVar("_T")


class _Surely(Generic[_T]):
    """Subject of what lies ahead and is never taken back."""

    __slots__ = ("version", "what")

    def __init__(self, what: _T) -> None:
        self.what, self.version = what, 0


class SimEngine:
    """Machines in virtual time, behind the port that every engine has.

    `know` tells what will really happen to a job before it is launched; a job nobody told of runs until it is
    stopped. The driver moves the clock to `next_us()` and calls `advance`. Faults are methods: `lose`, `revive`, ..
    """

    trouble = ""
    lacks: Mapping[str, str] = {}
    measured = Measured(why_not="nothing runs here")

    def __init__(self, clock: VirtualClock, nodes: Iterable[NodeSpec], lease_us: int) -> None:
        self.clock = clock
        self.keeps = False  # what is known of a job, when it is over: where a person may run it again
        self._lease_us = lease_us
        self._beat_us = max(lease_us // BEATS_PER_LEASE, 1)
        self._heap = Heap()
        self._machines = {spec.name: Machine(spec) for spec in nodes}
        self._runs: dict[tuple[JobId, int], Run] = {}
        self._latest: dict[JobId, Run] = {}
        self._truths: dict[JobId, Truth] = {}
        self._saved: dict[JobId, int] = {}
        self._reports: list[Report] = []
        self._ends: dict[TaskRef, TaskIsGone] = {}
        self._died: set[TaskRef] = set()
        self._uneasy: dict[int, Run] = {}
        self._finished: dict[JobId, tuple[int, int, str]] = {}
        """The last attempt of a job that came to the end of its work, with its exit code and result."""

    # --- what only the simulator knows ---------------------------------------------------------

    def know(self, job: JobId, truth: Truth) -> None:
        """Learn what really happens to a job. The first truth of a job stays."""
        self._truths.setdefault(job, truth)

    def know_anew(self, job: JobId, truth: Truth) -> None:
        """Learn what really happens to a job from its next attempt on."""
        self._truths[job] = truth

    def know_alike(self, job: JobId, other: JobId) -> None:
        """Learn that to a job happens what happens to another."""
        if other in self._truths:
            self.know(job, self._truths[other])

    def forget(self, job: JobId) -> None:
        """Drop what is known of a job that is over."""
        if not self.keeps:
            self._truths.pop(job, None)
        self._saved.pop(job, None)
        self._finished.pop(job, None)

    def write_off(self, job: JobId, attempt: int) -> None:
        """Take an attempt for lost: where it still runs, cut off, nobody will read what it saves."""
        run = self._runs.get((job, attempt))
        if run:
            run.written_off = True

    # --- virtual time --------------------------------------------------------------------------

    def next_us(self) -> int | None:
        """Return when something happens next, now if something is to be told; None if nothing lies ahead."""
        return self.clock.now_us() if self._reports else self.ahead_us()

    def ahead_us(self) -> int | None:
        """Return when something happens next, whether anybody listens or not."""
        return self._heap.next_us()

    def advance(self) -> None:
        """Let everything happen that is due by now."""
        self._heap.run_due(self.clock.now_us())

    # --- the port ------------------------------------------------------------------------------

    def enforced(self) -> dict[str, str]:
        """Say that nothing runs here."""
        return dict.fromkeys(("gpus", "cpus", "memory", "disk", "user", "stop"), "not enforced: nothing runs here")

    def open(self) -> Inventory:
        """Return the nodes that answer, and the ends that no journal holds yet. The other nodes are reported quiet."""
        self._reports = [r for r in self._reports if isinstance(r, NodeIsGone)]  # of all else the inventory tells
        for name, machine in self._machines.items():
            if machine.reach is not Reach.UP:
                machine.version += 1  # whoever opens learns of its silence here, and not once more
                self._reports.append(NodeIsQuiet(name))
            self._reports += [NodeIsNoticed(name, at_us - self.clock.now_us()) for at_us in machine.taken_us]
        up = tuple(m.hello() for m in self._machines.values() if m.reach is Reach.UP)
        return Inventory(up, tuple(self._ends.values()))

    def carry_out(self, actions: Sequence[Action]) -> None:
        """Do each action, or hold it back until its node can be reached; a dead node hears nothing."""
        touched: dict[int, Run] = {}
        for action in actions:
            self._order(action, touched)
        self._settle(touched)

    def reports(self) -> list[Report]:
        """Return what there is to tell, oldest first."""
        told, self._reports = self._reports, []
        return told

    def wait(self, timeout_s: float) -> None:
        """Move the clock to what happens next, at most so far, and let it happen."""
        until_us = self.clock.now_us() + round(timeout_s * 1_000_000)
        next_us = self.next_us()
        self.clock.move(until_us if next_us is None else min(next_us, until_us))
        self.advance()

    def wake(self) -> None:
        """Nothing waits in virtual time."""

    def acknowledge(self, tasks: Sequence[TaskRef]) -> None:
        """Forget ends that are in a journal."""
        for task in tasks:
            self._ends.pop(task, None)

    def look(self) -> None:
        """Have all machines that answer say what they are and run."""
        self._reports += [m.hello() for m in self._machines.values() if m.reach is Reach.UP]

    def close(self) -> None:
        """Detach. Tasks go on."""

    def redeliver(self, reports: Iterable[Report]) -> None:
        """Tell again what was told before, as an unreliable network does."""
        self._reports += reports

    # --- orders --------------------------------------------------------------------------------

    def _order(self, action: Action, touched: dict[int, Run]) -> None:
        machine = self._machines.get(action.node)
        if machine is None:
            self._tell(TaskIsGone(action.task, error=f"there is no node {action.node}"))
        elif machine.reach is Reach.CUT:
            machine.orders.append(action)
        elif machine.reach is Reach.UP:
            self._do(action, machine, touched)

    def _do(self, action: Action, machine: Machine, touched: dict[int, Run]) -> None:
        match action:
            case Launch():
                self._launch(action, machine, touched)
            case Halt():
                self._halt(action, touched)
            case Pause(task=task, paused=paused):
                run = self._runs.get((task.job, task.attempt))
                if run and task in run.held:
                    (run.paused.add if paused else run.paused.discard)(task)
                    touched[id(run)] = run

    def _launch(self, order: Launch, machine: Machine, touched: dict[int, Run]) -> None:
        task = order.task
        run = self._runs.get((task.job, task.attempt))
        if task in self._ends:
            self._reports.append(self._ends[task])
        elif task in self._died:
            self._tell(TaskIsGone(task))
        elif run and task in run.held:
            self._reports.append(TaskIsUp(task))
        elif run is None and (done := self._finished.get(task.job)) and done[0] == task.attempt:
            self._tell(TaskIsGone(task, done[1], result=done[2]))  # the others left it nothing to do
        else:
            run = run or self._begin(order)
            run.add(task, Held(machine, order.grant), self.clock.now_us())
            if run.truth.idle_after_us is not None:
                idle_us = self.clock.now_us() + run.truth.idle_after_us
                self._heap.push(idle_us, ENDS_FIRST, self._idles, _Surely((run, task)))
            touched[id(run)] = run
            self._reports.append(TaskIsUp(task))

    def _begin(self, order: Launch) -> Run:
        """Begin an attempt with what earlier ones saved."""
        job = order.task.job
        earlier = self._latest.get(job)
        if earlier:
            earlier.written_off = True
        run = Run(order, self._truths.get(job, _ENDLESS), self._saved.get(job, 0))
        self._runs[job, run.attempt] = self._latest[job] = run
        return run

    def _halt(self, order: Halt, touched: dict[int, Run]) -> None:
        task = order.task
        run = self._runs.get((task.job, task.attempt))
        if run is None or task not in run.held:
            self._tell(self._ends.get(task, TaskIsGone(task)))
            return
        stop_us = run.stop_us()
        if stop_us is None or task in run.stopping:
            return
        run.stop(task)
        touched[id(run)] = run
        self._heap.push(self.clock.now_us() + stop_us, ENDS_FIRST, self._stopped, _Surely((run, task)))

    def _idles(self, surely: _Surely[tuple[Run, TaskRef]]) -> None:
        run, task = surely.what
        if task in run.held and run.held[task].machine.reach is Reach.UP:
            self._reports.append(TaskIsIdle(task, 0))

    def _stopped(self, surely: _Surely[tuple[Run, TaskRef]]) -> None:
        run, task = surely.what
        if task in run.held:
            self._gone(run, task, KILLED)
        self._settle_neighbours()

    # --- attempts ------------------------------------------------------------------------------

    def _settle(self, touched: dict[int, Run], *, asked: bool = True) -> None:
        """Bring attempts up to date after their tasks have changed. `asked`: they changed because of an order."""
        now_us = self.clock.now_us()
        for run in touched.values():
            run.progress.settle(now_us)
            if run.was_whole and not run.is_whole:
                self._save(run, on_stop=asked and run.saves_on_stop())
            run.was_whole = run.is_whole
            self._go(run)
            self._beside(run)
        self._settle_neighbours()

    def _go(self, run: Run) -> None:
        """Have an attempt go on at the speed that it has as it stands now."""
        now_us = self.clock.now_us()
        run.version += 1
        run.progress.go(run.speed(now_us), now_us)
        if now_us < run.copied_us:
            self._heap.push(run.copied_us, ENDS_FIRST, self._copied, run)
        self._tell_next(run)
        if run.progress.rate and run.work is not None:
            self._heap.push(run.progress.end_us(run.work), ENDS_FIRST, self._finish, run)

    def _tell_next(self, run: Run) -> None:
        """Have the next report of an attempt come when its work is done."""
        if run.progress.rate and run.work is not None and run.told < run.truth.tellings:
            self._heap.push(run.progress.end_us(run.report_work(run.told)), ENDS_FIRST, self._reported, run)

    def _reported(self, run: Run) -> None:
        task, held = next(iter(run.held.items()))
        if held.machine.reach is Reach.UP:
            reports, total = run.truth.reports, run.truth.tellings
            told = TaskReported(task, run.told + 1, reports[run.told]) if reports else None
            self._reports.append(told or TaskReported(task, run.told + 1, total=total))
        run.told += 1
        self._tell_next(run)

    def _beside(self, run: Run) -> None:
        """Take note of the attempts that share a device's time with one that changes: their speed may change."""
        if run.shares:
            self._uneasy |= {id(other): other for other in run.neighbours()}

    def _settle_neighbours(self) -> None:
        """Bring the speed of attempts up to date beside which others have come or gone."""
        uneasy, self._uneasy = self._uneasy, {}
        for run in uneasy.values():
            if run.held:
                self._go(run)

    def _copied(self, run: Run) -> None:
        self._settle({id(run): run}, asked=False)

    def _save(self, run: Run, *, on_stop: bool = False) -> None:
        """Keep what the attempt's checkpoints hold at this moment, for the next attempt."""
        if run.written_off or any(held.machine.reach is Reach.CUT for held in run.held.values()):
            return
        kept = run.progress.work if on_stop else run.progress.kept(run.spec.checkpoint)
        if kept is not None:
            self._saved[run.job] = kept

    def _finish(self, run: Run) -> None:
        run.progress.settle(self.clock.now_us())
        self._save(run)
        run.was_whole = False
        exit_code = run.truth.exit_code(run.attempt)
        result = run.truth.result if exit_code == 0 else ""
        self._finished[run.job] = (run.attempt, exit_code, result)
        if exit_code == 0 and run.spec.outputs:
            self._leave(run)
        for task in list(run.held):
            self._gone(run, task, exit_code, result)
        self._settle_neighbours()

    def _leave(self, run: Run) -> None:
        """Have the machines of a job hold what it wrote; what others hold of that is old."""
        mine = {id(held.machine) for held in run.held.values()}
        for machine in self._machines.values():
            if id(machine) in mine:
                machine.copies.leave(machine.spec, run.spec.outputs, self.clock.now_us())
            else:
                machine.copies.forget([name for name, _ in run.spec.outputs])

    def _gone(self, run: Run, task: TaskRef, exit_code: int, result: str = "") -> None:
        machine = self._take(run, task)
        report = TaskIsGone(task, exit_code, result=result)
        if machine.reach is Reach.CUT:
            machine.reports.append(report)
        else:
            self._tell(report)

    def _take(self, run: Run, task: TaskRef) -> Machine:
        self._beside(run)
        machine = run.remove(task, self.clock.now_us()).machine
        if not run.held:
            run.version += 1
            del self._runs[run.job, run.attempt]
            if self._latest.get(run.job) is run:
                del self._latest[run.job]
        return machine

    def _tell(self, report: TaskIsGone) -> None:
        self._ends[report.task] = report
        self._reports.append(report)

    # --- faults --------------------------------------------------------------------------------

    def lose(self, name: str) -> None:
        """Let a machine and all on it die without a word; it is missed at its next heartbeat."""
        machine = self._machines[name]
        self._clear(machine)
        self._fall_silent(machine, Reach.DEAD)

    def revive(self, name: str) -> None:
        """Bring a dead machine back, empty."""
        machine = self._machines[name]
        if machine.reach is Reach.DEAD:
            self._return(machine)

    def cut(self, name: str) -> None:
        """Cut a machine off; its processes go on."""
        machine = self._machines[name]
        if machine.reach is Reach.UP:
            for run in dict.fromkeys(machine.runs.values()):  # what it saves from now on cannot be read elsewhere
                run.progress.settle(self.clock.now_us())
                self._save(run)
            self._fall_silent(machine, Reach.CUT)

    def restore(self, name: str) -> None:
        """Reach a machine again: it tells what ended meanwhile and hears what it was to do."""
        machine = self._machines[name]
        if machine.reach is not Reach.CUT:
            return
        machine.reach = Reach.UP
        for report in machine.reports:
            if isinstance(report, TaskIsGone):
                self._tell(report)
        machine.reports.clear()
        orders, machine.orders = machine.orders, []
        self.carry_out(orders)
        self._return(machine)

    def take_away(self, name: str) -> None:
        """Let the provider take a machine: as `lose`, but known at once."""
        machine = self._machines.get(name)
        if machine and machine.reach is not Reach.DEAD:
            self._clear(machine)
            machine.reach = Reach.DEAD
            machine.version += 1
            self._reports.append(NodeIsQuiet(name, self._lease_us))

    def notice(self, name: str, in_us: int) -> None:
        """Have a machine taken away so much later, and say so now."""
        machine, at_us = self._machines[name], self.clock.now_us() + in_us
        machine.taken_us.append(at_us)
        self._heap.push(at_us, FAULTS_LATER, self._take_noticed, _Surely(machine))
        self._reports.append(NodeIsNoticed(name, in_us))

    def _take_noticed(self, surely: _Surely[Machine]) -> None:
        name = surely.what.spec.name
        surely.what.taken_us.remove(self.clock.now_us())
        if self._machines.get(name) is surely.what:
            self.take_away(name)

    def later(self, at_us: int, call: Callable[[_T], None], subject: _T) -> None:
        """Have something happen at a moment; raising the subject's `version` takes it back."""
        self._heap.push(at_us, ENDS_FIRST, call, subject)

    def has(self, name: str) -> bool:
        """Return whether there is a machine of this name, dead or alive."""
        return name in self._machines

    def join(self, spec: NodeSpec) -> None:
        """Add a machine."""
        self._machines[spec.name] = Machine(spec)
        self._reports.append(NodeIsUp(spec))

    def leave(self, name: str) -> None:
        """Remove a machine for good, with all on it."""
        self._clear(self._machines[name])
        del self._machines[name]
        self._reports.append(NodeIsGone(name))

    def sicken(self, name: str, devices: Iterable[int]) -> None:
        """Devices of a machine become unhealthy; what runs there goes on."""
        machine = self._machines[name]
        machine.unhealthy = tuple(sorted({*machine.unhealthy, *devices}))
        if machine.reach is Reach.UP:
            self._reports.append(machine.hello())

    def power_cut(self) -> None:
        """Every process on every machine dies; the machines themselves stay."""
        for machine in self._machines.values():
            self._clear(machine)

    def _fall_silent(self, machine: Machine, reach: Reach) -> None:
        if machine.reach is Reach.UP:
            last_us = max(self.clock.now_us() - 1, 0) // self._beat_us * self._beat_us  # what dies now beats no more
            self._heap.push(last_us + self._beat_us, FAULTS_LATER, self._missed, machine)
        machine.reach = reach

    def _missed(self, machine: Machine) -> None:
        self._reports.append(NodeIsQuiet(machine.spec.name, self._beat_us))

    def _return(self, machine: Machine) -> None:
        machine.reach = Reach.UP
        machine.version += 1
        self._reports.append(machine.hello())

    def _clear(self, machine: Machine) -> None:
        """All processes of a machine die without a word, and what waited for the network is lost."""
        self._died |= machine.runs.keys()
        machine.reports.clear()
        machine.orders.clear()
        touched = {id(run): run for run in machine.runs.values()}
        now_us = self.clock.now_us()
        for run in touched.values():
            run.progress.settle(now_us)
            self._save(run)
            run.broken = run.broken or not run.shrinks
            run.written_off = run.written_off or machine.reach is Reach.CUT
        for task, run in list(machine.runs.items()):
            self._take(run, task)
        self._settle(touched, asked=False)
