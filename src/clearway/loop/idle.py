"""Jobs that hold devices which do nothing: it is told after a while, and later they give way to those that wait.

A job is idle while the devices of every task of it that holds any are. That is what engines report: they measure it.
Who gives way is stopped as a preempted one is, with its checkpoint, and held: it would only be idle again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.loop import verbs
from clearway.loop.idle_changes import since_us
from clearway.loop.timers import Due, Timer
from clearway.model import asks
from clearway.model import events as ev
from clearway.model.reasons import Code, because
from clearway.model.states import End, State
from clearway.model.values import SECOND_US

if TYPE_CHECKING:
    from clearway.loop.entry import JobEntry
    from clearway.loop.state import WorldState
    from clearway.loop.world import World
    from clearway.ports.engine import TaskIsIdle

RULE = "the idle rule"
"""In whose name a job is held that gave way."""
LOOK_AGAIN_US = 60 * SECOND_US
"""So often it is looked whether somebody waits by now for what an idle job holds."""


def reported(world: World, report: TaskIsIdle) -> None:
    """Take in that a task's devices do nothing, or work again."""
    entry, key = world.state.live(report.task), (report.task.role, report.task.index)
    if entry is None or not entry.held[key].devices:
        return
    if report.for_us is None and key in entry.idle:
        world.emit(ev.TaskIdle(world.now_us, report.task))
    elif report.for_us is not None and key not in entry.idle:
        since_us = max(world.now_us - report.for_us, entry.started_us)
        world.emit(ev.TaskIdle(world.now_us, report.task, since_us))


def due(world: World, entry: JobEntry) -> None:
    """Do what the policy says of a job that is idle by now: tell of it, let it give way."""
    began_us, policy = since_us(entry), world.policy
    if began_us is None or entry.state != State.RUNNING or entry.intent is not None:
        return
    idle_us = world.now_us - began_us
    if policy.idle_warn_us is not None and idle_us >= policy.idle_warn_us and not entry.warned:
        world.emit(ev.IdleWarned(world.now_us, entry.id, entry.attempt, began_us))
    limit_us = policy.idle_release_us
    if limit_us is None or idle_us < limit_us or not entry.spec.preemptible:
        return
    if not _wanted(world.state):
        world.state.timers.add(Timer(world.now_us + LOOK_AGAIN_US, Due.IDLE, entry.id, entry.attempt))
        return
    if entry.holder is None:
        verbs.hold(world, asks.Hold(entry.id, RULE))
    world.stop(entry, End.PREEMPTED, because(Code.IDLE_GPUS, idle_us=idle_us, limit_us=limit_us))


def _wanted(state: WorldState) -> bool:
    """Return whether somebody waits in the line for devices."""
    roles = [role for cls in state.view.line.classes.values() if cls.jobs for role in cls.spec.roles]
    return any(role.demand.milli_gpus or role.demand.one_device for role in roles)
