"""What other words for a queue would do at once: tried in a twin of the world, which decides as the world would."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from clearway.model import asks
from clearway.model.errors import ClearwayError, ConflictError
from clearway.model.events import Started, Stopping
from clearway.whatif.twin import twin

if TYPE_CHECKING:
    from clearway.loop.world import World
    from clearway.model.ids import JobId


class Effect(NamedTuple):
    """Who starts and who is stopped for it in the next cycle, and how all queues stand before and after."""

    starts: tuple[JobId, ...]
    stops: tuple[JobId, ...]
    before: tuple[asks.Standing, ...]
    after: tuple[asks.Standing, ...]


def effect(world: World, change: asks.SetQueue, now_us: int) -> Effect:
    """Return what a change of a queue would do. The world stays as it is.

    Raises what the change would be refused with: a parent that is not there, a circle.
    """
    now_us = max(now_us, world.now_us)
    base = twin(world)
    base.step((), now_us)
    before = _standings(base, now_us)
    step = base.step((change,), now_us)
    (said,) = step.answers
    if isinstance(said, ClearwayError):
        raise said
    return Effect(
        tuple(record.job for record in step.records if isinstance(record, Started)),
        tuple(record.job for record in step.records if isinstance(record, Stopping)),
        before,
        _standings(base, now_us),
    )


def _standings(world: World, now_us: int) -> tuple[asks.Standing, ...]:
    (found,) = world.step((asks.Look(),), now_us).answers
    if not isinstance(found, tuple):
        raise ConflictError(f"a look was answered with {found!r}")
    return found
