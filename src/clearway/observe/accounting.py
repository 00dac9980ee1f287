"""Accounts: what tenants, users or queues held in a time, for how much money, how long they waited, how jobs ended.

All amounts are whole numbers until they are shown: milli-GPU times microseconds, and millionths of money per hour times
millionths of a node times microseconds. What is held at both ends of the time counts for the part that lies within it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from clearway.loop.costs import part
from clearway.model import events as ev
from clearway.model.flow_events import Reopened
from clearway.model.job import WHOLE
from clearway.model.needs import sized
from clearway.model.states import End, State
from clearway.model.use import over_asked
from clearway.model.values import MICROS, SECOND_US

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from clearway.loop.world import World
    from clearway.model.events import Grant, Record
    from clearway.model.fleet import NodeSpec
    from clearway.model.ids import JobId, NodeId
    from clearway.model.job import JobSpec
    from clearway.model.use import Used

HOUR_US = 3600 * SECOND_US
BY = ("tenant", "user", "queue")
ENDS = (State.SUCCEEDED, State.FAILED, State.CANCELLED)
MILLION = 10**6


@dataclass(slots=True)
class Account:
    """What one of them came to. `lost`: the part of what was held in attempts that did not succeed.

    `measured`: the part of which is known how much was really used, and `used` is that. `over`: the part for which
    there was no use at all from the start of a task to its end, at `over_cost`; None where nothing tells.
    """

    held: int = 0
    measured: int = 0
    used: int = 0
    lost: int = 0
    cost: int = 0
    over: int | None = None
    over_cost: int = 0
    waits: int = 0
    waited_us: int = 0
    ends: dict[str, int] = field(default_factory=lambda: {str(state): 0 for state in ENDS})

    def row(self, name: str) -> dict[str, Any]:
        """Return it in hours and money. `used_gpu_hours` is null where nothing was measured, else of what was."""
        return {
            "name": name,
            "gpu_hours": self.held / WHOLE / HOUR_US,
            "lost_gpu_hours": self.lost / WHOLE / HOUR_US,
            "measured_gpu_hours": self.measured / WHOLE / HOUR_US,
            "used_gpu_hours": self.used / WHOLE / HOUR_US if self.measured else None,
            "over_asked_gpu_hours": None if self.over is None else self.over / WHOLE / HOUR_US,
            "over_asked_cost": None if self.over is None else _money(self.over_cost),
            "cost": _money(self.cost),
            "starts": self.waits,
            "mean_wait": None if not self.waits else self.waited_us / self.waits / SECOND_US,
            **self.ends,
        }


def _money(cost: int) -> float:
    return round(cost / (HOUR_US * MILLION * MICROS), 6)


@dataclass(slots=True)
class Hold:
    """What one task holds: thousandths of a GPU since a moment, and its price.

    Of so many devices, or of so much memory of one where it holds nothing else of it.
    """

    node: NodeId
    since_us: int
    milli: int
    price: int
    devices: int = 0
    gpu_memory: int = 0


@dataclass(slots=True)
class _Live:
    spec: JobSpec
    waits_us: int | None
    holds: dict[tuple[int, int], Hold] = field(default_factory=dict)
    held: int = 0


class Accounts:
    """A fold over records from one moment on. Memory grows with what is alive, not with what has been."""

    def __init__(self, world: World, from_us: int, by: str) -> None:
        """Begin with the world as it was at `from_us`."""
        self._of: Callable[[JobSpec], str] = lambda spec: str(getattr(spec, by))
        self._from_us = self.now_us = from_us
        self._nodes: dict[NodeId, NodeSpec] = {}
        self._jobs: dict[JobId, _Live] = {}
        self.accounts: dict[str, Account] = {}
        ledger = world.ledger
        for entry in world.jobs.values():
            for grant in entry.held.values():
                self._nodes[grant.node] = ledger.specs[grant.node]
        for node in world.state.nodes.values():
            self._nodes[node] = ledger.specs[node]
        for entry in world.jobs.values():
            if entry.spec.array is None:
                waits = entry.waiting_since_us if entry.state is State.PENDING else None
                live = self._jobs[entry.id] = _Live(entry.spec, waits)
                for grant in entry.held.values():
                    self._hold(live, grant)

    def apply(self, record: Record) -> None:
        """Take the next record."""
        self.now_us = max(self.now_us, record.at_us)
        match record:
            case ev.NodeAdded():
                self._nodes[record.node] = record.spec
            case ev.NodeLost() | ev.NodeRemoved():
                self._free_node(record.node)
            case ev.Submitted() | Reopened():
                if record.spec.array is None:
                    self._jobs[record.job] = _Live(record.spec, getattr(record, "since_us", 0) or record.at_us)
            case ev.Sized():
                self._size(record)
            case ev.TaskEnded():
                self._free(record.task.job, (record.task.role, record.task.index), record.used)
            case (
                ev.Started() | ev.Resized() | ev.Changed() | ev.AttemptEnded() | ev.Requeued() | ev.Ended()
            ):  # fmt: skip
                live = self._jobs.get(record.job)
                if live is not None:
                    self._of_job(live, record)
            case _:
                pass  # it holds nothing and ends nothing

    def close(self, to_us: int) -> list[dict[str, Any]]:
        """Count what is held to the end of the time, and return the accounts, the largest first."""
        self.now_us = to_us
        for live in self._jobs.values():
            for key in list(live.holds):
                self._release(live, key)
        rows = [account.row(name) for name, account in self.accounts.items()]
        return sorted(rows, key=lambda row: (-row["gpu_hours"], row["name"]))

    def _of_job(
        self, live: _Live, record: ev.Started | ev.Resized | ev.Changed | ev.AttemptEnded | ev.Requeued | ev.Ended
    ) -> None:
        match record:
            case ev.Started():
                live.held = 0
                if live.waits_us is not None:
                    account = self._account(live)
                    account.waits += 1
                    account.waited_us += record.at_us - live.waits_us
                live.waits_us = None
                for grant in record.grants:
                    self._hold(live, grant)
            case ev.Resized():
                for grant in record.more:
                    self._hold(live, grant)
            case ev.Changed():
                for key, hold in list(live.holds.items()):  # what it held so far was on the old one's account
                    self._release(live, key)
                    live.holds[key] = replace(hold, since_us=self.now_us)
                live.spec = record.spec
            case ev.AttemptEnded():
                for key in list(live.holds):
                    self._release(live, key)
                if record.end is not End.SUCCEEDED:
                    self._account(live).lost += live.held
            case ev.Requeued():
                live.waits_us = record.at_us
            case ev.Ended():
                ends = self._account(live).ends
                ends[str(record.state)] = ends.get(str(record.state), 0) + 1
                del self._jobs[record.job]

    def _size(self, record: ev.Sized) -> None:
        if (live := self._jobs.get(record.job)) is not None:
            live.spec = sized(live.spec, record.needs)

    def _account(self, live: _Live) -> Account:
        return self.accounts.setdefault(self._of(live.spec), Account())

    def _hold(self, live: _Live, grant: Grant) -> None:
        node, demand = self._nodes[grant.node], live.spec.roles[grant.role].demand
        milli = grant.share * len(grant.devices)
        if not milli and grant.gpu_memory and node.gpu_memory:
            milli = grant.gpu_memory * WHOLE * len(grant.devices) // node.gpu_memory
        price = node.price_micros * part(node, grant, demand) if node.price_micros else 0
        memory = 0 if grant.share else grant.gpu_memory
        live.holds[grant.role, grant.index] = Hold(grant.node, self.now_us, milli, price, len(grant.devices), memory)

    def _free(self, job: JobId, key: tuple[int, int], used: Used | None) -> None:
        live = self._jobs.get(job)
        if live is not None and key in live.holds:
            self._release(live, key, used)

    def _free_node(self, node: NodeId) -> None:
        for live in self._jobs.values():
            for key in [key for key, hold in live.holds.items() if hold.node == node]:
                self._release(live, key)

    def _release(self, live: _Live, key: tuple[int, int], used: Used | None = None) -> None:
        hold = live.holds.pop(key)
        length = self.now_us - hold.since_us
        account = self._account(live)
        account.held += hold.milli * length
        if used is not None and used.busy is not None:
            account.measured += hold.milli * length
            account.used += hold.milli * length * used.busy // WHOLE
        over = None if used is None else over_asked(used, hold.devices, hold.gpu_memory)
        if over is not None:
            account.over = (account.over or 0) + hold.milli * length * over // WHOLE
            account.over_cost += hold.price * length * over // WHOLE
        account.cost += hold.price * length
        live.held += hold.milli * length
        self._released(live.spec, hold)

    def _released(self, spec: JobSpec, hold: Hold) -> None:
        """Be told what was held until now; for folds that look at more than sums."""


def accounts(world: World, records: Iterable[Record], by: str, from_us: int, to_us: int) -> list[dict[str, Any]]:
    """Return the accounts of a time from the world at its beginning and the records since."""
    fold = Accounts(world, from_us, by)
    for record in records:
        if record.at_us > to_us:
            break
        fold.apply(record)
    return fold.close(to_us)
