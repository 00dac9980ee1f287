"""What never happens, and what always happens in the end, in small towns with random work and mishaps."""

from __future__ import annotations

import os

import msgspec
from hypothesis import Phase, given, settings

from clearway.model import events as ev
from clearway.model.fleet import PolicySpec
from clearway.model.job import JobSpec
from clearway.model.states import State
from clearway.model.values import SECOND_US
from tests.loop.town import Arrival, Town, Truth, Workload
from tests.loop.workloads import workloads

QUICK_TO_STOP = (Phase.explicit, Phase.reuse, Phase.generate)
"""A failure is shown as found: making it smaller takes minutes."""
EXAMPLES = int(os.environ.get("CLEARWAY_EXAMPLES", "100"))

few = settings(max_examples=EXAMPLES, phases=QUICK_TO_STOP)


def over_or_hopeless(town: Town) -> None:
    """Every job is over, or could not start even if it were alone, or waits for one of these; everything is free."""
    left, queues = town.world.jobs, town.world.state.view.queues
    by_depth = sorted(queues.specs.values(), key=lambda spec: len(queues.chain(spec.name)))
    now = town.workload._replace(queues=tuple(by_depth))  # they may have been changed since
    for entry in left.values():
        assert entry.state == State.PENDING, entry.spec
        assert entry.after & left.keys() or not starts_alone(now, entry.spec), entry.spec
    ledger = town.world.ledger
    for row, free in enumerate(ledger.free):
        assert (free[: ledger.count] == ledger.cap[row][: ledger.count]).all()


def starts_alone(workload: Workload, spec: JobSpec) -> bool:
    alone = msgspec.structs.replace(spec, after=())
    town = Town(workload._replace(arrivals=(Arrival(0, alone, Truth()),), happenings=()))
    town.live()
    return bool(town.starts())


# --- never ---------------------------------------------------------------------------------------


@given(workloads())
@few
def test_no_step_breaks_anything(workload: Workload) -> None:
    Town(workload).live()


@given(workloads())
@few
def test_a_rebuilt_world_decides_the_same(workload: Workload) -> None:
    Town(workload, twins=lambda step: step % 3 == 0).live()


@given(workloads())
@few
def test_a_world_from_snapshot_and_tail_is_the_one_from_the_whole_journal(workload: Workload) -> None:
    Town(workload, copies=lambda step: step % 2 == 0).live()


# --- eventually ----------------------------------------------------------------------------------


@given(workloads())
@few
def test_in_the_end_every_job_is_over_or_can_never_start(workload: Workload) -> None:
    town = Town(workload)
    town.live()
    town.heal()
    town.settle(5_000)
    over_or_hopeless(town)


# --- promises ------------------------------------------------------------------------------------


def exact(arrival: Arrival) -> Arrival:
    """Have a job run exactly as long as it says, once, and hold back nobody for another reason."""
    runs_s = max(arrival.truth.runs_s[0], 1)
    spec = JobSpec(
        arrival.spec.name,
        tuple(msgspec.structs.replace(role, min_tasks=role.tasks) for role in arrival.spec.roles),
        time_estimate_us=runs_s * SECOND_US,
    )
    return Arrival(arrival.at_s, spec, Truth((runs_s,)))


@given(workloads(12, 0))
@few
def test_where_estimates_are_exact_the_first_in_line_starts_as_promised_or_sooner(workload: Workload) -> None:
    arrivals = tuple(exact(arrival) for arrival in workload.arrivals)
    alike = tuple(msgspec.structs.replace(node, gpus=4, gpu_model="T4") for node in workload.nodes)
    town = Town(Workload(alike, PolicySpec(order=("fifo",)), arrivals))
    town.live()
    town.settle()
    promised: dict[int, int] = {}
    waiting: list[int] = []
    for record in town.journal:
        if isinstance(record, ev.Joined):
            waiting.append(record.job)
        elif isinstance(record, ev.Started):
            waiting.remove(record.job)
            assert record.at_us <= promised.get(record.job, record.at_us)
        elif isinstance(record, ev.Reserved) and record.grants and record.job == min(waiting):
            promised.setdefault(record.job, record.start_us)


# --- sameness ------------------------------------------------------------------------------------


def renamed(workload: Workload) -> Workload:
    """Give every node and job another name."""

    def spec(one: JobSpec) -> JobSpec:
        return msgspec.structs.replace(one, name=f"z{one.name}", after=tuple(f"z{name}" for name in one.after))

    nodes = tuple(
        msgspec.structs.replace(node, name=f"{'zyxw'[i]}{node.name}") for i, node in enumerate(workload.nodes)
    )
    arrivals = tuple(Arrival(one.at_s, spec(one.spec), one.truth) for one in workload.arrivals)
    return workload._replace(nodes=nodes, arrivals=arrivals, queues=(workload.queues[0], *workload.queues[:0:-1]))


@given(workloads())
@few
def test_names_and_the_order_of_queues_change_nothing(workload: Workload) -> None:
    town, other = Town(workload), Town(renamed(workload))
    town.live()
    other.live()
    assert other.starts() == {f"z{name}": starts for name, starts in town.starts().items()}
    assert other.ends() == {f"z{name}": end for name, end in town.ends().items()}
