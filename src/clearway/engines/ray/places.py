"""Holding in Ray's ledger what the controller decided, device by device, and seeing what others hold."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from ray.exceptions import RayError

from clearway.engines.ray.cluster import Place, summed
from clearway.engines.ray.holds import WHOLE, pieces

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clearway.engines.ray.cluster import Cluster
    from clearway.engines.ray.nodes import Amounts, RayNode

    Message = dict[str, Any]

HOLD_S = 5.0
"""What Ray does not give within this time somebody else has."""
PIECE_S = 2.0
GIVEN_S = 60.0
TRIES = 3


class Held(NamedTuple):
    """What is held for a task: on which node, which devices, so many thousandths of each."""

    number: str
    devices: tuple[int, ...]
    share: int
    place: Place


class Places:
    """All places of a namespace. `taken`: devices that others hold, by number of node."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.held: dict[str, Held] = {}
        self.taken: dict[str, frozenset[int]] = {}
        self.changed: dict[str, float] = {}
        """When something was last held or let go, by number of node."""

    async def hold(self, order: Message, node: RayNode) -> bool:
        """Hold what a task needs; False where Ray does not give it. Raises RayError."""
        async with self._locks[node.number]:
            self.changed[node.number] = time.monotonic()
            place = await self._exactly(order, node) if order["devices"] else await self._plainly(order, node)
            self.changed[node.number] = time.monotonic()
            if place is not None:
                self.found(order, node.number, place)
        return place is not None

    def found(self, order: Message, number: str, place: Place) -> None:
        """Take note of a place that is held for a task."""
        self.held[order["task"]] = Held(number, tuple(order["devices"]), order["share"], place)

    async def let_go(self, key: str) -> None:
        """Let go of what a task held."""
        held = self.held.pop(key, None)
        if held is not None:
            self.changed[held.number] = time.monotonic()
            await asyncio.to_thread(self._cluster.let_go, held.place)

    def ours(self, number: str) -> Amounts:
        """Return the sum of what is held on a node."""
        return summed(held.place.bundle for held in self.held.values() if held.number == number)

    async def look_at_devices(self, node: RayNode, free: int) -> bool:
        """Learn which devices others hold where so many are wholly free; False where that cannot be seen now."""
        async with self._locks[node.number]:
            seen: list[int] = []
            place = None
            while free and place is None:  # what is free may be parts of several
                place = await self._hold(f"look:{node.number[:8]}", node, {"GPU": free}, PIECE_S)
                free -= 1
            if place is not None:
                try:
                    seen = await asyncio.wait_for(self._cluster.given(place), GIVEN_S)
                except (RayError, TimeoutError):
                    return False
                finally:
                    await asyncio.to_thread(self._cluster.let_go, place)
            mine = {device for held in self.held.values() if held.number == node.number for device in held.devices}
            self.taken[node.number] = frozenset(range(node.gpus)) - set(seen) - mine
            return True

    async def _hold(self, name: str, node: RayNode, bundle: Mapping[str, float], patience_s: float) -> Place | None:
        return await asyncio.to_thread(self._cluster.hold, name, node, bundle, patience_s)

    async def _plainly(self, order: Message, node: RayNode) -> Place | None:
        return await self._hold(order["task"], node, order["bundle"], HOLD_S)

    async def _exactly(self, order: Message, node: RayNode) -> Place | None:
        """Hold the very devices that were decided, whichever Ray would choose."""
        wanted, key = sorted(order["devices"]), order["task"]
        extra: list[Place] = []
        try:
            extra += await self._pieces_beside(order, node)
            for number in range(TRIES):
                place = await self._hold(f"{key}+{number}", node, order["bundle"], HOLD_S)
                if place is None:
                    return None
                try:
                    given = await asyncio.wait_for(self._cluster.given(place), GIVEN_S)
                except BaseException:
                    extra.append(place)
                    raise
                if given == wanted:
                    return place
                extra.append(place)  # somebody else's doing: the next one gets others
        finally:
            for place in extra:
                await asyncio.to_thread(self._cluster.let_go, place)
        return None

    async def _pieces_beside(self, order: Message, node: RayNode) -> list[Place]:
        """Hold what is free beside the wanted devices, where Ray would choose that."""
        beside, wanted = list[Place](), list[Place]()
        for device, amount in pieces(self._free(node), order["devices"], order["share"]):
            name = f"piece:{order['task']}-{device}"
            piece = await self._hold(name, node, {"GPU": amount / WHOLE}, PIECE_S)
            if piece is not None:
                (wanted if device in order["devices"] else beside).append(piece)
        for piece in wanted:
            await asyncio.to_thread(self._cluster.let_go, piece)
        return beside

    def _free(self, node: RayNode) -> list[int]:
        free = [0 if number in self.taken.get(node.number, ()) else WHOLE for number in range(node.gpus)]
        for held in self.held.values():
            if held.number == node.number:
                for device in held.devices:
                    free[device] -= held.share
        return [max(left, 0) for left in free]
