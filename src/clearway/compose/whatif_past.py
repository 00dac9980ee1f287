"""The past that a what-if is asked about: the journal of a home, or a workload, whole or since a time."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from clearway.compose.history import records
from clearway.compose.past import past_of
from clearway.model import values
from clearway.model.errors import InputError, NotFoundError
from clearway.observe.moments import iso
from clearway.policies.registry import name_of, policy_named
from clearway.sim.workloads import open_workload
from clearway.sim.workloads.history import History
from clearway.whatif.past import header_of, write_part
from clearway.whatif.words import AGO

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from clearway.model.fleet import PolicySpec

DEFAULT_POLICY = "fair"


class Source(NamedTuple):
    """A workload file, what it is in words, the policy that held, and the moment in it from which jobs count."""

    workload: Path
    read: str
    policy: tuple[str, PolicySpec]
    first_us: int


def of_home(
    home: Path | None, since: str | None, warm_us: int, folder: Path, options: Mapping[str, object] | None = None
) -> Source:
    """Write what the journal of a home tells to a file; `options` are settings over those of its file.

    NotFoundError: there is no journal, or no job that is over.
    """
    with past_of(home, options) as past:
        floor, last, policy = past.floor(), past.last(), past.world_at(None).state.policy
    history = History(partial(records, home, options))
    begin_us = history.begin_us or 0
    since_us = _moment(since, time.time_ns() // 1000)
    from_us = 0 if since_us is None else max(0, since_us - warm_us - begin_us)
    out = folder / "journal.jsonl"
    part = write_part(history.arrivals(), history.header, out, from_us, begin_us)
    if part is None:
        raise NotFoundError("no job is over yet" if since is None else f"no job submitted since {since} is over")
    first, latest = (iso(begin_us + us, "seconds") for us in (part.begin_us, part.last_us))
    read = (
        f"the journal of this controller, records {floor + 1:,} to {last:,}: {part.jobs:,} jobs that are over, "
        f"submitted from {first} to {latest}{_rest(history)}"
    )
    first_us = 0 if since_us is None else max(0, since_us - begin_us - part.begin_us)
    return Source(out, read, (name_of(policy), policy), first_us)


def _rest(history: History) -> str:
    return f"; {history.unfinished:,} that are not over are left out" if history.unfinished else ""


def of_file(workload: Path, since: str | None, warm_us: int, folder: Path) -> Source:
    """Return a workload, or the part of it since a time, which counts back from its last submit."""
    policy = (DEFAULT_POLICY, policy_named(DEFAULT_POLICY))
    if since is None:
        return Source(workload, f"the workload {workload.name}", policy, 0)
    trace = open_workload(workload)
    last_us = max((arrival.at_us for arrival in trace.arrivals()), default=0)
    if not AGO.fullmatch(since) and trace.clock_us is None:
        raise InputError("since", since, "how long before the last submit, such as 30d: this workload has no clock")
    clock_us = trace.clock_us or 0
    since_us = max(0, (_moment(since, clock_us + last_us) or 0) - clock_us)
    out = folder / workload.name
    part = write_part(trace.arrivals(), header_of(trace), out, max(0, since_us - warm_us), trace.clock_us)
    if part is None:
        raise InputError("since", since, "a time after which jobs were submitted")
    read = f"the workload {workload.name} since {since}: {part.jobs:,} jobs with those that only fill the machines"
    return Source(out, read, policy, max(0, since_us - part.begin_us))


def _moment(since: str | None, now_us: int) -> int | None:
    if since is None:
        return None
    if AGO.fullmatch(since):
        return max(0, now_us - values.duration("since", since))
    return values.instant("since", since)
