"""Random workloads for a small town, as Hypothesis draws them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from hypothesis import strategies as st
from msgspec.structs import replace

from clearway.model.array import Array
from clearway.model.fleet import LimitSpec, NodeSpec, PolicySpec, QueueSpec
from clearway.model.job import Checkpoint, Demand, JobSpec, Role, Topology
from clearway.model.values import SECOND_US
from tests.loop.town import Arrival, Happening, Truth, Workload

if TYPE_CHECKING:
    from collections.abc import Callable

GIB = 2**30
SMALL = "1g.10gb"
TWO = 2  # devices of a node of which every second has one that is cut into slices
FOUR = 4  # devices of a node with two islands
KINDS = ("lose", "cut", "back", "back", "sick", "drain", "undrain", "cancel", "suspend", "resume", "restart", "again")
QUEUES = (
    QueueSpec("org", limit=(("gpus", 6000),)),
    QueueSpec("vision", "org", guarantee=(("gpus", 2000),), limit=(("gpus", 4000), ("cpus", 12_000))),
    QueueSpec("speech", "org", guarantee=(("gpus", 1000),), weight=2),
)
LIMITS = (LimitSpec("db", 1), LimitSpec("net", 2))
TAKING = PolicySpec(order=("fair", "priority", "fifo"), preempt=("priority", "reclaim", "fair"), calm_us=5 * SECOND_US)
POLICIES = (
    PolicySpec(),
    PolicySpec(backfill="none"),
    PolicySpec(share_memory="proportional", preempt=("priority",)),
    PolicySpec(order=("fifo",), backfill="conservative"),
    PolicySpec(preempt=("priority",), priority_inheritance=True, min_runtime_us=3 * SECOND_US),
    TAKING,
    msgspec.structs.replace(TAKING, half_life_us=20 * SECOND_US, ageing_us=10 * SECOND_US, priority_inheritance=True),
    PolicySpec(order=("fair", "sjf"), preempt=("time_slice", "reclaim"), time_slice_us=10 * SECOND_US, calm_us=0),
)


def nodes() -> st.SearchStrategy[tuple[NodeSpec, ...]]:
    """Two to four nodes of two models."""
    kinds = st.sampled_from([(4, "A100"), (2, "A100"), (1, "T4"), (0, "")])
    return st.lists(kinds, min_size=2, max_size=4).map(
        lambda many: tuple(
            NodeSpec(
                f"n{i}", cpus=8000, memory=32 * GIB, gpus=gpus, gpu_model=model, gpu_memory=16 * GIB,
                links=((0, 1), (2, 3)) if gpus == FOUR else (), rack=f"r{i // 2}", disk=GIB, bandwidth=4000,
                slices=((1, SMALL), (1, SMALL), (1, "2g.20gb")) if gpus == TWO and i % 2 else (),
            )
            for i, (gpus, model) in enumerate(many)
        )
    )  # fmt: skip


demands = st.one_of(
    st.builds(Demand, gpus=st.integers(1, 3), cpus=st.sampled_from([0, 1000])),
    st.builds(Demand, share=st.sampled_from([250, 500, 700]), gpu_memory=st.sampled_from([0, 4 * GIB])),
    st.builds(Demand, gpu_memory=st.sampled_from([6 * GIB, 10 * GIB])),
    st.builds(Demand, cpus=st.sampled_from([1000, 5000]), memory=st.sampled_from([0, 20 * GIB])),
    st.just(Demand(gpus=1, gpu_models=("T4",))),
    st.just(Demand(slice=SMALL)),
    st.builds(
        Demand, gpus=st.integers(1, 2), colocate=st.integers(1, 3), gpu_memory=st.sampled_from([0, 6 * GIB]),
    ),
    st.builds(Demand, gpus=st.just(1), inputs=st.sampled_from([(("a", GIB),), (("a", GIB), ("b", GIB // 2))])),
)  # fmt: skip
topologies = st.sampled_from([
    *[Topology()] * 4, Topology("nvlink"), Topology("node"), Topology("rack"), Topology(prefer="nvlink"),
    Topology("rack", "nvlink"),
])  # fmt: skip


@st.composite
def roles(draw: st.DrawFn) -> tuple[Role, ...]:
    """One role mostly, sometimes two; sometimes fewer tasks will do, of a second role perhaps none."""
    many = draw(st.integers(1, 3))
    first = Role("task", many, draw(st.integers(1, many)), draw(demands), one_per_node=draw(st.integers(0, 4)) == 0)
    if draw(st.integers(0, 3)):
        return (first,)
    helpers = draw(st.integers(1, 2))
    return first, Role("helper", helpers, draw(st.integers(0, helpers)), draw(demands))


@st.composite
def specs(draw: st.DrawFn, number: int) -> JobSpec:
    """One job that may wait for an earlier one."""
    seconds = st.sampled_from([None, 5, 20, 60]).map(lambda s: None if s is None else s * SECOND_US)
    return JobSpec(
        f"j{number}",
        draw(roles()),
        queue=draw(st.sampled_from(["default", "org", "vision", "speech"])),
        priority=draw(st.integers(0, 2)),
        uses=draw(st.sampled_from([(), (), ("db",), ("db", "net")])),
        after=(f"j{draw(st.integers(0, number - 1))}",) if number and draw(st.integers(0, 4)) == 0 else (),
        time_limit_us=draw(seconds),
        time_estimate_us=draw(seconds),
        start_deadline_us=60 * SECOND_US if draw(st.integers(0, 7)) == 0 else None,
        deadline_us=70 * SECOND_US,
        on_deadline="stop" if draw(st.integers(0, 9)) == 0 else "report",
        max_retries=draw(st.integers(0, 2)),
        retry_on=draw(st.sampled_from([(), (), ("timed_out",), ("exit 1", "lost"), ("failed", "timed_out")])),
        retry_jitter=draw(st.sampled_from(["none", "full"])),
        retry_window_us=30 * SECOND_US if draw(st.integers(0, 5)) == 0 else None,
        max_losses=draw(st.sampled_from([0, 10])),
        topology=draw(topologies),
        array=draw(st.sampled_from([None] * 6 + [Array(((0, 2, 1),)), Array(((1, 7, 2), (9, 9, 1)), 2)])),
        preemptible=draw(st.integers(0, 4)) > 0,
        checkpoint=draw(st.sampled_from([Checkpoint(), Checkpoint(5 * SECOND_US), Checkpoint(on_stop=True)])),
    )


truths = st.builds(
    Truth,
    runs_s=st.lists(st.integers(0, 40), min_size=1, max_size=2).map(tuple),
    exits=st.sampled_from([(0,), (0,), (1, 0), (7,)]),
    stop_s=st.sampled_from([0, 0, 3]),
    error_in=st.sampled_from([0, 0, 0, 0, 1]),
)


def _many(make: Callable[[int], st.SearchStrategy[JobSpec]], most: int) -> st.SearchStrategy[tuple[Arrival, ...]]:
    def arrivals(many: int) -> st.SearchStrategy[tuple[Arrival, ...]]:
        each = [st.builds(Arrival, st.integers(0, 40), make(number), truths) for number in range(many)]
        return st.tuples(*each).map(_in_order)

    return st.integers(2, most).flatmap(arrivals)


def _in_order(arrivals: tuple[Arrival, ...]) -> tuple[Arrival, ...]:
    """Give the moments out in order, so that a job enters after the one whose name it may wait for."""
    moments = sorted(arrival.at_s for arrival in arrivals)
    return tuple(arrival._replace(at_s=at_s) for arrival, at_s in zip(arrivals, moments, strict=True))


happenings = st.builds(Happening, st.integers(1, 80), st.sampled_from(KINDS), st.integers(0, 7), st.integers(0, 7))


def workloads(most_jobs: int = 10, most_happenings: int = 8) -> st.SearchStrategy[Workload]:
    """Jobs of all kinds, with mishaps."""
    return st.builds(
        Workload,
        nodes=nodes(),
        policy=st.sampled_from(POLICIES),
        arrivals=_many(specs, most_jobs),
        queues=st.just(QUEUES),
        limits=st.just(LIMITS),
        happenings=st.lists(happenings, max_size=most_happenings).map(tuple),
        doubled=st.sampled_from([0, 0, 500]),
    ).map(_no_arrays_in_turns)


def _no_arrays_in_turns(workload: Workload) -> Workload:
    """Nothing in this town really saves its work: three jobs that are alike would take turns for ever."""
    if workload.policy.time_slice_us is None:
        return workload
    single = [one._replace(spec=replace(one.spec, array=None)) for one in workload.arrivals]
    return workload._replace(arrivals=tuple(single))
