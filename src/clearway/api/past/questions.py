"""What is asked about the past, worked out from the journal: by whoever has it open."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

import msgspec

from clearway.api.budgets import budget_row
from clearway.api.moments import FACE, iso
from clearway.loop.budgets import look
from clearway.model import values
from clearway.model.errors import InputError, NotFoundError
from clearway.model.events import ClassWaits
from clearway.model.ids import JobId
from clearway.observe.accounting import accounts
from clearway.observe.cycle_rows import decided_rows, turn_row
from clearway.observe.words import sentence

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.compose.past import PastOf
    from clearway.loop.world import World
    from clearway.model.events import Record
    from clearway.whatif.again import Again, Cycle

LENGTH = re.compile(r"[0-9.smhd ]+")
BY = ("tenant", "user", "queue")


def moment(name: str, text: str | None) -> int | None:
    """Return the moment that a word names, None for none; InputError where it is none."""
    return None if text is None else values.instant(name, text)


def job_of(world: World, ref: str) -> JobId:
    """Return the job that a number, a name, `id:N` or `name:NAME` meant in a world. NotFoundError: there was none."""
    kind, colon, rest = ref.partition(":")
    number = rest if colon and kind == "id" else ref
    known = number.isascii() and number.isdigit() and len(number) < 19  # noqa: PLR2004  it fits 64 bits
    if known and (int(number) in world.jobs or JobId(int(number)) in world.state.over):
        return JobId(int(number))
    named = world.job_named(rest if colon and kind == "name" else ref)
    if named is None:
        raise NotFoundError(f"there was no job {ref!r} then")
    return named


def report(past: PastOf, since: str, until: str | None, by: str) -> dict[str, Any]:
    """Account for what tenants, users or queues held from one moment to another, each also as so long ago."""
    now_us = time.time_ns() // 1000
    from_us = moment_ago("since", since, now_us)
    to_us = now_us if until is None else moment_ago("until", until, now_us)
    if from_us >= to_us:
        raise InputError("since", since, "a moment before that of `until`")
    rows = accounts(past.world_at(from_us), past.records_after(from_us), by, from_us, to_us)
    return {
        "from": iso(from_us), "to": iso(to_us), "by": by, "accounts": rows,
        "budgets": budgets(past, min(to_us, now_us)),
    }  # fmt: skip


def budgets(past: PastOf, at_us: int | None = None) -> list[dict[str, Any]]:
    """Tell how each budget stood at a moment (None: now) in its period."""
    now_us = time.time_ns() // 1000 if at_us is None else at_us
    return [budget_row(one) for one in look(past.world_at(now_us), now_us)]


def moment_ago(field: str, text: str, now_us: int) -> int:
    """Return the moment that a text names: a time, or how long ago."""
    if LENGTH.fullmatch(text):
        return max(now_us - values.duration(field, text), 0)
    return values.instant(field, text)


def compare(again: Again, since_us: int, until_us: int | None, number: int | None) -> dict[str, Any]:
    """Return how many cycles were decided again, and the first that came out otherwise."""
    cycles = records = 0
    first: Cycle | None = None
    for cycle in again.cycles(since_us=since_us, until_us=until_us):
        if number is not None and cycle.planned.cycle != number:
            if cycle.planned.cycle > number:
                break
            continue
        cycles, records = cycles + 1, records + len(cycle.records)
        if cycle.difference is not None:
            first = cycle
            break
    return {
        "cycles": cycles,
        "records": records,
        "unchecked": again.unchecked,
        "first_difference": None if first is None else _difference(first),
    }


def audit(
    past: PastOf, told: Callable[[int], None], since: str | None, until: str | None, number: int | None
) -> dict[str, Any]:
    """Decide again what the journal records, and compare. NotFoundError: there is no cycle of this number."""
    since_us, until_us = moment("from", since), moment("to", until)
    found = compare(past.again(told), since_us or 0, until_us, number)
    if number is not None and not found["cycles"]:
        raise _no_cycle(number)
    return found


def _difference(cycle: Cycle) -> dict[str, Any]:
    found = cycle.difference
    return {
        "cycle": cycle.planned.cycle,
        "at": iso(cycle.planned.at_us),
        "record": None if found is None else found.number,
        "recorded": None if found is None else _plain(found.recorded),
        "again": None if found is None else _plain(found.again),
        "text": "" if found is None else found.what or "the plan is another one",
    }


def _plain(record: Record | None) -> Any:  # noqa: ANN401 - JSON
    return msgspec.to_builtins(record)


def _no_cycle(number: int) -> NotFoundError:
    return NotFoundError(f"there is no cycle {number} in the journal that can be decided again")


def cycle(past: PastOf, told: Callable[[int], None], number: int | None, ref: str) -> dict[str, Any]:
    """Show one cycle whole: by its number, or (None) that in which a job started last."""
    if number is None:
        number = past.cycle_of(job_of(past.world_at(None), ref))
    again = past.again(told)
    for one in again.cycles(traced=number):
        if one.planned.cycle == number:
            return _shown(again.world, one)
    raise _no_cycle(number)


def _shown(world: World, cycle: Cycle) -> dict[str, Any]:
    def job_name(job: int) -> str:
        entry = world.jobs.get(job)  # type: ignore[call-overload]
        return str(job) if entry is None else entry.spec.name

    line = world.state.view.line
    members = {cls.id: [w.spec.name for w in cls.jobs.values() if not w.started] for cls in line.classes.values()}
    plan, reasons = cycle.planned, {cls.id: cls.reasons for cls in line.classes.values()}
    reasons |= {record.cls: record.reasons for record in cycle.records if isinstance(record, ClassWaits)}
    waits = {cls: "; ".join(sentence(reason, FACE.moment) for reason in told) for cls, told in reasons.items()}
    return {
        "cycle": plan.cycle,
        "at": iso(plan.at_us),
        "read": plan.revision,
        "policy": plan.policy,
        "seed": plan.seed,
        "same": cycle.difference is None,
        "considered": cycle.considered,
        "turns": [turn_row(turn, waits.get(turn.cls, "")) for turn in cycle.turns],
        "decided": decided_rows(cycle.records, job_name, world.node_name, members, FACE),  # type: ignore[arg-type]
    }
