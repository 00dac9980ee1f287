"""What follows from a provider's notice that it takes a node away: what can be saved is stopped in time.

Whatever may end before that moment goes on. An attempt that writes a last checkpoint when it is told to stop goes on
until its grace just fits before the moment, and waits again afterwards; an elastic one gives back its tasks there at
that time and goes on with the others. All else has nothing to save, and goes on to the last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.loop import retries
from clearway.loop.timers import Due, Timer
from clearway.model import events as ev
from clearway.model.reasons import Code, Reason, because
from clearway.model.states import End

if TYPE_CHECKING:
    from clearway.loop.entry import JobEntry, TaskKey
    from clearway.loop.state import WorldState
    from clearway.loop.world import World
    from clearway.model.ids import JobId, NodeId
    from clearway.ports.engine import NodeIsNoticed


def noticed(world: World, report: NodeIsNoticed) -> None:
    """Take in that a node will be taken away; being told twice changes nothing."""
    node, gone_us = world.node_named(report.node), world.now_us + report.in_us
    known = node is not None and not world.state.machines.booting(node)
    if node is not None and known and gone_us not in world.state.notices.get(node, ()):
        world.emit(ev.NodeNoticed(world.now_us, node, gone_us))


def over(state: WorldState, node: NodeId, now_us: int) -> bool:
    """Return whether a node was to be gone by now, so that hearing of it means that it is back."""
    return any(moment <= now_us for moment in state.notices.get(node, ()))


def why_gone(world: World, node: NodeId) -> Reason | None:
    """Return why a node is gone that was to be taken away by now; None for one that was not."""
    moments = [moment for moment in world.state.notices.get(node, ()) if moment <= world.now_us]
    return because(Code.SPOT_NOTICE, node=world.node_name(node), gone_us=moments[-1]) if moments else None


def see_to(world: World, node: NodeId) -> None:
    """Stop what is to be stopped by now on a node, and note when to look again."""
    gone_us = next((moment for moment in world.state.notices.get(node, ()) if moment > world.now_us), None)
    if gone_us is None or node in world.state.lost:
        return
    later = []
    for job in sorted(world.ledger.on_node[node]):
        due_us = _due_us(world, world.jobs[job], node, gone_us)
        if due_us is not None and due_us > world.now_us:
            later.append(due_us)
        elif due_us is not None:
            _make_way(
                world, world.jobs[job], node, because(Code.SPOT_NOTICE, node=world.node_name(node), gone_us=gone_us)
            )
    if later:
        world.state.timers.add(Timer(min(later), Due.NOTICE, node))


def moving(state: WorldState, now_us: int) -> list[JobId]:
    """Return the jobs that will lose their place because of a notice, and wait for another one then."""
    found: dict[JobId, None] = {}
    for node, moments in sorted(state.notices.items()):
        for job in sorted(state.view.ledger.on_node[node]) if node not in state.lost else ():
            entry = state.jobs[job]
            stays = entry.losses >= entry.spec.max_losses or _can_shrink(entry, _here(entry, node))
            ends = _may_end(state, entry, moments[0], now_us)
            if (entry.intent is None and not stays and not ends) or retries.waits_again(entry):
                found[job] = None
    return list(found)


def _here(entry: JobEntry, node: NodeId) -> list[TaskKey]:
    return [key for key, grant in entry.held.items() if grant.node == node and key not in entry.leaving]


def _due_us(world: World, entry: JobEntry, node: NodeId, gone_us: int) -> int | None:
    """Return when an attempt is to make way, None where it goes on to its end."""
    here = _here(entry, node)
    if entry.intent is not None or not here:
        return None
    saves = entry.spec.checkpoint.on_stop and entry.losses < entry.spec.max_losses
    if not saves and not _can_shrink(entry, here):
        return None
    due_us = gone_us - entry.spec.checkpoint.grace_us
    if due_us <= world.now_us and _may_end(world.state, entry, gone_us, world.now_us):
        return world.state.view.ends.jobs[entry.id].end_us
    return due_us


def _may_end(state: WorldState, entry: JobEntry, gone_us: int, now_us: int) -> bool:
    """Return whether an attempt is expected to end by itself before its node goes."""
    expected = state.view.ends.jobs.get(entry.id)
    return expected is not None and entry.paused_us is None and now_us < expected.end_us <= gone_us


def _can_shrink(entry: JobEntry, here: list[TaskKey]) -> bool:
    """Return whether an attempt is whole without some of its tasks."""
    left = [key for key in entry.held if key not in entry.leaving and key not in here]
    return bool(left) and all(
        sum(key[0] == number for key in left) >= role.min_tasks for number, role in enumerate(entry.spec.roles)
    )


def _make_way(world: World, entry: JobEntry, node: NodeId, cause: Reason) -> None:
    here = _here(entry, node)
    if _can_shrink(entry, here):
        less = tuple(entry.held[key] for key in here)
        world.emit(ev.Resized(world.now_us, entry.id, entry.attempt, cause, less=less))
    else:
        world.stop(entry, End.EVICTED, cause)
