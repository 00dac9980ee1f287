"""Hosts that are free, by node: a task gets one that is there, or the first that is made for those who wait.

So many are kept ready on each node as it has devices, one where it has none: a start costs the start of a Python
only where more tasks come at once.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any, NamedTuple

from ray.exceptions import RayError

from clearway.engines.ray.cluster import IDLE_S

if TYPE_CHECKING:
    from clearway.engines.ray.cluster import Cluster
    from clearway.engines.ray.nodes import RayNode

AT_ONCE = 4
"""So many are made at once on a node; each costs the start of a Python."""
MAKE_S = 60.0
MAKE_WITH_ENV_S = 660.0
"""Ray gives up making an environment after 10 minutes, unless its own `config` says otherwise."""
STALE_S = IDLE_S / 2
"""One that was free for longer may leave in the very moment it is asked."""
FRESH_S = IDLE_S / 4
"""So often one that is kept ready is told to stay."""
MOST_READY = 8
MADE_NOW = 64
"""So many are made at once in all, of those that nobody waits for yet: one at a time on a node."""
AGAIN_S = 30.0
"""So long after one could not be made on a node none is made there that nobody waits for."""


class Kind(NamedTuple):
    """What hosts have in common that can stand for each other: Ray's number of the node, the runtime environment."""

    number: str
    runtime_env: str


class Hosts:
    """The hosts of a namespace that have no task."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._free: dict[Kind, dict[Any, float]] = defaultdict(dict)
        """When each was given, or told to stay."""
        self._waiting: dict[Kind, deque[asyncio.Future[Any]]] = defaultdict(deque)
        self._making: dict[Kind, set[asyncio.Task[None]]] = defaultdict(set)
        self._staying: set[asyncio.Task[None]] = set()
        self._failed_at: dict[Kind, float] = {}

    async def take(self, node: RayNode, runtime_env: str) -> Any:  # noqa: ANN401  an actor
        """Return a host on a node, for one task. Raises RayError where none can be made."""
        kind = Kind(node.number, runtime_env)
        free = self._free[kind]
        while free:
            host, since = free.popitem()
            if time.monotonic() - since < STALE_S:
                return host
        wish: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[kind].append(wish)
        self._make_more(node, kind)
        return await wish

    def give(self, kind: Kind, host: Any) -> None:  # noqa: ANN401
        """Take a host that has no task any more."""
        waiting = self._waiting[kind]
        while waiting:
            wish = waiting.popleft()
            if not wish.done():
                wish.set_result(host)
                return
        self._free[kind][host] = time.monotonic()

    def keep(self, node: RayNode, busy: int) -> None:
        """Keep some ready on a node on which so many are busy; those above leave by themselves."""
        kind, now = Kind(node.number, ""), time.monotonic()
        free = {host: since for host, since in self._free[kind].items() if now - since < STALE_S}
        self._free[kind] = free
        ready = max(min(node.gpus, MOST_READY) - busy, 0) if node.gpus else 1
        for host in list(free)[max(len(free) - ready, 0) :]:
            if now - free[host] > FRESH_S:
                free[host] = now
                task = asyncio.create_task(self._stay(kind, host))
                self._staying.add(task)
                task.add_done_callback(self._staying.discard)
        failed = now - self._failed_at.get(kind, -AGAIN_S) < AGAIN_S
        if len(free) < ready and not self._making[kind] and not failed and self._made_now() < MADE_NOW:
            self._begin(node, kind)

    async def _stay(self, kind: Kind, host: Any) -> None:  # noqa: ANN401
        try:
            await asyncio.wait_for(host.holding.remote(self._cluster.term), MAKE_S)
        except (RayError, TimeoutError):
            self._free[kind].pop(host, None)

    def _made_now(self) -> int:
        return sum(map(len, self._making.values()))

    def _make_more(self, node: RayNode, kind: Kind) -> None:
        while len(self._making[kind]) < min(AT_ONCE, len(self._waiting[kind])):
            self._begin(node, kind)

    def _begin(self, node: RayNode, kind: Kind) -> None:
        self._making[kind].add(asyncio.create_task(self._make(node, kind)))

    async def _make(self, node: RayNode, kind: Kind) -> None:
        try:
            name = f"host-{uuid.uuid4().hex[:12]}"
            host = await asyncio.to_thread(self._cluster.new_host, node, name, kind.runtime_env)
            patience_s = MAKE_WITH_ENV_S if kind.runtime_env else MAKE_S
            await asyncio.wait_for(host.holding.remote(self._cluster.term), patience_s)
        except (RayError, TimeoutError, ValueError, TypeError) as error:  # the last two: Ray's of a runtime_env
            self._failed_at[kind] = time.monotonic()
            waiting = self._waiting[kind]
            if waiting and not (wish := waiting.popleft()).done():
                wish.set_exception(error)
        else:
            self.give(kind, host)
        current = asyncio.current_task()
        if current is not None:
            self._making[kind].discard(current)
        self._make_more(node, kind)
