"""Random organisations: trees of queues, policies that take, and jobs that shrink, wait and depend on each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from clearway.model.fleet import NodeSpec, PolicySpec, QueueSpec
from clearway.model.job import WHOLE, Checkpoint, Demand, JobSpec, Role, Topology
from clearway.model.values import SECOND_US
from tests.loop.town import Arrival, Happening, Truth, Workload

if TYPE_CHECKING:
    from collections.abc import Sequence

FOUR = 4  # devices of a node with two islands
NAMES = ("default", "a", "b", "c", "d")
ORDERS = (("fifo",), ("priority", "fifo"), ("fair", "fifo"), ("fair", "priority", "fifo"), ("sjf", "fifo"), ("las",))
MIXES = (
    (("fair", "priority"), (2, 1)),
    (("fair", "fifo", "priority", "sjf"), (1, 3600, 1, 1)),
    (("edf", "las", "priority", "srtf"), (1, 2, 3, 1)),
    (("largest", "wfp3"), (1, 1)),
)
CAUSES = ("priority", "reclaim", "fair", "time_slice")
CALMER = ("lose", "back", "drain", "undrain", "cancel", "suspend", "resume", "restart", "queue", "queue", "priority")


def amounts(gpus: int | None) -> tuple[tuple[str, int], ...]:
    return () if gpus is None else (("gpus", gpus * WHOLE),)


@st.composite
def queues(draw: st.DrawFn) -> tuple[QueueSpec, ...]:
    """Up to four queues besides the default one, some below others."""
    made: list[QueueSpec] = []
    for i, name in enumerate(NAMES[1:]):
        parent = draw(st.sampled_from(["", "", *NAMES[1 : i + 1]]))
        made.append(
            QueueSpec(
                name,
                parent,
                amounts(draw(st.sampled_from([None, None, 0, 1, 2, 4]))),
                amounts(draw(st.sampled_from([None, None, None, 3, 5]))),
                weight=draw(st.integers(0, 2)),
                borrow=draw(st.integers(0, 5)) > 0,
                lend=draw(st.integers(0, 5)) > 0,
                order=draw(st.sampled_from([(), (), (), ("sjf",), ("priority", "fifo")])),
            )
        )
    return tuple(made)


@st.composite
def policies(draw: st.DrawFn, causes: Sequence[str] = CAUSES) -> PolicySpec:
    """Policies that may take for some causes."""
    chosen = [cause for cause in causes if draw(st.booleans())]
    order, weights = draw(st.sampled_from([*((one, ()) for one in ORDERS * 2), *MIXES]))
    return PolicySpec(
        order=order,
        weights=weights,
        backfill=draw(st.sampled_from(["none", "easy", "conservative"])),
        preempt=tuple(chosen),
        priority_inheritance=draw(st.booleans()),
        fairness_measure=draw(st.sampled_from(["gpu", "gpu", "dominant"])),
        min_runtime_us=draw(st.sampled_from([0, 0, 7 * SECOND_US])),
        calm_us=draw(st.sampled_from([0, 5 * SECOND_US, 60 * SECOND_US])),
        time_slice_us=draw(st.sampled_from([None, 10 * SECOND_US])),
        half_life_us=draw(st.sampled_from([None, None, 10 * SECOND_US, 3600 * SECOND_US])),
        ageing_us=draw(st.sampled_from([None, None, 7 * SECOND_US])),
    )


WHOLE_DEVICES = tuple(Demand(gpus=gpus) for gpus in (1, 1, 2, 3))
PARTS = (Demand(share=300), Demand(share=600), Demand(gpus=1, colocate=1), Demand(gpus=2, colocate=2))


@st.composite
def specs(draw: st.DrawFn, number: int) -> JobSpec:
    """A job of whole devices mostly, rigid or elastic, alone or a gang, with or without checkpoints."""
    tasks = draw(st.sampled_from([1, 1, 1, 2, 3, 4]))
    role = Role(
        "task", tasks, draw(st.integers(1, tasks)), draw(st.sampled_from(WHOLE_DEVICES * 2 + PARTS)),
        one_per_node=draw(st.integers(0, 5)) == 0,
    )  # fmt: skip
    estimate = draw(st.sampled_from([None, 5, 20, 60]))
    return JobSpec(
        f"j{number}", (role,), queue=draw(st.sampled_from(NAMES)), priority=draw(st.integers(0, 2)),
        after=(f"j{draw(st.integers(0, number - 1))}",) if number and draw(st.integers(0, 5)) == 0 else (),
        time_estimate_us=None if estimate is None else estimate * SECOND_US,
        preemptible=draw(st.integers(0, 5)) > 0,
        checkpoint=Checkpoint(every_us=draw(st.sampled_from([0, 2 * SECOND_US]))),
        max_losses=10,
        topology=draw(st.sampled_from([*[Topology()] * 6, Topology("nvlink"), Topology("rack"), Topology("zone")])),
    )  # fmt: skip


truths = st.tuples(st.lists(st.integers(1, 40), min_size=1, max_size=2), st.sampled_from([0, 0, 3, 12])).map(
    lambda drawn: Truth(runs_s=tuple(drawn[0]), stop_s=drawn[1])
)
happenings = st.builds(Happening, st.integers(1, 80), st.sampled_from(CALMER), st.integers(0, 7), st.integers(0, 7))


@st.composite
def workloads(
    draw: st.DrawFn, most_jobs: int = 10, most_happenings: int = 4, causes: Sequence[str] = CAUSES
) -> Workload:
    """A small fleet that is asked for more than it has."""
    fleet = draw(st.lists(st.sampled_from([1, 2, 4]), min_size=1, max_size=3))
    many = draw(st.integers(2, most_jobs))
    moments = sorted(draw(st.lists(st.integers(0, 40), min_size=many, max_size=many)))
    return Workload(
        nodes=tuple(
            NodeSpec(f"n{i}", gpus=gpus, links=((0, 1), (2, 3)) if gpus == FOUR else (), rack=f"r{i // 2}", zone="z")
            for i, gpus in enumerate(fleet)
        ),
        policy=draw(policies(causes)),
        arrivals=tuple(Arrival(at_s, draw(specs(number)), draw(truths)) for number, at_s in enumerate(moments)),
        queues=draw(queues()),
        happenings=tuple(draw(st.lists(happenings, max_size=most_happenings))),
    )
