"""Holding in Ray's ledger what the controller decided, device by device, and seeing what others hold."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from ray.exceptions import RayError

from clearway.engines.ray.cluster import Place, asked, summed
from clearway.engines.ray.holds import WHOLE, pieces

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clearway.engines.ray.cluster import Cluster
    from clearway.engines.ray.nodes import Amounts, RayNode

    Message = dict[str, Any]

HOLD_S = 5.0
"""What Ray does not give within this time somebody else has."""
PIECE_S = 2.0
GIVEN_S = 60.0
TRIES = 3
LEFT_S = 0.3
"""So long a place is kept that a task has left: the next decision often wants the same."""
COUNTED_S = 1.0
"""So long is waited for Ray to count what was let go, mostly a tenth: what does not fit yet it tries late again."""
LOOK_S = 0.01
STEADY_S = 1.0
"""So long Ray needs at most to tell what was held or let go."""


class Held(NamedTuple):
    """What is held for a task: on which node, which devices, so many thousandths of each.

    `sure`: these are the devices that Ray gave.
    """

    number: str
    devices: tuple[int, ...]
    share: int
    place: Place
    sure: bool = True


class Places:
    """All places of a namespace. `taken`: devices that others hold, by number of node."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._looks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """One look after another: each one at once would cost the start of a Python."""
        self.held: dict[str, Held] = {}
        self._left: list[Held] = []
        self.taken: dict[str, frozenset[int]] = {}
        self.changed: dict[str, float] = {}
        """When something was last held or let go, by number of node."""
        self._freed: dict[str, float] = {}
        """When something was last let go."""
        self.warm: set[str] = set()
        """Nodes on which looking needs no start of a Python."""

    # --- for tasks -------------------------------------------------------------------------------

    async def hold(self, order: Message, node: RayNode) -> bool:
        """Hold what a task needs; False where Ray does not give it. Raises RayError."""
        key = order["task"]
        async with self._locks[node.number]:
            if self._hand_on(order, node):
                return True
            await self._let_go_left(node.number)
            self.changed[node.number] = time.monotonic()
            await self._until_counted(order["bundle"], node)
            as_it_comes = not self._pieces(order, node)
            if as_it_comes:
                await self._first(order, node)
            self.changed[node.number] = time.monotonic()
        if not as_it_comes:
            return await self._once_all_are_sure(order, node)
        held = self.held.get(key)
        if held is None or held.sure:
            return held is not None
        async with self._looks[node.number]:
            right = await self._given(node, held.place) == list(held.devices)
        async with self._locks[node.number]:
            if self.held.get(key) is not held:  # it was stopped meanwhile
                return False
            if right:
                self.held[key] = held._replace(sure=True)
                return True
            del self.held[key]
            await self._let_go(node.number, held.place)
        return await self._once_all_are_sure(order, node)

    async def _once_all_are_sure(self, order: Message, node: RayNode) -> bool:
        """Hold the very devices that were decided where Ray would give others, or did.

        Another task that is not sure yet may have those of this one, and wait for its own: each lets go first.
        """
        while True:
            async with self._locks[node.number]:
                if self._all_sure(node.number):
                    await self._until_counted(order["bundle"], node)
                    return await self._exactly(order, node)
            await asyncio.sleep(LOOK_S)

    def found(self, order: Message, number: str, place: Place, *, sure: bool = True) -> None:
        """Take note of a place that is held for a task."""
        self.held[order["task"]] = Held(number, tuple(sorted(order["devices"])), order["share"], place, sure)

    def place_of(self, key: str) -> str:
        """Return the name of the place that a task has."""
        return self.held[key].place.name

    async def leave(self, key: str) -> None:
        """Let go of what a task held that is over, unless a like one comes in a moment."""
        held = self.held.pop(key, None)
        if held is None:
            return
        if held.sure:
            self._left.append(held)
            await asyncio.sleep(LEFT_S)
            if not any(held is one for one in self._left):
                return
            self._left.remove(held)
        await self._let_go(held.number, held.place)

    async def make_warm(self, node: RayNode) -> None:
        """Have a worker of Ray's on a node with devices that can look which are given, before a first task waits."""
        with suppress(RayError, TimeoutError):  # then the first task waits for it
            if node.gpus:
                await asyncio.wait_for(self._cluster.worker(node), GIVEN_S)
        self.warm.add(node.number)

    # --- what is held ----------------------------------------------------------------------------

    def ours(self, number: str) -> Amounts:
        """Return the sum of what is held on a node."""
        return summed(held.place.bundle for held in self._on(number))

    def steady(self, number: str, at: float) -> bool:
        """Say whether what Ray told of a node at a moment is so: nothing was on its way just before, nor since."""
        return not self._locks[number].locked() and self._unchanged(number, at)

    def _unchanged(self, number: str, at: float) -> bool:
        return self._all_sure(number) and self.changed.get(number, float("-inf")) < at - STEADY_S

    def _all_sure(self, number: str) -> bool:
        return all(held.sure for held in self.held.values() if held.number == number)

    async def look_at_devices(self, node: RayNode, free: int, at: float) -> bool:
        """Learn which devices others hold where so many were wholly free at a moment; False where it cannot be seen."""
        async with self._locks[node.number]:
            if not self._unchanged(node.number, at):
                return False
            seen: list[int] = []
            place = None
            while free and place is None:  # what is free may be parts of several
                place = await self._hold(f"look:{node.number[:8]}", node, {"GPU": free}, PIECE_S)
                free -= 1
            if place is not None:
                try:
                    seen = await self._given(node, place)
                except (RayError, TimeoutError):
                    return False
                finally:
                    await self._let_go(node.number, place)
            mine = {device for held in self._on(node.number) for device in held.devices}
            self.taken[node.number] = frozenset(range(node.gpus)) - set(seen) - mine
            return True

    def _on(self, number: str) -> list[Held]:
        return [held for held in (*self.held.values(), *self._left) if held.number == number]

    def _free(self, node: RayNode) -> list[int]:
        free = [0 if number in self.taken.get(node.number, ()) else WHOLE for number in range(node.gpus)]
        for held in self._on(node.number):
            for device in held.devices:
                free[device] -= held.share
        return [max(left, 0) for left in free]

    # --- asking Ray ------------------------------------------------------------------------------

    def _hand_on(self, order: Message, node: RayNode) -> bool:
        """Give a task just what another has left on its node, if there is such a place."""
        wanted = (node.number, tuple(sorted(order["devices"])), order["share"], asked(node, order["bundle"]))
        for held in self._left:
            if (held.number, held.devices, held.share, held.place.bundle) == wanted:
                self._left.remove(held)
                self.held[order["task"]] = held
                return True
        return False

    async def _first(self, order: Message, node: RayNode) -> None:
        """Hold what Ray gives for an order."""
        place = await self._hold(order["task"], node, order["bundle"], HOLD_S)
        if place is not None:
            self.found(order, node.number, place, sure=_is_clear(order, node))

    def _pieces(self, order: Message, node: RayNode) -> list[tuple[int, int]]:
        """Return what is to be held first, so that Ray gives what was decided; [] where it does anyway."""
        return [] if _is_clear(order, node) else pieces(self._free(node), order["devices"], order["share"])

    async def _exactly(self, order: Message, node: RayNode) -> bool:
        """Hold the very devices that were decided, whichever Ray would choose."""
        key, extra = order["task"], list[Place]()
        try:
            extra += await self._pieces_beside(order, node)
            for number in range(TRIES):
                place = await self._hold(f"{key}+{number}", node, order["bundle"], HOLD_S)
                if place is None:
                    return False
                extra.append(place)
                if await self._given(node, place) == sorted(order["devices"]):
                    extra.remove(place)
                    self.found(order, node.number, place)
                    return True
        finally:
            for place in extra:
                await self._let_go(node.number, place)
        return False

    async def _pieces_beside(self, order: Message, node: RayNode) -> list[Place]:
        """Hold what is free beside the wanted devices, where Ray would choose that."""
        beside, wanted = list[Place](), list[Place]()
        for device, amount in self._pieces(order, node):
            name = f"piece:{order['task']}-{device}"
            piece = await self._hold(name, node, {"GPU": amount / WHOLE}, PIECE_S)
            if piece is not None:
                (wanted if device in order["devices"] else beside).append(piece)
        for piece in wanted:
            await self._let_go(node.number, piece)
        if wanted:
            await self._until_counted(order["bundle"], node, beside)
        return beside

    async def _until_counted(self, bundle: Mapping[str, float], node: RayNode, beside: Sequence[Place] = ()) -> None:
        """Wait until Ray counts as free what was let go: what it cannot give at once it tries again late."""
        need = dict(bundle)
        if need.get("GPU"):
            need["GPU"] = sum(self._free(node)) / WHOLE - sum(place.bundle["GPU"] for place in beside)
        while time.monotonic() < self._freed.get(node.number, float("-inf")) + COUNTED_S:
            free = (await asyncio.to_thread(self._cluster.available)).get(node.number, {})
            if all(free.get(word, 0) > amount - 1 / WHOLE for word, amount in need.items() if amount):
                return
            await asyncio.sleep(LOOK_S)

    async def _hold(self, name: str, node: RayNode, bundle: Mapping[str, float], patience_s: float) -> Place | None:
        return await asyncio.to_thread(self._cluster.hold, name, node, bundle, patience_s)

    async def _given(self, node: RayNode, place: Place) -> list[int]:
        given: list[int] = await asyncio.wait_for(self._cluster.given(place), GIVEN_S)
        if place.bundle["GPU"] >= 1 and (taken := self.taken.get(node.number)):
            self.taken[node.number] = taken - set(given)  # what is given whole nobody else has
        return given

    async def _let_go_left(self, number: str) -> None:
        for held in self._on_left(number):
            self._left.remove(held)
            await self._let_go(number, held.place)

    def _on_left(self, number: str) -> list[Held]:
        return [held for held in self._left if held.number == number]

    async def _let_go(self, number: str, place: Place) -> None:
        await asyncio.to_thread(self._cluster.let_go, place)
        self._freed[number] = self.changed[number] = time.monotonic()


def _is_clear(order: Message, node: RayNode) -> bool:
    """Say whether it is clear which devices a task gets: none, or all that there are."""
    return not order["devices"] or len(order["devices"]) * order["share"] == node.gpus * WHOLE
