"""Past use in random organisations: it follows from the grants alone, and a rebuilt world remembers the same."""

from __future__ import annotations

import math
import os
from collections import defaultdict
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from clearway.core.memory import WIDE
from clearway.model import events as ev
from clearway.model.asks import SetPolicy
from clearway.model.fleet import PolicySpec
from clearway.model.values import SECOND_US
from clearway.testing.builders import Bench, job, node, rebuild
from tests.loop.test_properties import QUICK_TO_STOP
from tests.loop.town import Town
from tests.policies.organisations import workloads

if TYPE_CHECKING:
    from clearway.loop.world import Step, World
    from clearway.model.asks import Ask
    from clearway.ports.engine import Report
    from tests.loop.town import Workload

few = settings(max_examples=int(os.environ.get("CLEARWAY_EXAMPLES", "30")), phases=QUICK_TO_STOP)
HALF_US = 20 * SECOND_US


def remembered(world: World) -> dict[str, dict[str, int]]:
    queues = world.state.view.queues
    return {name: {k: v for k, v in queues.past(name).items() if v} for name in sorted(queues.specs)}


class RememberingTown(Town):
    """A town that adds up by itself, from the grants between one turn and the next, what each queue has held."""

    def __init__(self, workload: Workload) -> None:
        self.past: defaultdict[str, float] = defaultdict(float)
        self.held: dict[str, int] = {}
        self.seen_us = 0
        super().__init__(workload)

    def turn(self, *more: Ask | Report) -> Step:
        left = math.exp2(-(self.clock.now_us() - self.seen_us) / HALF_US)
        for queue in {*self.past, *self.held}:
            held = self.held.get(queue, 0)
            self.past[queue] = held + (self.past[queue] - held) * left
        self.seen_us = self.clock.now_us()
        step = super().turn(*more)
        self._compare()
        self.held = self._hold()
        return step

    def _hold(self) -> dict[str, int]:
        found: defaultdict[str, int] = defaultdict(int)
        for entry in self.world.jobs.values():
            milli = sum(entry.spec.roles[grant.role].demand.milli_gpus for grant in entry.held.values())
            queue = entry.spec.queue
            while queue:
                found[queue] += milli
                queue = self.world.queues[queue].parent
        return dict(found)

    def _compare(self) -> None:
        for queue, levels in remembered(self.world).items():
            assert levels.get("gpus", 0) / (1 << WIDE) == pytest.approx(self.past[queue], rel=1e-6, abs=1e-3), queue
        twin = rebuild(self.journal, self.workload.policy)
        twin.step([], self.clock.now_us())
        assert remembered(twin) == remembered(self.world)


@given(workloads())
@few
def test_what_is_remembered_follows_from_the_grants_and_is_the_same_after_a_restart(workload: Workload) -> None:
    RememberingTown(workload._replace(policy=replace(workload.policy, half_life_us=HALF_US))).live()


# --- by hand -------------------------------------------------------------------------------------


def past_gpus(bench: Bench) -> float:
    return remembered(bench.world)["default"].get("gpus", 0) / (1 << WIDE) / 1000


def test_memory_begins_with_the_policy_goes_on_by_another_half_life_and_ends() -> None:
    bench = Bench(node(gpus=4))
    bench.submit(job(gpus=4))
    bench.at(100)
    policy = PolicySpec(half_life_us=100 * SECOND_US)
    bench.step(SetPolicy(policy))
    assert past_gpus(bench) == 0, "what was before is not known"
    bench.at(200)
    assert past_gpus(bench) == pytest.approx(2)
    bench.step(SetPolicy(policy))
    assert past_gpus(bench) == pytest.approx(2), "the same policy again forgets nothing"
    bench.step(SetPolicy(replace(policy, half_life_us=1000 * SECOND_US)))
    bench.at(1200)
    assert past_gpus(bench) == pytest.approx(3)
    bench.step(SetPolicy(PolicySpec()))
    assert remembered(bench.world)["default"] == {}


def test_what_stands_still_or_stops_slowly_is_still_held() -> None:
    bench = Bench(node(gpus=4), policy=PolicySpec(half_life_us=100 * SECOND_US))
    (number,) = bench.submit(job(gpus=4))
    bench.up(number)
    bench.at(100)
    bench.end(number)
    assert bench.all(ev.Ended)
    assert past_gpus(bench) == pytest.approx(2)
    bench.at(200)
    assert past_gpus(bench) == pytest.approx(1)
