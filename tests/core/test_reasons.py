"""Why a job finds no place: the counts of a reason add up to the fleet."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clearway.model.asks import Drain
from clearway.model.job import Demand, JobSpec, Role
from clearway.model.reasons import Code, Reason
from clearway.ports.engine import NodeIsQuiet
from clearway.testing.builders import GIB, Bench, node

CAUSES = (
    "down", "drained", "wrong_model", "wrong_label", "wrong_spot", "tainted", "unhealthy", "too_small", "short_gpus",
    "short_share", "short_gpu_memory", "short_cpus", "short_memory", "short_disk", "short_bandwidth",
)  # fmt: skip

kinds: st.SearchStrategy[dict[str, object]] = st.builds(
    dict, gpus=st.integers(0, 3), gpu_model=st.sampled_from(["A100", "T4"]), taints=st.sampled_from([(), ("kept",)]),
    spot=st.booleans(), zone=st.sampled_from(["", "z1"]),
)  # fmt: skip
demands = st.sampled_from([
    Demand(gpus=2), Demand(gpus=1, gpu_models=("T4",)), Demand(gpus=1, nodes=(("zone", "z1"),)), Demand(share=600),
    Demand(gpus=1, spot="avoid"), Demand(cpus=17_000), Demand(gpu_memory=60 * GIB), Demand(gpus=1, tolerates=("kept",)),
])  # fmt: skip


@given(
    st.lists(kinds, min_size=1, max_size=5),
    st.lists(demands, min_size=2, max_size=8),
    st.integers(0, 4),
    st.integers(0, 4),
)
def test_every_node_is_counted_once(
    fleet: list[dict[str, object]], asked: list[Demand], drained: int, quiet: int
) -> None:
    nodes = [node(f"n{i}", **words) for i, words in enumerate(fleet)]  # type: ignore[arg-type]
    bench = Bench(*nodes)
    bench.step(Drain(nodes[drained % len(nodes)].name))
    bench.step(NodeIsQuiet(nodes[quiet % len(nodes)].name))
    for number, demand in enumerate(asked):
        (one,) = bench.submit(JobSpec(f"j{number}", (Role(demand=demand),)))
        if one in bench.world.jobs and bench.waits(one):
            _adds_up(bench.waits(one)[0], len(nodes))


def _adds_up(why: object, nodes: int) -> None:
    assert isinstance(why, Reason)
    if why.code not in (Code.NO_CAPACITY, Code.NEVER_FITS):
        return
    assert why.get("nodes") == nodes
    failing = sum(int(why.get(cause, 0)) for cause in CAUSES)
    assert failing == nodes, (failing, why)
