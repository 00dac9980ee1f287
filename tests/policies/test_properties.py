"""What never happens when jobs may stop one another, and what always happens in the end."""

from __future__ import annotations

import os

from hypothesis import given, settings

from clearway.model import events as ev
from clearway.model.states import End
from tests.loop.test_properties import QUICK_TO_STOP, over_or_hopeless
from tests.loop.town import Town, Workload
from tests.policies.laws import LawfulTown
from tests.policies.organisations import workloads

few = settings(max_examples=int(os.environ.get("CLEARWAY_EXAMPLES", "30")), phases=QUICK_TO_STOP)


@given(workloads())
@few
def test_the_laws_of_taking_hold_at_every_record(workload: Workload) -> None:
    LawfulTown(workload).live()


@given(workloads())
@few
def test_a_rebuilt_world_takes_from_the_same(workload: Workload) -> None:
    Town(workload, twins=lambda step: step % 2 == 0).live()


@given(workloads(causes=("priority", "reclaim", "fair")))
@few
def test_in_the_end_every_job_is_over_or_can_never_start(workload: Workload) -> None:
    town = LawfulTown(workload)
    town.live()
    town.heal()
    town.settle()
    over_or_hopeless(town)


@given(workloads(causes=()))
@few
def test_without_causes_nobody_is_stopped(workload: Workload) -> None:
    town = Town(workload)
    town.live()
    assert not [r for r in town.journal if isinstance(r, ev.AttemptEnded) and r.end == End.PREEMPTED]
