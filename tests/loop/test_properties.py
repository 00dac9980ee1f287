"""What never happens, and what always happens in the end, in small towns with random work and mishaps."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec
from hypothesis import given, settings

from clearway.model.states import State
from tests.loop.town import Arrival, Town, Truth, Workload
from tests.loop.workloads import workloads

if TYPE_CHECKING:
    from clearway.model.job import JobSpec

EXAMPLES = int(os.environ.get("CLEARWAY_EXAMPLES", "150"))

few = settings(max_examples=EXAMPLES)


def over_or_hopeless(town: Town) -> None:
    """Every job is over, or could not start even if it were alone, or waits for one of these; everything is free."""
    left = town.world.jobs
    for entry in left.values():
        assert entry.state == State.PENDING, entry.spec
        assert entry.after & left.keys() or not starts_alone(town.workload, entry.spec), entry.spec
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


# --- eventually ----------------------------------------------------------------------------------


@given(workloads())
@few
def test_in_the_end_every_job_is_over_or_can_never_start(workload: Workload) -> None:
    town = Town(workload)
    town.live()
    town.heal()
    town.settle()
    over_or_hopeless(town)
