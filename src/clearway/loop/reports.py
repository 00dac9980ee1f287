"""What follows from what engines report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.flow.json_text import MOST_BYTES, is_deep
from clearway.loop import endings, idle, notices, searches, silence
from clearway.loop.difference import Between
from clearway.loop.orders import tell_node_again
from clearway.loop.timers import Due, Timer
from clearway.model import events as ev
from clearway.model.actions import GiveBack, Halt
from clearway.model.ids import NodeId
from clearway.model.reasons import Code, because
from clearway.model.states import End
from clearway.ports.engine import (
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

if TYPE_CHECKING:
    from clearway.loop.entry import JobEntry
    from clearway.loop.world import World
    from clearway.model.events import TaskRef

STRAY_GRACE_US = 10_000_000  # a task that should not run any more is asked to end, and killed after so long


def take(world: World, report: Report) -> None:
    """Record what a report tells that is new, and what follows from it."""
    match report:
        case TaskIsUp(task):
            _task_up(world, task)
        case TaskIsGone():
            _task_gone(world, report)
        case TaskIsIdle():
            idle.reported(world, report)
        case TaskReported():
            if report.metrics:
                searches.reported(world, report)
            else:
                world.progressing.reported(world, report)
        case NodeIsUp():
            _node_up(world, report)
        case NodeIsQuiet():
            _node_quiet(world, report)
        case NodeIsNoticed():
            notices.noticed(world, report)
        case NodeIsGone(name):
            node = world.node_named(name)
            if node is not None:
                _lose(world, node, ev.NodeRemoved(world.now_us, node))


def _task_up(world: World, task: TaskRef) -> None:
    entry = world.state.live(task)
    if entry is not None and (task.role, task.index) not in entry.up:
        world.emit(ev.TaskStarted(world.now_us, task))


def _task_gone(world: World, report: TaskIsGone) -> None:
    task = report.task
    entry = world.state.live(task)
    result, error = report.result, report.error
    if len(result) > MOST_BYTES or is_deep(result):
        result, error = "", error or f"its result has more than {MOST_BYTES} characters, or is nested too deep"
    ended = ev.TaskEnded(world.now_us, task, report.exit_code, error, report.oom, result, report.used)
    if entry is None:
        if any(task in strays for strays in world.state.strays.values()):
            world.emit(ended)
        return
    world.emit(ended)
    endings.task_ended(world, entry, (task.role, task.index))


def _node_up(world: World, report: NodeIsUp) -> None:
    """Take in that a node is there: its words, what runs on it, and what should run but does not."""
    state, name = world.state, report.spec.name
    node = world.node_named(name)
    if node is None and state.machines.was_ordered(name):
        world.provide(GiveBack(name))  # it comes too late: its order was taken back
        return
    if node is None:
        node = NodeId(world.ledger.count)
        world.emit(ev.NodeAdded(world.now_us, node, report.spec))
    elif world.ledger.specs[node] != report.spec or state.machines.booting(node):
        world.emit(ev.NodeAdded(world.now_us, node, report.spec))
    unhealthy = _unhealthy(world, report)
    if unhealthy != state.unhealthy.get(node, ()):
        world.emit(ev.DevicesChanged(world.now_us, node, unhealthy))
    strays = [task for task in report.running if state.live(task) is None]
    away = node in state.quiet or node in state.lost or notices.over(state, node, world.now_us)
    if not away:  # what is so after a silence is no difference
        new = [task for task in strays if task not in state.strays.get(node, ())]
        world.differ(Between.NO_GRANT, (f"{name} runs {_named(task)}, which holds nothing there" for task in new))
        absent = (_named(task) for task in _absent(world, node, report))
        world.differ(Between.NO_PROCESS, (f"{name} does not name {task}, which is up by the books" for task in absent))
    if away or set(strays) != state.strays.get(node, set()):
        world.emit(ev.NodeHeard(world.now_us, node, report.running))
    world.order(Halt(task, name, "SIGTERM", STRAY_GRACE_US) for task in strays)
    _missing(world, node, report)
    for task in report.running:
        _task_up(world, task)
    world.order(tell_node_again(state, node))


def _unhealthy(world: World, report: NodeIsUp) -> tuple[int, ...]:
    """Return the devices of a node that are of no use: those that are ill, and those that a process does not let go."""
    found = set(report.unhealthy)
    for task in report.stuck:
        entry = world.state.live(task)
        if entry is not None and (grant := entry.held.get((task.role, task.index))) is not None:
            found.update(grant.devices)
    return tuple(sorted(found))


def miss_absent(world: World, there: set[str]) -> None:
    """Take nodes that a new controller's engine does not know of for quiet from now on."""
    state = world.state
    for name, node in sorted(state.nodes.items(), key=lambda item: item[1]):
        away = node in state.quiet or node in state.lost or state.machines.booting(node)
        if name not in there and not away:
            world.emit(ev.NodeQuiet(world.now_us, node, world.now_us))


def _missing(world: World, node: NodeId, report: NodeIsUp) -> None:
    """Stop the attempts that had tasks up on a node which, as it says, does not run them: they are lost.

    Their grants are held until the engine has answered the order to stop: what the node says may be older than them.
    """
    cause = because(Code.NODE_LOST, node=report.spec.name, lease_us=world.policy.lease_us)
    for job in dict.fromkeys(task.job for task in _absent(world, node, report)):
        world.emit(ev.Stopping(world.now_us, job, world.jobs[job].attempt, End.LOST, cause))


def _absent(world: World, node: NodeId, report: NodeIsUp) -> list[TaskRef]:
    """Return the tasks up on a node that nobody means to stop, and that are not among those that it names."""
    running, found = set(report.running), []
    for job in sorted(world.ledger.on_node[node]):
        entry = world.jobs[job]
        here = [key for key, grant in entry.held.items() if grant.node == node and key in entry.up - entry.leaving]
        tasks = [ev.TaskRef(job, entry.attempt, *key) for key in here if entry.intent is None]
        found += [task for task in tasks if task not in running]
    return found


def _named(task: TaskRef) -> str:
    return f"task {task.index} of role {task.role} of attempt {task.attempt} of job {task.job}"


def _node_quiet(world: World, report: NodeIsQuiet) -> None:
    node = world.node_named(report.node)
    if node is None or node in world.state.lost or node in world.state.quiet:
        return
    world.emit(ev.NodeQuiet(world.now_us, node, world.now_us - report.quiet_us))


def lease_due(world: World, timer: Timer) -> None:
    """Declare a node lost whose lease ran out: not heard of for a full lease under this controller."""
    node = NodeId(timer.number)
    if node not in world.state.quiet:
        return
    due = world.state.lease_end_us(node)
    if due <= world.now_us:
        due = silence.waits_until_us(world.state, world.now_us) or due
    if due > world.now_us:
        world.state.timers.add(Timer(due, Due.LEASE, node))
        return
    lose(world, node)


def lose(world: World, node: NodeId) -> None:
    """Declare a node lost."""
    _lose(world, node, ev.NodeLost(world.now_us, node))


def _staying_on(entry: JobEntry, node: NodeId) -> bool:
    """Return whether a job has a task on a node that was not told to go."""
    return any(grant.node == node and key not in entry.leaving for key, grant in entry.held.items())


def _lose(world: World, node: NodeId, record: ev.NodeLost | ev.NodeRemoved) -> None:
    """Record the loss of a node, and stop what is left of the attempts that lost tasks with it."""
    name = world.node_name(node)
    cause = notices.why_gone(world, node) or because(Code.NODE_LOST, node=name, lease_us=world.policy.lease_us)
    there = sorted(world.ledger.on_node[node])
    hit = {job for job in there if _staying_on(world.jobs[job], node)}
    world.emit(record)
    for job in there:
        entry = world.jobs[job]
        if entry.intent is None and job in hit:
            world.stop(entry, End.LOST, cause)
        elif not entry.held:
            endings.conclude(world, entry)
