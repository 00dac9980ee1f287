"""How fast short processes run through the engine, and how small the runner stays. The numbers are printed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from clearway.model.actions import Launch
from clearway.model.events import Grant
from clearway.model.ids import NodeId
from clearway.model.job import JobSpec
from clearway.ports.engine import TaskIsGone
from tests.engines.places import NODE, rss_bytes, task

if TYPE_CHECKING:
    from tests.engines.places import Place

pytestmark = pytest.mark.slow

TASKS = 600
AT_ONCE = 32
LEAST_PER_S = 40
"""What even a very busy machine must reach: a floor that catches a wait in the path, no measure of speed."""
MOST_RUNNER_BYTES = 20 * 2**20


def test_short_processes_a_second(place: Place) -> None:
    spec = JobSpec("short", run=("true",))
    waiting = [Launch(task(job), spec, Grant(0, 0, NodeId(0)), NODE, 0, 1) for job in range(1, TASKS + 1)]
    engine, running = place.talk.engine, 0
    codes: list[int | None] = []
    began = time.monotonic()
    while len(codes) < TASKS:
        more = waiting[: AT_ONCE - running]
        del waiting[: len(more)]
        engine.carry_out(more)
        engine.wait(1)
        ends = [report for report in engine.reports() if isinstance(report, TaskIsGone)]
        engine.acknowledge([end.task for end in ends])
        codes += [end.exit_code for end in ends]
        running += len(more) - len(ends)
    rate = TASKS / (time.monotonic() - began)
    size = rss_bytes(place.runner)
    print(f"\n{rate:.0f} short processes a second, the runner has {size / 2**20:.1f} MB")  # noqa: T201
    assert codes == [0] * TASKS
    assert rate > LEAST_PER_S
    assert size < MOST_RUNNER_BYTES
