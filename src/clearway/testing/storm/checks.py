"""What holds in any storm, judged by what really ran and what the journal says, not by the books."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from clearway.loop.snapshot import settled, take
from clearway.loop.world import World
from clearway.model import events as ev
from clearway.model.job import WHOLE
from clearway.model.states import State

if TYPE_CHECKING:
    from clearway.engines.fake import Room
    from clearway.model.actions import Launch
    from clearway.model.fleet import PolicySpec


class BrokenError(AssertionError):
    """Something happened that must never happen."""


def demand(*, holds: bool, text: str) -> None:
    """Raise BrokenError with the text where something does not hold."""
    if not holds:
        raise BrokenError(text)


def devices(room: Room, launched: list[Launch]) -> None:
    """See that no device really carries more than one whole task, or shares of more than itself."""
    live = {ref for node in room.nodes for ref in room.node_is_up(node).running}
    used: Counter[tuple[str, int]] = Counter()
    for launch in launched:
        if launch.task in live:
            for device in launch.grant.devices:
                used[launch.node, device] += launch.grant.share or (0 if launch.grant.gpu_memory else WHOLE)
    for (node, device), milli in used.items():
        demand(holds=milli <= WHOLE, text=f"device {device} of {node} carries {milli} milli-GPU of processes")


def records(found: list[ev.Record], policy: PolicySpec, seed: int) -> World:
    """See that jobs and attempts came and ended once, and nothing after a terminal state; return the world."""
    world, over = World(policy, seed), set[int]()
    keys: Counter[str] = Counter()
    attempts: Counter[int] = Counter()
    last_us = 0
    for record in found:
        demand(holds=record.at_us >= last_us, text=f"time went back to {record.at_us} us with {record}")
        last_us = record.at_us
        world.apply(record)
        job = getattr(record, "job", None)
        if isinstance(record, ev.Submitted):
            once = record.spec.idempotency_key or record.spec.name * ("@" in record.spec.name)
            keys[once or f"number {record.job}"] += 1
        elif isinstance(record, ev.Started):
            attempts[record.job] += 1
            demand(holds=record.attempt == attempts[record.job], text=f"{record} is not the next attempt")
        if isinstance(record, ev.Started | ev.Stopping | ev.AttemptEnded | ev.Requeued | ev.Ended):
            demand(holds=job not in over, text=f"{record} comes after the end of its job")
        if isinstance(record, ev.Ended):
            over.add(record.job)
    twice = [key for key, times in keys.items() if times > 1]
    demand(holds=not twice, text=f"jobs were entered twice: {twice}")
    world.validate()
    return world


def once(launched: list[Launch]) -> None:
    """See that no task of an attempt was ever really started twice."""
    twice = [task for task, times in Counter(launch.task for launch in launched).items() if times > 1]
    demand(holds=not twice, text=f"started twice: {twice}")


def ended(world: World, room: Room, accepted: set[str]) -> None:
    """See that, when all has calmed down, nothing is lost, held or running that should not be."""
    state = world.state
    lost = accepted - {key for _, key in state.keys}
    demand(holds=not lost, text=f"accepted and lost: {sorted(lost)}")
    stuck = [e.spec.name for e in world.jobs.values() if e.state != State.PENDING]
    demand(holds=not stuck, text=f"neither over nor waiting: {stuck}")
    waits = [e.spec.name for e in world.jobs.values() if not e.reasons and e.cls is None]
    demand(holds=not waits, text=f"waits without a reason: {waits}")
    demand(holds=not world.ledger.holdings, text=f"grants are held by nobody: {world.ledger.holdings}")
    runs = [task for node in room.nodes for task in room.node_is_up(node).running]
    demand(holds=not runs, text=f"processes run that nobody knows of: {runs}")


def same(live: World, rebuilt: World) -> None:
    """Compare the world that lived with the one that its records lead to."""
    demand(holds=settled(take(live)) == settled(take(rebuilt)), text="the journal leads to another world")
