"""Names mean nothing: jobs, nodes and queues that are called otherwise are decided about alike, by every policy."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.loop.test_properties import QUICK_TO_STOP
from tests.loop.town import Arrival, Town
from tests.policies.organisations import NAMES, workloads

if TYPE_CHECKING:
    from clearway.model.fleet import QueueSpec
    from clearway.model.job import JobSpec
    from tests.loop.town import Workload

few = settings(max_examples=int(os.environ.get("CLEARWAY_EXAMPLES", "30")), phases=QUICK_TO_STOP)


def renamed(workload: Workload, names: list[str]) -> Workload:
    """Give every node, job and queue but the default one another name; queues enter in another order."""
    named = {"": "", **dict(zip(NAMES[1:], names, strict=True)), "default": "default"}

    def spec(one: JobSpec) -> JobSpec:
        after = tuple(f"z{name}" for name in one.after)
        return replace(one, name=f"z{one.name}", after=after, queue=named[one.queue])

    def queue(one: QueueSpec) -> QueueSpec:
        return replace(one, name=named[one.name], parent=named[one.parent])

    nodes = tuple(replace(node, name=f"{'zyxw'[i]}{node.name}") for i, node in enumerate(workload.nodes))
    arrivals = tuple(Arrival(one.at_s, spec(one.spec), one.truth) for one in workload.arrivals)
    kept = tuple(one for one in workload.happenings if one.kind != "queue")  # they choose a queue by its name
    return workload._replace(nodes=nodes, arrivals=arrivals, queues=tuple(map(queue, workload.queues)), happenings=kept)


@given(workloads(), st.permutations(["p", "q", "r", "s"]))
@few
def test_other_names_change_nothing(workload: Workload, names: list[str]) -> None:
    kept = tuple(one for one in workload.happenings if one.kind != "queue")
    town, other = Town(workload._replace(happenings=kept)), Town(renamed(workload, names))
    town.live()
    other.live()
    assert other.starts() == {f"z{name}": starts for name, starts in town.starts().items()}
    assert other.ends() == {f"z{name}": end for name, end in town.ends().items()}
