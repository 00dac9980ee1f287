"""What a bridge thinks that others hold must not be what it is holding itself at that moment."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

pytest.importorskip("ray", reason="the extra `ray` is not installed")

from clearway.engines.ray.cluster import Place
from clearway.engines.ray.nodes import RayNode
from clearway.engines.ray.places import STEADY_S, Places

NODE = RayNode("ab", "n1", "127.0.0.2", {"GPU": 4.0}, {})
ORDER: dict[str, Any] = {"task": "1.1.0.0", "devices": [0], "share": 1000, "bundle": {"GPU": 1.0}}


class SlowCluster:
    """What Ray's head answers, when it is told to: the part of a cluster that cannot be made slow from outside."""

    def __init__(self) -> None:
        self.held, self.answers = threading.Event(), threading.Event()

    def hold(self, name: str, node: RayNode, bundle: dict[str, float], patience_s: float) -> Place:
        assert (node, patience_s > 0) == (NODE, True)
        self.held.set()
        self.answers.wait(10)
        return Place(name, None, bundle)

    async def given(self, _place: Place) -> list[int]:
        return [0]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
async def test_a_node_is_not_looked_at_while_something_is_held_there() -> None:
    cluster = SlowCluster()
    places = Places(cluster)  # type: ignore[arg-type]  # what is used of it here
    assert places.steady(NODE.number, time.monotonic())
    holding = asyncio.create_task(places.hold(ORDER, NODE))
    await asyncio.to_thread(cluster.held.wait, 10)
    later = time.monotonic() + 60  # however long it takes
    assert not places.steady(NODE.number, later)
    cluster.answers.set()
    assert await holding
    assert not places.steady(NODE.number, time.monotonic())
    assert places.steady(NODE.number, time.monotonic() + STEADY_S + 0.1)
