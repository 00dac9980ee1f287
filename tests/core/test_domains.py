"""Jobs inside domains: the words, islands, and what holds for any mix of jobs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearway.core.domains import islands_of
from clearway.loop.world import World
from clearway.model.asks import ControllerUp, Submit
from clearway.model.errors import InputError
from clearway.model.events import Started
from clearway.model.fleet import PolicySpec
from clearway.model.job import LEVELS, Topology
from clearway.model.words import read_job
from clearway.ports.engine import NodeIsUp
from clearway.testing.builders import job, node

PAIRS = ((0, 1), (2, 3))


def test_the_words_are_read() -> None:
    found = read_job({"name": "j", "topology": {"require": "nvlink", "prefer": "rack"}})
    assert found.topology == Topology("nvlink", "rack")
    inputs = read_job({"name": "j", "inputs": ["b", {"name": "a", "size": "1GB"}]}).roles[0].demand.inputs
    assert inputs == (("a", 10**9), ("b", 0))


@pytest.mark.parametrize(
    "words",
    [{"topology": {"require": "near"}}, {"topology": "rack"}, {"topology": {"want": "rack"}}, {"inputs": [{"size": 1}]},
     {"inputs": ["a", "a"]}, {"inputs": 3}, {"inputs": [{"name": "a", "size": -1}]}],
)  # fmt: skip
def test_other_words_are_refused(words: dict[str, object]) -> None:
    with pytest.raises(InputError):
        read_job({"name": "j", **words})


def test_a_device_in_no_island_is_one_by_itself() -> None:
    assert islands_of(node(gpus=5, links=PAIRS), "nvlink") == (*PAIRS, (4,))
    assert islands_of(node(gpus=2), "pcie") == ((0,), (1,))


FLEET = [
    node(f"n{i}", gpus=4, links=PAIRS if i % 2 else ((0, 1, 2, 3),), numa=PAIRS, rack=f"r{i // 2}", zone=f"z{i // 4}")
    for i in range(8)
]
JOBS = st.lists(
    st.tuples(st.integers(1, 4), st.integers(1, 4), st.sampled_from(LEVELS), st.booleans()), min_size=1, max_size=12
)


@settings(max_examples=60, deadline=None)
@given(jobs=JOBS, backfill=st.sampled_from(["none", "easy", "conservative"]))
def test_a_required_domain_holds_all_devices(jobs: list[tuple[int, int, str, bool]], backfill: str) -> None:
    world = World(PolicySpec(backfill=backfill))
    world.step([ControllerUp(), *map(NodeIsUp, FLEET)], 0)
    specs = [
        job(f"j{i}", gpus, tasks, topology=Topology(**{"require" if must else "prefer": level}))
        for i, (gpus, tasks, level, must) in enumerate(jobs)
    ]
    step = world.step([Submit(tuple(specs))], 1)
    world.ledger.validate()
    started = {record.job: record for record in step.records if isinstance(record, Started)}
    for entry in world.jobs.values():
        record = started.get(entry.id)
        if record is None:
            assert entry.reasons or entry.cls is not None
        elif entry.spec.topology.require:
            places = {(world.node_name(g.node), d) for g in record.grants for d in g.devices}
            assert inside(places, entry.spec.topology.require)


def inside(places: set[tuple[str, int]], level: str) -> bool:
    """Judge by the words of the fleet alone."""
    nodes = {name for name, _ in places}
    specs = [spec for spec in FLEET if spec.name in nodes]
    if level in ("rack", "zone"):
        return len({getattr(spec, level) for spec in specs}) == 1
    if len(specs) > 1:
        return False
    devices = {d for _, d in places}
    if level == "node" or len(devices) == 1:
        return True
    stated = {"nvlink": specs[0].links, "pcie": specs[0].pcie, "numa": specs[0].numa}[level]
    return any(devices <= set(island) for island in stated)
