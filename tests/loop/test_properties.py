"""What never happens, and what always happens in the end, in small towns with random work and mishaps."""

from __future__ import annotations

import os

from hypothesis import given, settings

from clearway.model.reasons import Code
from tests.loop.town import Town, Workload, reasons
from tests.loop.workloads import workloads

EXAMPLES = int(os.environ.get("CLEARWAY_EXAMPLES", "150"))

few = settings(max_examples=EXAMPLES)


def over_or_hopeless(town: Town) -> None:
    """Every job is over, or says that it can never start; everything is free."""
    for entry in town.world.jobs.values():
        why = reasons(town.world, entry)[0]
        hopeless = why.code == Code.NEVER_FITS or (why.code == Code.QUEUE_LIMIT and why.get("need") > why.get("limit"))
        assert hopeless or why.code == Code.AFTER, (entry.spec, entry.state, why)
    ledger = town.world.ledger
    for row, free in enumerate(ledger.free):
        assert (free[: ledger.count] == ledger.cap[row][: ledger.count]).all()


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
