"""No wake-up is lost: right after each step a world rebuilt from the journal finds nothing more to do."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings

from clearway.model import events as ev
from clearway.testing.builders import rebuild
from tests.loop.test_properties import QUICK_TO_STOP
from tests.loop.town import Town
from tests.policies.organisations import workloads

if TYPE_CHECKING:
    from clearway.loop.world import Step
    from clearway.model.asks import Ask
    from clearway.ports.engine import Report
    from tests.loop.town import Workload

EXAMPLES = int(os.environ.get("CLEARWAY_EXAMPLES", "25"))


class WakefulTown(Town):
    """A town whose world is compared with a rebuilt one after every turn."""

    def turn(self, *more: Ask | Report) -> Step:
        """Take a turn, and see that nothing was left to do at its moment."""
        step = super().turn(*more)
        twin = rebuild(self.journal, self.workload.policy)
        other = twin.step([], self.clock.now_us())
        missed = [r for r in other.records if isinstance(r, (ev.Started, ev.Stopping, ev.Resized))]
        assert not missed, (self.clock.now_us(), missed)
        return step


@given(workloads())
@settings(max_examples=EXAMPLES, deadline=None, phases=QUICK_TO_STOP, suppress_health_check=list(HealthCheck))
def test_a_rebuilt_world_finds_nothing_left_to_do(workload: Workload) -> None:
    WakefulTown(workload).live()
