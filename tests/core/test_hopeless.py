"""Who is told that no node can ever run it: exactly those whom the whole fleet, empty and in good order, could not."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from clearway.core.domains import ISLANDS, islands_of
from clearway.model.asks import Drain
from clearway.model.fleet import NodeSpec, PolicySpec
from clearway.model.job import LEVELS, JobSpec, Topology
from clearway.model.reasons import Code
from clearway.ports.engine import NodeIsQuiet, NodeIsUp
from clearway.testing.builders import Bench, job, node, role

WHOLE, PAIRS, THREE = ((0, 1, 2, 3),), ((0, 1), (2, 3)), ((0, 1, 2),)
FLEETS = st.lists(
    st.tuples(
        st.sampled_from([1, 2, 4]), st.sampled_from([(), WHOLE, PAIRS, THREE]), st.sampled_from(["", "r1", "r2"])
    ),
    min_size=1,
    max_size=4,
)
ASKED = st.tuples(st.integers(1, 4), st.integers(1, 4), st.sampled_from(["", *LEVELS]), st.booleans())
SHUT = st.lists(st.sampled_from(["", "drained", "quiet", "sick"]), min_size=4, max_size=4)


def _fleet(drawn: list[tuple[int, tuple[tuple[int, ...], ...], str]]) -> list[NodeSpec]:
    found = []
    for number, (gpus, links, rack) in enumerate(drawn):
        inside = tuple(tuple(d for d in island if d < gpus) for island in links)
        stated = tuple(island for island in inside if island)
        found.append(node(f"n{number}", gpus, links=stated, pcie=stated, numa=stated, rack=rack))
    return found


def _could(fleet: list[NodeSpec], gpus: int, tasks: int, level: str) -> bool:
    """Judge by the words of the fleet alone."""
    if level in ISLANDS and gpus * tasks > 1:
        rooms = [len(island) // gpus for spec in fleet for island in islands_of(spec, level)]
        return max(rooms) >= tasks
    groups: dict[str, int] = {}
    for spec in fleet:
        own = {"rack": spec.rack or spec.name, "zone": spec.zone or spec.name, "node": spec.name}
        key = own.get(level, "everywhere")
        groups[key] = groups.get(key, 0) + spec.gpus // gpus
    return max(groups.values()) >= tasks


@settings(max_examples=200, deadline=None)
@given(fleet=FLEETS, asked=ASKED, shut=SHUT)
def test_never_is_said_exactly_where_it_is_so(
    fleet: list[tuple[int, tuple[tuple[int, ...], ...], str]], asked: tuple[int, int, str, bool], shut: list[str]
) -> None:
    nodes, (gpus, tasks, level, preferred) = _fleet(fleet), asked
    bench = Bench(*nodes, policy=PolicySpec())
    for spec, how in zip(nodes, shut, strict=False):
        if how == "drained":
            bench.step(Drain(spec.name))
        elif how == "quiet":
            bench.step(NodeIsQuiet(spec.name))
        elif how == "sick":
            bench.step(NodeIsUp(spec, unhealthy=(0,)))
    topology = Topology(**{"prefer" if preferred else "require": level})
    (number,) = bench.submit(job("j", gpus, tasks, topology=topology))
    if bench.entry(number).held:
        return
    never = bench.waits(number)[0].code == Code.NEVER_FITS
    assert never != _could(nodes, gpus, tasks, "" if preferred else level), bench.waits(number)


def _two_roles(level: str) -> JobSpec:
    return job("j", roles=(role("a", gpus=2), role("b", gpus=2)), topology=Topology(level))


def test_roles_that_fit_one_domain_only_by_turns_never_fit() -> None:
    bench = Bench(node("n1", links=PAIRS), node("n2", links=PAIRS))
    (island,) = bench.submit(_two_roles("nvlink"))
    assert bench.waits(island)[0].code == Code.NEVER_FITS
    (whole,) = bench.submit(_two_roles("node"))
    assert bench.entry(whole).held


def test_a_drained_node_whose_domain_would_do_is_waited_for() -> None:
    bench = Bench(node("n1", links=WHOLE), node("n2", links=PAIRS))
    bench.step(Drain("n1"))
    (number,) = bench.submit(job("j", 4, topology=Topology("nvlink")))
    assert bench.waits(number)[0].code == Code.NO_CAPACITY
    bench.step(Drain("n1", drained=False))
    assert bench.entry(number).held


def test_a_drained_node_whose_domain_would_not_do_either_is_no_hope() -> None:
    bench = Bench(node("n1", links=PAIRS), node("n2", links=PAIRS))
    bench.step(Drain("n1"))
    (number,) = bench.submit(job("j", 4, topology=Topology("nvlink")))
    assert bench.waits(number)[0].code == Code.NEVER_FITS
