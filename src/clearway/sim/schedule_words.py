"""The `schedules` of a scenario: their words, and what really happens at each start of their jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from clearway.flow.schedule_words import read_schedule
from clearway.model.errors import InputError
from clearway.model.flow import ScheduleSpec
from clearway.sim.batch import NAME_RULE, RESERVED
from clearway.sim.flow_words import FlowEntry
from clearway.sim.truth import TRUTH_WORDS, Truth, read_truth

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

EXTRA = frozenset(TRUTH_WORDS) - {"cancel_after"}


class ScheduleEntry(msgspec.Struct, frozen=True, eq=False):
    """One of the file's schedules; `flow` is the workflow that it runs, if it runs one."""

    spec: ScheduleSpec
    truth: Truth
    flow: FlowEntry | None = None

    def at_start(self, number: int) -> Truth:
        """Return what happens to the attempt that is the schedule's start of this number, from 1."""
        truth = self.truth
        times = truth.runtimes_us and (truth.runtimes_us[min(number, len(truth.runtimes_us)) - 1],)
        return msgspec.structs.replace(truth, runtimes_us=times, exit_codes=(truth.exit_code(number),))


def read_entry(
    raw: object,
    flows: Mapping[str, FlowEntry],
    defaults: Callable[[str], Mapping[str, object]],
    *,
    ends: bool,
) -> ScheduleEntry:
    """Read one entry of `schedules`. `ends`: the scenario has an end, so that a schedule need not have one."""
    job = raw.get("job") if isinstance(raw, dict) else None
    words = job if isinstance(job, dict) else {}
    queue = words.get("queue", "default")
    specs = {name: entry.spec for name, entry in flows.items()}
    spec = read_schedule(raw, specs, defaults(queue if isinstance(queue, str) else ""), EXTRA)
    if RESERVED & set(spec.name):
        raise InputError("name", spec.name, NAME_RULE, "schedules")
    if spec.to_us is None and not ends:
        raise InputError("until", None, "a scenario with a schedule that has no `to` needs an end", spec.name)
    return ScheduleEntry(spec, read_truth(words), flows.get(spec.flow.name) if spec.flow else None)
