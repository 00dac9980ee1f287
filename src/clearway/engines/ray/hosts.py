"""Hosts that are free, by node: a task gets one that is there, or the first that is made for those who wait."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any

from ray.exceptions import RayError

from clearway.engines.ray.cluster import IDLE_S

if TYPE_CHECKING:
    from clearway.engines.ray.cluster import Cluster
    from clearway.engines.ray.nodes import RayNode

AT_ONCE = 4
"""So many are made at once on a node; each costs the start of a Python."""
MAKE_S = 60.0
STALE_S = IDLE_S / 2
"""One that was free for longer may leave in the very moment it is asked."""


class Hosts:
    """The hosts of a namespace that have no task."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._free: dict[str, deque[tuple[float, Any]]] = defaultdict(deque)
        self._waiting: dict[str, deque[asyncio.Future[Any]]] = defaultdict(deque)
        self._making: dict[str, set[asyncio.Task[None]]] = defaultdict(set)

    async def take(self, node: RayNode) -> Any:  # noqa: ANN401  an actor
        """Return a host on a node, for one task. Raises RayError where none can be made."""
        free = self._free[node.number]
        while free:
            since, host = free.pop()
            if time.monotonic() - since < STALE_S:
                return host
        wish: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[node.number].append(wish)
        self._make_more(node)
        return await wish

    def give(self, number: str, host: Any) -> None:  # noqa: ANN401
        """Take a host that has no task any more."""
        waiting = self._waiting[number]
        while waiting:
            wish = waiting.popleft()
            if not wish.done():
                wish.set_result(host)
                return
        self._free[number].append((time.monotonic(), host))

    def _make_more(self, node: RayNode) -> None:
        making = self._making[node.number]
        while len(making) < min(AT_ONCE, len(self._waiting[node.number])):
            task = asyncio.create_task(self._make(node))
            making.add(task)

    async def _make(self, node: RayNode) -> None:
        try:
            host = await asyncio.to_thread(self._cluster.new_host, node, f"host-{uuid.uuid4().hex[:12]}")
            await asyncio.wait_for(host.holding.remote(self._cluster.term), MAKE_S)
        except (RayError, TimeoutError) as error:
            waiting = self._waiting[node.number]
            if waiting and not (wish := waiting.popleft()).done():
                wish.set_exception(error)
        else:
            self.give(node.number, host)
        current = asyncio.current_task()
        if current is not None:
            self._making[node.number].discard(current)
        self._make_more(node)
