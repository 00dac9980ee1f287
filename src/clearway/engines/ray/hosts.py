"""Hosts that are free, by node: a task gets one that is there, or the first that is made for those who wait."""

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


class Kind(NamedTuple):
    """What hosts have in common that can stand for each other: Ray's number of the node, the runtime environment."""

    number: str
    runtime_env: str


class Hosts:
    """The hosts of a namespace that have no task."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._free: dict[Kind, deque[tuple[float, Any]]] = defaultdict(deque)
        self._waiting: dict[Kind, deque[asyncio.Future[Any]]] = defaultdict(deque)
        self._making: dict[Kind, set[asyncio.Task[None]]] = defaultdict(set)

    async def take(self, node: RayNode, runtime_env: str) -> Any:  # noqa: ANN401  an actor
        """Return a host on a node, for one task. Raises RayError where none can be made."""
        kind = Kind(node.number, runtime_env)
        free = self._free[kind]
        while free:
            since, host = free.pop()
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
        self._free[kind].append((time.monotonic(), host))

    def _make_more(self, node: RayNode, kind: Kind) -> None:
        making = self._making[kind]
        while len(making) < min(AT_ONCE, len(self._waiting[kind])):
            task = asyncio.create_task(self._make(node, kind))
            making.add(task)

    async def _make(self, node: RayNode, kind: Kind) -> None:
        try:
            name = f"host-{uuid.uuid4().hex[:12]}"
            host = await asyncio.to_thread(self._cluster.new_host, node, name, kind.runtime_env)
            patience_s = MAKE_WITH_ENV_S if kind.runtime_env else MAKE_S
            await asyncio.wait_for(host.holding.remote(self._cluster.term), patience_s)
        except (RayError, TimeoutError, ValueError, TypeError) as error:  # the last two: Ray's of a runtime_env
            waiting = self._waiting[kind]
            if waiting and not (wish := waiting.popleft()).done():
                wish.set_exception(error)
        else:
            self.give(kind, host)
        current = asyncio.current_task()
        if current is not None:
            self._making[kind].discard(current)
        self._make_more(node, kind)
