"""Looking at the nodes of a cluster again and again: who is there, who is gone, and what others hold."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from clearway.engines.ray.nodes import RayNode, held_by_others, spec_of
from clearway.engines.ray.places import STEADY_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from clearway.engines.ray.cluster import Cluster
    from clearway.engines.ray.nodes import Amounts
    from clearway.engines.ray.work import Work

    Message = dict[str, Any]

LOOK_S = 1.0
GONE_S = 600.0
"""A node that Ray calls dead is never seen again; after so long it counts as taken away."""


class Watch:
    """The nodes as they were told last."""

    def __init__(self, cluster: Cluster, work: Work, say: Callable[[Message], None]) -> None:
        self._cluster, self._work, self._say = cluster, work, say
        self._told: dict[str, Message] = {}
        self._dead: dict[str, float] = {}
        self._others: dict[str, Amounts] = {}
        self._seen: dict[str, Amounts] = {}
        self._soon = asyncio.Event()
        self._anew = False

    def knew(self, names: Iterable[str]) -> None:
        """Learn which nodes the bridge before this one knew: one that is not there is missed."""
        self._dead = dict.fromkeys(names, time.monotonic())

    def anew(self) -> None:
        """Have all nodes told anew."""
        self._anew = True
        self._soon.set()

    async def look(self) -> list[Message]:
        """Look once, and return what is to be said of nodes that are new or not as they were."""
        anew, self._anew = self._anew, False
        await self._work.look()
        nodes = self._work.nodes
        self._work.miss()
        said = [self._message(node) for node in nodes.values()]
        news = [one for one in said if anew or self._is_new(one)]
        self._told |= {one["spec"]["name"]: one for one in said}
        now = time.monotonic()
        known = self._told.keys() | self._dead.keys()
        self._dead = {name: self._dead.get(name, now) for name in sorted(known - nodes.keys())}
        return news

    async def find_others(self) -> None:
        """Learn what others hold, on all nodes: at once where it is nothing, else by two looks."""
        await self.see_others()
        if any(self._seen.values()):
            await asyncio.sleep(STEADY_S)
            await self.see_others()

    async def see_others(self) -> None:
        """Learn what others hold, on all nodes, where two looks in turn say the same."""
        at = time.monotonic()
        available = await asyncio.to_thread(self._cluster.available)
        nodes = list(self._work.nodes.values())
        await asyncio.gather(*(self._see_others(node, available.get(node.number), at) for node in nodes))

    async def mind_others(self) -> None:
        """Learn for ever what others hold: beside `run`, since finding out which devices may take long."""
        while True:
            await asyncio.sleep(LOOK_S)
            await self.see_others()

    async def run(self) -> None:
        """Look for ever."""
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._soon.wait(), LOOK_S)
            self._soon.clear()
            for message in await self.look():
                self._say(message)
            for message in self._of_the_dead():
                self._say(message)
            self._say({"is": "alive"})

    def _is_new(self, said: Message) -> bool:
        told = self._told.get(said["spec"]["name"])
        words = ("spec", "unhealthy", "number")
        return told is None or said["spec"]["name"] in self._dead or any(told[word] != said[word] for word in words)

    def _message(self, node: RayNode) -> Message:
        spec = spec_of(node, self._others.get(node.number, {}))
        taken = sorted(self._work.places.taken.get(node.number, ()))
        return {
            "is": "node", "spec": msgspec.to_builtins(spec), "running": self._work.on(node.number),
            "unhealthy": taken, "number": node.number, "address": node.address,
        }  # fmt: skip

    def _of_the_dead(self) -> list[Message]:
        now = time.monotonic()
        found: list[Message] = []
        for name, since in list(self._dead.items()):
            if now - since > GONE_S:
                del self._dead[name]
                self._told.pop(name, None)
                self._work.leave(name)
                found.append({"is": "left", "node": name})
            else:
                found.append({"is": "quiet", "node": name, "us": round((now - since) * 1e6)})
        return found

    async def _see_others(self, node: RayNode, available: Amounts | None, at: float) -> None:
        """Learn what others hold of a node, once two looks say the same."""
        places = self._work.places
        if available is None or not places.steady(node.number, at):
            return
        others = held_by_others(node, available, places.ours(node.number))
        known = self._seen.get(node.number)
        self._seen[node.number] = others
        if others == self._others.get(node.number, {}) or known != others:
            return
        if others.get("GPU", 0) != self._others.get(node.number, {}).get("GPU", 0):
            if not others.get("GPU"):
                places.taken.pop(node.number, None)
            elif not await places.look_at_devices(node, int(available.get("GPU", 0)), at):
                return
        self._others[node.number] = others
