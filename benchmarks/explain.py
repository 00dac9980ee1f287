"""What explaining costs: the part of a cycle's CPU time in which reasons are made.

The reasons of a cycle are made by a handful of functions of `core/cycle.py`; their time is taken while cycles run, and
set against that of the cycles. What is worked out only when somebody asks is measured by itself: a twin of the world,
and the outlook of one job.
"""

from __future__ import annotations

import statistics
import time
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

from benchmarks.decisions import BATCH, CHANGES, LINE_QUEUES, LIVE, MS_NS, PLAIN, Measured
from benchmarks.rig import Arrivals, CoreRig, LoopRig
from clearway.core import cycle
from clearway.model.fleet import QueueSpec
from clearway.model.states import State
from clearway.whatif.outlook import outlook
from clearway.whatif.twin import twin

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator

    from clearway.model.fleet import PolicySpec

TITLE = "the part of a cycle in which reasons are made, and what a question costs"
MAKERS = ("_waits", "_explain_new", "_cause", "_behind")
QUEUES = [QueueSpec(name) for name in LINE_QUEUES]
LINE = 20_000
LINE_CYCLES, BATCHES = 200, 6
ASKED, ASKED_LINE = 3, 2_000
HUNDRED = 100
KEYS = {
    "explain_percent_batched": "% of the CPU time of cycles with 1,000 ends and arrivals each, 85 % load",
    "explain_percent_waiting": f"% before {LINE:,} waiting jobs, {CHANGES} ends and arrivals a cycle",
    "live_explain_percent_waiting": "%, the same by the policy of a controller that is told none",
    "twin_ms": f"ms for a copy of a world of 10,000 nodes with {ASKED_LINE:,} waiting jobs, beside the loop",
    "outlook_ms": "ms for all that is said of one of them: median",
}


def run(args: Namespace) -> dict[str, Any]:  # noqa: ARG001 - the shape of a benchmark
    """Measure; CPU time of this process."""
    found: dict[str, Any] = {}
    batched = Measured(CoreRig(PLAIN), Arrivals(85), 85)
    batched.fill(85)
    with _clocked() as made:
        for _ in range(BATCHES):
            batched.turn(batched.ends(BATCH), batched.arrivals.draw(BATCH))
    found["explain_percent_batched"] = HUNDRED * sum(made) / sum(batched.spent_ns)
    found["explain_percent_waiting"] = _waiting(PLAIN)
    found["live_explain_percent_waiting"] = _waiting(LIVE)
    found |= _questions()
    return found


def _waiting(policy: PolicySpec) -> float:
    measured = Measured(CoreRig(policy, QUEUES), Arrivals(7, LINE_QUEUES), 7)
    _line_up(measured, LINE)
    with _clocked() as made:
        for _ in range(LINE_CYCLES):
            measured.turn(measured.ends(CHANGES), measured.arrivals.draw(CHANGES))
    return HUNDRED * sum(made) / sum(measured.spent_ns)


def _line_up(measured: Measured, line: int) -> None:
    while measured.rig.waiting < line:
        measured.turn([], measured.arrivals.draw(line - measured.rig.waiting))
    measured.settle()


def _questions() -> dict[str, float]:
    rig = LoopRig(PLAIN, QUEUES)
    _line_up(Measured(rig, Arrivals(7, LINE_QUEUES), 7), ASKED_LINE)
    begun = time.process_time_ns()
    twin(rig.world)
    copied = time.process_time_ns() - begun
    waiting = [job for job, entry in rig.world.jobs.items() if entry.state is State.PENDING]
    spent = []
    for job in waiting[:: len(waiting) // ASKED][:ASKED]:
        begun = time.process_time_ns()
        outlook(rig.world, job, rig.world.now_us)
        spent.append(time.process_time_ns() - begun)
    return {"twin_ms": copied / MS_NS, "outlook_ms": statistics.median(spent) / MS_NS}


@contextmanager
def _clocked() -> Iterator[list[int]]:
    """Have the functions that make reasons add their CPU time while within; calls inside one another count once."""
    made: list[int] = []
    inside = [0]
    before = {name: getattr(cycle._Cycle, name) for name in MAKERS}  # noqa: SLF001 - they are measured where they are
    for name, function in before.items():
        setattr(cycle._Cycle, name, _timed(function, made, inside))  # noqa: SLF001
    try:
        yield made
    finally:
        for name, function in before.items():
            setattr(cycle._Cycle, name, function)  # noqa: SLF001


def _timed(function: Callable[..., Any], made: list[int], inside: list[int]) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: object, **more: object) -> object:
        if inside[0]:
            return function(*args, **more)
        inside[0] = 1
        begun = time.perf_counter_ns()
        try:
            return function(*args, **more)
        finally:
            made.append(time.perf_counter_ns() - begun)
            inside[0] = 0

    return call
