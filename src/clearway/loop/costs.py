"""What a job costs: the price of the nodes that it holds a part of, for the time that it holds it, in all attempts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.loop.timers import Due, Timer
from clearway.model.fleet import PLENTY
from clearway.model.job import WHOLE

if TYPE_CHECKING:
    from clearway.loop.entry import JobEntry
    from clearway.loop.state import WorldState
    from clearway.model.events import Grant
    from clearway.model.fleet import NodeSpec
    from clearway.model.job import Demand

HOUR_MS = 3_600_000
MILLION = 10**6
FINE = 10**6
"""A rate is a price in millionths of money per hour times the part of the node in thousandths; by this, times
microseconds, it becomes what `spent` counts: millionths of money times milliseconds, over an hour."""


def count(state: WorldState, entry: JobEntry, now_us: int) -> None:
    """Count what a job has cost so far, and see from now on to what it holds now. Only where it may cost so much."""
    if entry.spec.max_cost_micros is None:
        return
    entry.spent = spent(entry, now_us)
    specs, roles = state.view.ledger.specs, entry.spec.roles
    entry.rate = sum(
        specs[grant.node].price_micros * part(specs[grant.node], grant, roles[grant.role].demand) * WHOLE // MILLION
        for grant in entry.held.values()
    )
    entry.rate_since_us = now_us
    if entry.rate:
        left = max(entry.spec.max_cost_micros * HOUR_MS - entry.spent, 0)
        state.timers.add(Timer(now_us - (-left * FINE // entry.rate), Due.COST, entry.id, entry.attempt))


def spent(entry: JobEntry, now_us: int) -> int:
    """Return what a job has cost by now, in the unit above."""
    return entry.spent + entry.rate * (now_us - entry.rate_since_us) // FINE


def used_up(entry: JobEntry, now_us: int) -> bool:
    """Return whether a job has cost all that it may."""
    most = entry.spec.max_cost_micros
    return most is not None and spent(entry, now_us) >= most * HOUR_MS


def part(spec: NodeSpec, grant: Grant, demand: Demand) -> int:
    """Return which part of a node a task pays for, in millionths: that of its devices or CPUs, whichever is larger.

    All of it where neither can be told.
    """
    found = []
    if grant.devices and spec.gpus:
        held, of = (grant.share, WHOLE) if grant.share else (grant.gpu_memory, spec.gpu_memory)
        found.append(len(grant.devices) * held * MILLION // (of * spec.gpus) if of else MILLION)
    if demand.cpus and spec.cpus < PLENTY:
        found.append(demand.cpus * MILLION // spec.cpus)
    return max(found, default=MILLION)
