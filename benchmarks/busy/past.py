"""What is long over: many jobs one after the other on each device, in a controller's own records."""

from __future__ import annotations

import random
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from benchmarks.busy.shapes import DEVICES
from clearway.model import events as ev
from clearway.model.events import Grant
from clearway.model.ids import JobId, NodeId
from clearway.model.reasons import Code, because
from clearway.model.states import End, State
from clearway.model.values import MILLI

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.busy.shapes import Draw
    from clearway.model.events import Record

SECOND_US = 1_000_000
LANES = 4  # each holds two devices of a node
STAGGER_US = 3600 * SECOND_US
ENDINGS = ((0.90, End.SUCCEEDED), (0.94, End.FAILED), (0.97, End.PREEMPTED), (1.0, End.TIMED_OUT))


def past(many: int, nodes: int, draw: Draw, from_us: int, to_us: int) -> Iterator[list[Record]]:
    """Yield the records of jobs that ran from one moment to another, in order, in lists of some thousands.

    Each lane of two devices runs one job after the other, so that no device ever holds two.
    """
    chance = random.Random(11)
    lanes = nodes * LANES
    mean_us = (to_us - from_us) * lanes // max(1, many)
    soon: list[tuple[int, int, int]] = []
    for lane in range(lanes):
        heappush(soon, (from_us + chance.randrange(min(STAGGER_US, mean_us)), lane, 0))
    ends: list[tuple[int, int, Record, Record]] = []
    found: list[Record] = []
    number = 0
    while number < many and soon:
        at_us, lane, _ = heappop(soon)
        number += 1
        while ends and ends[0][0] <= at_us:
            _, _, *over = heappop(ends)
            found += over
        length_us = round(mean_us * (0.2 + 1.5 * chance.random()))
        job = JobId(number)
        found += _begun(job, draw, lane, at_us)
        until_us = min(at_us + length_us, to_us - 1)
        heappush(ends, (until_us, number, *_over(job, until_us, chance.random())))
        if until_us < to_us - 1:
            heappush(soon, (until_us + round(mean_us * 0.05), lane, 0))
        if len(found) > 5000:  # noqa: PLR2004  one list
            yield found
            found = []
    while ends:
        _, _, *over = heappop(ends)
        found += over
    yield found


def _begun(job: JobId, draw: Draw, lane: int, at_us: int) -> list[Record]:
    node, part = divmod(lane, LANES)
    width = DEVICES // LANES
    devices = tuple(range(part * width, (part + 1) * width))
    grant = Grant(0, 0, NodeId(node), devices, MILLI)
    cause = because(Code.PLACED, node=node)
    return [ev.Submitted(at_us, job, draw.pair(job)), ev.Started(at_us, job, 1, (grant,), cause)]


def _over(job: JobId, at_us: int, how: float) -> tuple[Record, Record]:
    end = next(end for limit, end in ENDINGS if how <= limit)
    code = {End.SUCCEEDED: Code.EXITED, End.FAILED: Code.EXITED, End.TIMED_OUT: Code.TIME_LIMIT}.get(
        end, Code.PREEMPTED
    )
    cause = because(code, exit_code=0 if end is End.SUCCEEDED else 1) if code is Code.EXITED else because(code)
    state = {End.SUCCEEDED: State.SUCCEEDED, End.PREEMPTED: State.CANCELLED}.get(end, State.FAILED)
    return ev.AttemptEnded(at_us, job, 1, end, cause), ev.Ended(at_us, job, state, cause)
