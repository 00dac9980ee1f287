"""What a job waits for that is no room: others that go first, jobs before it, a moment, a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.core.profile import NEVER
from clearway.loop.verbs import outside_reasons
from clearway.model.outlook import Holder, Lack
from clearway.model.reasons import Code

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.loop.entry import JobEntry
    from clearway.loop.world import World
    from clearway.model.ids import JobId
    from clearway.model.reasons import Reason


def outside_lacks(world: World, entry: JobEntry, reasons: Sequence[Reason] = ()) -> tuple[Lack, ...]:
    """Return what a job waits for, by its reasons: those it has outside the line, or those of its class."""
    found = (_lack(world, entry, reason) for reason in reasons or outside_reasons(world, entry))
    return tuple(lack for lack in found if lack is not None)


def _lack(world: World, entry: JobEntry, reason: Reason) -> Lack | None:
    match reason.code:
        case Code.BEHIND | Code.RESERVATION:
            return _order(world, reason)
        case Code.CLEARING:
            return Lack("order", lifts=("ended",))
        case Code.BOOKED:
            until = int(reason.get("to_us", 0)) or None
            return Lack("booking", str(reason.get("booking")), lifts=("ended",), until_us=until)
        case Code.AFTER:
            before = [_holder(world, job) for job in sorted(entry.after) if job in world.jobs]
            return Lack("dependency", str(reason.get("jobs")), holders=tuple(before), lifts=("ended",))
        case Code.FROZEN:
            return Lack("victim", str(reason.get("first")), lifts=("ended",), until_us=int(reason.get("until_us", 0)))
        case Code.RETRY_DELAY:
            return Lack("time", until_us=entry.not_before_us)
        case Code.HELD:
            return Lack("person", str(reason.get("by")), lifts=("released",))
        case _:
            return None


def _order(world: World, reason: Reason) -> Lack:
    name = str(reason.get("first"))
    job = world.job_named(name)
    holders = () if job is None or job not in world.jobs else (_holder(world, job),)
    start = int(reason.get("start_us", 0)) or None
    return Lack("order", name, holders=holders, lifts=("started", "ended"), until_us=start)


def _holder(world: World, job: JobId) -> Holder:
    entry, expected = world.jobs[job], world.state.view.ends.jobs.get(job)
    until = None if expected is None or expected.end_us >= NEVER else expected.end_us
    return Holder(job, entry.spec.name, entry.spec.queue, 0, until)
