"""Holding what was decided where Ray is slow, and gives something else: no real cluster does so when it is told to."""

from __future__ import annotations

import asyncio
import time
from threading import Event, Lock
from typing import Any

import pytest

pytest.importorskip("ray", reason="the extra `ray` is not installed")

from clearway.engines.ray.cluster import Place
from clearway.engines.ray.nodes import RayNode
from clearway.engines.ray.places import STEADY_S, Places

GPUS = 4
NODE = RayNode("ab", "n1", "127.0.0.2", {"GPU": float(GPUS)}, {})


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def order(index: int, *devices: int) -> dict[str, Any]:
    bundle = {"GPU": float(len(devices))}
    return {"task": f"1.1.0.{index}", "devices": list(devices), "share": 1000, "bundle": bundle}


class Ledger:
    """The ledger of a node: gives the lowest devices that are free, but first what `odd` says."""

    def __init__(self, *odd: int) -> None:
        self.free, self.odd = set(range(GPUS)), list(odd)
        self.asked, self.answers, self.looks = Event(), Event(), Event()
        self.lock = Lock()

    def hold(self, name: str, _node: RayNode, bundle: dict[str, float], _patience_s: float) -> Place | None:
        self.asked.set()
        self.answers.wait(10)
        with self.lock:
            found = [self.odd.pop(0)] if self.odd else sorted(self.free)[: int(bundle["GPU"])]
            if len(found) < bundle["GPU"]:
                return None
            self.free -= set(found)
        return Place(name, found, bundle)

    async def given(self, place: Place) -> list[int]:
        await asyncio.to_thread(self.looks.wait, 10)
        return list(place.group)

    def let_go(self, place: Place) -> None:
        with self.lock:
            self.free |= set(place.group)

    def available(self) -> dict[str, dict[str, float]]:
        return {NODE.number: {"GPU": float(len(self.free))}}


@pytest.mark.anyio
async def test_a_node_is_not_looked_at_while_something_is_held_there() -> None:
    ledger = Ledger()
    places = Places(ledger)  # type: ignore[arg-type]  # what is used of it here
    later = time.monotonic() + 60  # however long it takes
    assert places.steady(NODE.number, time.monotonic())
    holding = asyncio.create_task(places.hold(order(0, 0), NODE))
    await asyncio.to_thread(ledger.asked.wait, 10)
    assert not places.steady(NODE.number, later)
    ledger.answers.set()
    while not places.held:  # noqa: ASYNC110  it has no event
        await asyncio.sleep(0.01)
    assert not places.steady(NODE.number, later), "nobody knows yet which device it is"
    ledger.looks.set()
    assert await holding
    assert not places.steady(NODE.number, time.monotonic())
    assert places.steady(NODE.number, time.monotonic() + STEADY_S + 0.1)


@pytest.mark.anyio
async def test_tasks_that_got_each_others_devices_get_their_own() -> None:
    ledger = Ledger(1, 0)
    ledger.answers.set()
    ledger.looks.set()
    places = Places(ledger)  # type: ignore[arg-type]
    assert all(await asyncio.gather(places.hold(order(0, 0), NODE), places.hold(order(1, 1), NODE)))
    assert {key: held.place.group for key, held in places.held.items()} == {"1.1.0.0": [0], "1.1.0.1": [1]}
    assert ledger.free == {2, 3}


@pytest.mark.anyio
async def test_what_ray_gives_is_nobody_elses() -> None:
    ledger = Ledger()
    ledger.answers.set()
    ledger.looks.set()
    places = Places(ledger)  # type: ignore[arg-type]
    places.taken[NODE.number] = frozenset(range(GPUS))  # by a count that was old
    assert await places.hold(order(0, 0, 2), NODE)
    assert places.held["1.1.0.0"].place.group == [0, 2]
    assert ledger.free == {1, 3}
