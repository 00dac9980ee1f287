"""How fast the calls of a queue may be handed over: evenly, whoever works on them, also after a restart.

Of each queue with a rate is kept, in the tables, when calls were handed over last and how many; the next may go once
these have had their time. What was not used is not saved up, so that a rate is never exceeded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
from sqlalchemy import delete, insert, select

from clearway.calls import schema
from clearway.calls.pools import MOST_WORKERS

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from clearway.calls.pools import Pool
    from clearway.model.fleet import QueueSpec

AT_ONCE_US = 50_000
"""So much of a rate is handed over at once: a hand-over for each call would cost too much where there are many."""
LOOK_US = 1_000_000
"""While calls wait for their rate it is looked so often whether the queue has another one."""
SOON_US = 10_000_000
"""Where the next call may go only later than that, no worker is kept for it."""
_KEY = "rate:"
_META = schema.meta
_DEEPEST = 100  # of queues; more levels than that are a circle


class Bound(NamedTuple):
    """What bounds a queue: a rate of itself or of one above it, and when the next call may go."""

    queue: str
    calls: int
    period_us: int
    next_us: int

    @property
    def at_once(self) -> int:
        """So many go together."""
        return max(1, self.calls * AT_ONCE_US // self.period_us)


class Rates:
    """The rates of queues, whose words `queue_of` tells as they are now."""

    def __init__(self, queue_of: Callable[[str], QueueSpec | None]) -> None:
        self._queue_of = queue_of
        self._last: dict[str, tuple[int, int]] = {}
        self._queues: dict[int, str] = {}
        self.next_us: int | None = None
        """When it is to be looked again, while calls wait for their rate."""

    def reload(self, connection: Connection) -> None:
        """Read anew what was handed over last."""
        rows = connection.execute(select(_META).where(_META.c.key.startswith(_KEY, autoescape=True)))
        said = {row.key.removeprefix(_KEY): row.value.split() for row in rows}
        self._last = {queue: (int(at_us), int(count)) for queue, (at_us, count) in said.items()}
        self._queues, self.next_us = {}, None

    def bounds(self, pool: Pool, now_us: int) -> list[Bound]:
        """Return what bounds the calls of a pool: rates of its queue and of those above it."""
        found: list[Bound] = []
        name = self._queue(pool)
        for _ in range(_DEEPEST):
            queue = self._queue_of(name)
            if queue is None:
                break
            if queue.call_rate:
                calls, period_us = queue.call_rate
                at_us, count = self._last.get(name, (0, 0))
                found.append(Bound(name, calls, period_us, min(at_us, now_us) - (-count * period_us // calls)))
            name = queue.parent
        return found

    def latest(self, pool: Pool, now_us: int) -> Bound | None:
        """Return what bounds a pool for the longest; None where nothing does."""
        return max(self.bounds(pool, now_us), key=lambda bound: bound.next_us, default=None)

    def far(self, pool: Pool, now_us: int) -> int | None:
        """Return when a worker is worth having again, where the next call may go only much later."""
        bound = self.latest(pool, now_us)
        return bound.next_us - SOON_US if bound is not None and bound.next_us > now_us + SOON_US else None

    def fed(self, pool: Pool, now_us: int) -> int:
        """How many workers the rates of a pool keep at work, of any number."""
        found = (-(-pool.mean_us * bound.calls // bound.period_us) for bound in self.bounds(pool, now_us))
        return max(1, min(found, default=MOST_WORKERS))

    def allowed(self, bounds: list[Bound], most: int, now_us: int) -> int:
        """How many of `most` calls may go now. Where none may, it is looked again when one may."""
        later_us = max((bound.next_us for bound in bounds), default=now_us)
        if later_us <= now_us:
            return min([most, *(bound.at_once for bound in bounds)])
        look_us = min(later_us, now_us + LOOK_US)
        self.next_us = look_us if self.next_us is None else min(self.next_us, look_us)
        return 0

    def took(self, connection: Connection, bounds: list[Bound], count: int, now_us: int) -> None:
        """Note what was handed over, in the same transaction."""
        for bound in bounds if count else ():
            self._last[bound.queue] = now_us, count
            connection.execute(delete(_META).where(_META.c.key == _KEY + bound.queue))
            connection.execute(insert(_META).values(key=_KEY + bound.queue, value=f"{now_us} {count}"))

    def _queue(self, pool: Pool) -> str:
        found = self._queues.get(pool.id)
        if found is None:
            found = self._queues[pool.id] = msgspec.json.decode(pool.words).get("queue", "default")
        return found
