"""When capacity comes back: the expected ends of what runs, in columns, and the room of every node at a moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sortedcontainers import SortedList

from clearway.core.resources import GPUS
from clearway.core.turns import staying, takes_one_more
from clearway.model.fleet import PLENTY
from clearway.model.ids import JobId
from clearway.model.job import WHOLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from clearway.core.forecasts import Forecasts
    from clearway.core.ledger import Held, Ledger
    from clearway.core.line import WaitClass
    from clearway.core.places import Places
    from clearway.model.job import Demand, Role

NEVER = 1 << 62
OVERRUN_PARTS = 10  # what has overrun its estimate counts as ending a tenth of its run time later than now
FIRST_ROWS = 64
NO_JOB = JobId(1 << 62)  # sorts behind every job
ANY = 1 << 30  # as many tasks as anyone asks for


class Expected(NamedTuple):
    """When a job started, and when it is expected to end (NEVER: nobody knows)."""

    start_us: int
    end_us: int


class Columns:
    """Rows of integers that come and go, with one array per column; a freed row ends NEVER and is used again."""

    def __init__(self, width: int) -> None:
        """Begin empty with so many columns; the second is the end."""
        self.data = np.zeros((width, FIRST_ROWS), np.int64)
        self.data[1] = NEVER
        self._free = list(range(FIRST_ROWS - 1, -1, -1))

    def add(self, values: tuple[int, ...]) -> int:
        """Write a row and return its number."""
        if not self._free:
            many = self.data.shape[1]
            more = np.zeros_like(self.data)
            more[1] = NEVER
            self.data = np.concatenate([self.data, more], axis=1)
            self._free = list(range(2 * many - 1, many - 1, -1))
        row = self._free.pop()
        self.data[:, row] = values
        return row

    def remove(self, row: int) -> None:
        """Forget a row."""
        self.data[1, row] = NEVER
        self._free.append(row)


class Ends:
    """What each job holds until when: a row per task and resource, and a row per device."""

    def __init__(self, ledger: Ledger, forecasts: Forecasts) -> None:
        """Begin empty."""
        self._ledger, self._forecasts = ledger, forecasts
        self.jobs: dict[JobId, Expected] = {}
        self._amounts = Columns(5)  # start, end, node, row, amount
        self._devices = Columns(5)  # start, end, device slot, share, room
        self._order: SortedList[tuple[int, JobId]] = SortedList()
        self._rows: dict[JobId, tuple[list[int], list[int]]] = {}
        self._unwritten: dict[JobId, Sequence[Held]] = {}
        self._ordered: set[JobId] = set()  # those told to stop: their forecast says nothing any more

    def add(self, job: JobId, held: Sequence[Held], start_us: int, estimate_us: int | None) -> None:
        """Take note of a job that started, with all that it holds."""
        if estimate_us is None:
            self.jobs[job] = Expected(start_us, NEVER)
        else:
            self.jobs[job] = Expected(start_us, start_us + estimate_us)
            self._unwritten[job] = held

    def estimate(self, job: JobId, estimate_us: int | None) -> None:
        """Expect a job to run so long from its start (None: nobody knows): its words changed."""
        start_us = self.jobs[job].start_us
        self.remove(job)
        self.add(job, self._ledger.holdings[job], start_us, estimate_us)

    def expect(self, job: JobId, end_us: int) -> None:
        """Expect a job to end at another moment than its estimate says: it was told to stop."""
        self._erase(job)
        self._ordered.add(job)
        self.jobs[job] = Expected(self.jobs[job].start_us, end_us)
        self._unwritten[job] = self._ledger.holdings[job]

    def put_back(self, job: JobId, expected: Expected) -> None:
        """Expect a job that holds something to have started and to end at these moments."""
        self._erase(job)
        self.jobs[job] = expected
        if expected.end_us < NEVER:
            self._unwritten[job] = self._ledger.holdings[job]

    def rewrite(self, job: JobId) -> None:
        """Write the rows of a job anew when they are next asked for: its grants changed."""
        if self.jobs[job].end_us < NEVER:
            self._erase(job)
            self._unwritten[job] = self._ledger.holdings[job]

    def remove(self, job: JobId) -> None:
        """Forget a job whose grants are free."""
        self._erase(job)
        self._ordered.discard(job)
        self.jobs.pop(job, None)

    def _erase(self, job: JobId) -> None:
        """Take the rows of a job out, if they were ever written."""
        if self._unwritten.pop(job, None) is not None or job not in self._rows:
            return
        self._order.remove((self.jobs[job].end_us, job))
        amounts, devices = self._rows.pop(job)
        for row in amounts:
            self._amounts.remove(row)
        for row in devices:
            self._devices.remove(row)

    def moments(self, now_us: int) -> Sequence[tuple[int, JobId]]:
        """Return the known ends in order, each with its job; what has overrun counts as ending later than now."""
        if not self._order or self._order[0][0] > now_us:
            return self._order
        late = [(self._later(job, now_us), job) for _, job in self._order.irange(maximum=(now_us, NO_JOB))]
        return sorted([*late, *self._order.irange(minimum=(now_us, NO_JOB))])

    def end_of(self, job: JobId, now_us: int) -> int:
        """Return when a job is expected to end, later than now; NEVER where nobody knows."""
        end_us = self.jobs[job].end_us if job in self.jobs else NEVER
        return end_us if end_us > now_us else self._later(job, now_us)

    def _later(self, job: JobId, now_us: int) -> int:
        start_us, end_us = self.jobs[job]
        if job not in self._ordered:
            ran_us = self._forecasts.after(job, end_us - start_us, now_us - start_us)
            if ran_us is not None:
                return start_us + ran_us
        return now_us + max((now_us - start_us) // OVERRUN_PARTS, 1)

    def _go_on(self, now_us: int) -> None:
        """Have those that overran their forecast end at the next moment that it gives."""
        late = [] if not self._order else list(self._order.irange(maximum=(now_us, NO_JOB)))
        for _, job in late:
            if job not in self._ordered and self._forecasts.of(job) is not None:
                self.put_back(job, self.jobs[job]._replace(end_us=self._later(job, now_us)))

    def columns(self, now_us: int) -> tuple[Columns, Columns]:
        """Return the rows of amounts and of devices at a moment. Rows are written when someone first asks for them."""
        self._write()
        self._go_on(now_us)
        self._write()
        return self._amounts, self._devices

    def _write(self) -> None:
        for job, held in self._unwritten.items():
            expected, ledger = self.jobs[job], self._ledger
            amounts = [self._amounts.add((*expected, *row)) for one in held for row in amount_rows(ledger, one)]
            devices = [self._devices.add((*expected, *row)) for one in held for row in device_rows(one)]
            self._rows[job] = (amounts, devices)
            self._order.add((expected.end_us, job))
        self._unwritten.clear()


def amount_rows(ledger: Ledger, one: Held) -> list[tuple[int, int, int]]:
    """Return (node, row, amount) for what a grant holds of the node's resources other than devices."""
    return [(one.grant.node, row, amount) for row, amount in ledger.needs_of(one.demand) if row != GPUS]


DEVICE_STRIDE = 1 << 12  # device slots are numbered node * stride + number; no node has so many devices


def device_rows(one: Held) -> list[tuple[int, int, int]]:
    """Return (device slot, share, room) for each device that a grant holds (a part of)."""
    if one.demand.slice:
        return []
    if one.demand.colocate:
        share = room = 0  # the device is free when the last one goes: see Table
    elif one.demand.gpus:
        share, room = WHOLE, PLENTY
    else:
        share, room = one.grant.share, one.grant.gpu_memory
    return [(one.grant.node * DEVICE_STRIDE + d, share, room) for d in one.grant.devices]


class _Gone(NamedTuple):
    """What has ended by a moment: rows of amounts and of devices, and the nodes that they were on."""

    touched: NDArray[np.int64]
    amounts: NDArray[np.int64]
    devices: NDArray[np.int64]
    until_us: int


class _Rows(NamedTuple):
    """Rows in columns, and when each ends."""

    data: NDArray[np.int64]
    ends: NDArray[np.int64]

    def until(self, moment_us: int) -> _Rows:
        """Return the rows that end by a moment."""
        over = np.flatnonzero(self.ends <= moment_us)
        return _Rows(self.data.take(over, axis=1), self.ends.take(over))


class Table:
    """Everything that is expected to end, at one moment of looking: how much room there is at a later moment."""

    def __init__(self, ledger: Ledger, ends: Ends, now_us: int) -> None:
        """Lay out the rows."""
        self.ledger, self._expected, self._now_us = ledger, ends, now_us
        amounts, devices = ends.columns(now_us)
        self._all = [_Rows(rows.data, _ends(rows, now_us)) for rows in (amounts, devices)]
        self._near, self._near_us = self._all, now_us  # the rows that end by the farthest moment asked about so far
        self.moments = ends.moments(now_us)
        self._now: dict[tuple[Demand, bool], NDArray[np.int64]] = {}

    def by_role(self, cls: WaitClass, moment_us: int) -> list[NDArray[np.int64]]:
        """Return the room of each node for tasks of each role of a class at a moment."""
        return [self.slots(places, role, moment_us) for places, role in zip(cls.places, cls.spec.roles, strict=True)]

    def slots(self, places: Places, role: Role, until_us: int) -> NDArray[np.int64]:
        """Return how many tasks of a role each node has room for once all that ends by `until_us` is gone.

        Only nodes on which something ends by then are looked at again; the others have the room they have now.
        """
        many = self._room_now(places, role).copy()
        if until_us > self._near_us:
            self._near, self._near_us = [rows.until(until_us) for rows in self._all], until_us
        over, gone = (rows.until(until_us).data for rows in self._near)
        touched = np.unique(np.concatenate([over[2], gone[2] // DEVICE_STRIDE]))
        if len(touched):
            many[touched] = self._later(places, role, _Gone(touched, over, gone, until_us))
        return many

    def _room_now(self, places: Places, role: Role) -> NDArray[np.int64]:
        key = (places.demand, role.one_per_node)
        found = self._now.get(key)
        if found is None:
            found = self._now[key] = places.room_counts(one_each=role.one_per_node)
        return np.minimum(found, role.tasks)

    def _later(self, places: Places, role: Role, then: _Gone) -> NDArray[np.int64]:
        ledger, touched = self.ledger, then.touched
        many = np.where(places.may.take(touched), np.int64(ANY), 0)
        _, _, node, row, amount = then.amounts
        at = np.searchsorted(touched, node)
        for wanted, need in ledger.needs_of(role.demand):
            if wanted != GPUS:
                free = ledger.free[wanted].take(touched)
                mine = row == wanted
                np.add.at(free, at[mine], amount[mine])
                many = np.minimum(many, free // need)
        if role.demand.gpus or role.demand.one_device:
            many = np.minimum(many, self._by_devices(role, then))
        return np.minimum(np.maximum(many, 0), 1 if role.one_per_node else role.tasks)

    def _by_devices(self, role: Role, then: _Gone) -> NDArray[np.int64]:
        ledger, width, demand, touched = self.ledger, self.ledger.width, role.demand, then.touched
        shares = ledger.dev_share.reshape(-1, width).take(touched, axis=0)
        rooms = ledger.dev_room.reshape(-1, width).take(touched, axis=0)
        healthy = shares >= 0
        _, _, slot, share, room = then.devices
        at = (np.searchsorted(touched, slot // DEVICE_STRIDE), slot % DEVICE_STRIDE)
        np.add.at(shares, at, share)
        np.add.at(rooms, at, room)
        turns = self._turns(touched, shares, rooms, then.until_us)
        if demand.gpus:
            memory = ledger.device_memory.take(touched)[:, None]
            idle: NDArray[np.int64] = (healthy & (shares == WHOLE) & (rooms >= memory)).sum(axis=1)
            for line, device, on_it, room_left in turns if demand.colocate else ():
                enough = room_left >= demand.gpu_memory and bool(healthy[line, device])
                idle[line] += enough and takes_one_more(on_it, demand.colocate)
            whole: NDArray[np.int64] = idle // demand.gpus
            return whole
        rooms = np.minimum(rooms, ledger.device_memory.take(touched)[:, None])
        by_share = shares // demand.share if demand.share else np.full_like(shares, ANY)
        each = ledger.memory_of(demand, touched)
        each = each if isinstance(each, int) else np.maximum(each, 1)[:, None]
        by_room = by_share if isinstance(each, int) and not each else rooms // each
        fit = np.where(healthy, np.maximum(np.minimum(by_share, by_room), 0), 0)
        parts: NDArray[np.int64] = np.minimum(fit, ANY).sum(axis=1)
        return parts

    def _turns(
        self, touched: NDArray[np.int64], shares: NDArray[np.int64], rooms: NDArray[np.int64], until_us: int
    ) -> list[tuple[int, int, list[int], int]]:
        """Return (row of `touched`, device, who is still on it, memory left) of devices in time sharing.

        Those that all have left are made free.
        """
        ledger, found = self.ledger, []
        for at, node in enumerate(touched.tolist()) if ledger.turns.on else ():
            jobs = sorted(ledger.on_node[node]) if node in ledger.turns.on else []
            stay = [
                one
                for job in jobs
                if self._expected.end_of(job, self._now_us) > until_us
                for one in ledger.holdings[job]
                if one.grant.node == node
            ]
            on_it, memory = staying(stay), int(ledger.device_memory[node])
            for device in ledger.turns.on.get(node, ()):
                if device in on_it:
                    held = sum(one.grant.gpu_memory for one in stay if device in one.grant.devices)
                    found.append((at, device, on_it[device], memory - held))
                else:
                    shares[at, device] += WHOLE
                    rooms[at, device] = memory
        return found


def _ends(columns: Columns, now_us: int) -> NDArray[np.int64]:
    """Return each row's expected end, later than now."""
    start: NDArray[np.int64] = columns.data[0]
    end: NDArray[np.int64] = columns.data[1]
    if int(end.min()) > now_us:
        return end
    overrun = np.maximum((now_us - start) // OVERRUN_PARTS, 1)
    later: NDArray[np.int64] = np.where(end > now_us, end, now_us + overrun)
    return later
