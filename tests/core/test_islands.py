"""Islands that nobody uses yet: what is said of a node beforehand is what happens there."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clearway.core.devices import pick
from clearway.core.islands import breaks_whole
from clearway.core.ledger import Ledger
from clearway.core.place import grant_of
from clearway.model.ids import NodeId
from clearway.model.job import Demand
from clearway.testing.builders import GIB, node

N = NodeId(0)
DEMANDS = (
    Demand(gpus=1), Demand(gpus=2), Demand(gpus=3), Demand(share=400), Demand(gpu_memory=20 * GIB),
    Demand(gpus=1, colocate=1), Demand(gpus=2, colocate=2),
)  # fmt: skip
LINKS = (((0, 1, 2, 3), (4, 5, 6, 7)), ((0, 1), (2, 3), (4, 5, 6)), ((0, 1, 2, 3, 4, 5, 6, 7),), ())


@given(
    links=st.sampled_from(LINKS),
    before=st.lists(st.sampled_from(DEMANDS), max_size=6),
    pinned=st.lists(st.integers(0, 7), max_size=3, unique=True),
    demand=st.sampled_from(DEMANDS),
)
def test_a_node_is_said_to_break_an_island_where_placing_does(
    links: tuple[tuple[int, ...], ...], before: list[Demand], pinned: list[int], demand: Demand
) -> None:
    ledger = Ledger()
    ledger.add_node(N, node(gpus=8, links=links))
    for device in pinned:
        ledger.take(grant_of(ledger, 0, 0, N, (device,), Demand(gpus=1)), Demand(gpus=1))
    for one in before:
        devices = pick(ledger, N, one)
        if devices is not None:
            ledger.take(grant_of(ledger, 0, 0, N, devices, one), one)
    free = {d for d in range(8) if ledger.held_share[0][d] == 0 and ledger.held_room[0][d] == 0}
    devices = pick(ledger, N, demand)
    if devices is None:
        return
    new = free & set(devices)
    if not any(new <= set(island) for island in (*links, *[(d,) for d in range(8)])):
        return  # it spans islands: nothing is said of that
    broken = any(free.issuperset(island) and 0 < len(new & set(island)) < len(island) for island in links)
    assert breaks_whole(ledger, demand, np.array([0])).tolist() == [broken]
