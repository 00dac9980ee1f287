"""When capacity comes back: the table of expected ends against counting by hand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clearway.core.devices import pick
from clearway.core.forecasts import Forecasts
from clearway.core.ledger import Held, Ledger
from clearway.core.place import grant_of
from clearway.core.places import Places
from clearway.core.profile import Ends, Table
from clearway.core.turns import apart
from clearway.model.events import Grant
from clearway.model.fleet import PolicySpec
from clearway.model.ids import JobId, NodeId
from clearway.model.job import Demand, Role
from clearway.policies.registry import rules_for
from clearway.testing.builders import GIB, node

DEMANDS = (
    Demand(gpus=1), Demand(gpus=2, cpus=5000), Demand(share=300, gpu_memory=10 * GIB), Demand(share=500),
    Demand(gpu_memory=30 * GIB), Demand(cpus=6000),
    Demand(gpus=1, colocate=2), Demand(gpus=2, colocate=1, gpu_memory=30 * GIB),
)  # fmt: skip
NOW = 1000


def count_by_hand(held: list[tuple[Held, int]], gpus: list[int], role: Role, until_us: int) -> list[int]:
    """Return how many tasks each node has room for, by filling a copy of it with one after the other."""
    found = []
    for number, devices in enumerate(gpus):
        ledger = Ledger()
        ledger.add_node(NodeId(0), node(gpus=devices))
        for one, end_us in held:
            if one.grant.node == number and end_us > until_us:
                ledger.take(grant_of(ledger, 0, 0, NodeId(0), one.grant.devices, one.demand), one.demand)
        many, mine = 0, list[Grant]()
        while many < role.tasks:
            free = all(ledger.free[row][0] >= amount for row, amount in ledger.needs_of(role.demand))
            within = apart(ledger, 0, None, mine) if role.demand.colocate else None
            picked = pick(ledger, NodeId(0), role.demand, within=within)
            if not free or picked is None:
                break
            mine.append(grant_of(ledger, 0, 0, NodeId(0), picked, role.demand))
            ledger.take(mine[-1], role.demand)
            many += 1
        found.append(min(many, 1) if role.one_per_node else many)
    return found


@given(
    gpus=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    running=st.lists(st.tuples(st.sampled_from(DEMANDS), st.integers(0, 3), st.integers(1, 60)), max_size=10),
    demand=st.sampled_from(DEMANDS),
    one_each=st.booleans(),
    later=st.integers(0, 70),
)
def test_the_table_counts_as_one_would_by_hand(
    gpus: list[int], running: list[tuple[Demand, int, int]], demand: Demand, *, one_each: bool, later: int
) -> None:
    ledger = Ledger()
    for number, many in enumerate(gpus):
        ledger.add_node(NodeId(number), node(f"n{number}", gpus=many))
    ends = Ends(ledger, Forecasts())
    held: list[tuple[Held, int]] = []
    for number, (needs, where, runs_us) in enumerate(running):
        at = NodeId(where % len(gpus))
        devices = pick(ledger, at, needs)
        if devices is None or any(ledger.free[row][at] < amount for row, amount in ledger.needs_of(needs)):
            continue
        one = Held(grant_of(ledger, 0, 0, at, devices, needs), needs)
        ledger.take(one.grant, needs)
        ledger.register(JobId(number), [one])
        ends.add(JobId(number), [one], NOW, runs_us)
        held.append((one, NOW + runs_us))
    role = Role(tasks=6, min_tasks=1, demand=demand, one_per_node=one_each)
    places = Places(ledger, rules_for(PolicySpec()), demand)
    places.refresh()
    table = Table(ledger, ends, NOW)
    assert table.slots(places, role, NOW + later).tolist() == count_by_hand(held, gpus, role, NOW + later)
