"""When capacity comes back: the expected ends of what runs, in columns, and the room of every node at a moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clearway.core.resources import GPUS
from clearway.model.job import WHOLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from clearway.core.ledger import Held, Ledger
    from clearway.core.places import Places
    from clearway.model.ids import JobId
    from clearway.model.job import Role

NEVER = 1 << 62
OVERRUN_PARTS = 10  # what has overrun its estimate counts as ending a tenth of its run time later than now
FIRST_ROWS = 64
ANY = 1 << 30  # as many tasks as anyone asks for


class Expected(NamedTuple):
    """When a job started, and when it is expected to end (NEVER: nobody knows)."""

    start_us: int
    end_us: int


class Columns:
    """Rows of integers that come and go, with one array per column; a freed row is used again."""

    def __init__(self, width: int) -> None:
        """Begin empty with so many columns."""
        self.data = np.zeros((width, FIRST_ROWS), np.int64)
        self.live = np.zeros(FIRST_ROWS, np.bool_)
        self._free = list(range(FIRST_ROWS - 1, -1, -1))

    def add(self, values: tuple[int, ...]) -> int:
        """Write a row and return its number."""
        if not self._free:
            many = len(self.live)
            self.data = np.concatenate([self.data, np.zeros_like(self.data)], axis=1)
            self.live = np.concatenate([self.live, np.zeros_like(self.live)])
            self._free = list(range(2 * many - 1, many - 1, -1))
        row = self._free.pop()
        self.data[:, row] = values
        self.live[row] = True
        return row

    def remove(self, row: int) -> None:
        """Forget a row."""
        self.live[row] = False
        self._free.append(row)


class Ends:
    """What each job holds until when: a row per task and resource, and a row per device."""

    def __init__(self, ledger: Ledger) -> None:
        """Begin empty."""
        self._ledger = ledger
        self.jobs: dict[JobId, Expected] = {}
        self._amounts = Columns(5)  # start, end, node, row, amount
        self._devices = Columns(5)  # start, end, device slot, share, room
        self._rows: dict[JobId, tuple[list[int], list[int]]] = {}
        self._unwritten: dict[JobId, Sequence[Held]] = {}

    def add(self, job: JobId, held: Sequence[Held], start_us: int, estimate_us: int | None) -> None:
        """Take note of a job that started, with all that it holds."""
        if estimate_us is None:
            self.jobs[job] = Expected(start_us, NEVER)
        else:
            self.jobs[job] = Expected(start_us, start_us + estimate_us)
            self._unwritten[job] = held

    def remove(self, job: JobId) -> None:
        """Forget a job whose grants are free."""
        self.jobs.pop(job, None)
        if self._unwritten.pop(job, None) is None and job in self._rows:
            amounts, devices = self._rows.pop(job)
            for row in amounts:
                self._amounts.remove(row)
            for row in devices:
                self._devices.remove(row)

    def columns(self) -> tuple[Columns, Columns]:
        """Return the rows of amounts and of devices. Rows are written when someone first asks for them."""
        for job, held in self._unwritten.items():
            expected, ledger = self.jobs[job], self._ledger
            amounts = [self._amounts.add((*expected, *row)) for one in held for row in amount_rows(ledger, one)]
            devices = [self._devices.add((*expected, *row)) for one in held for row in device_rows(ledger, one)]
            self._rows[job] = (amounts, devices)
        self._unwritten.clear()
        return self._amounts, self._devices


def amount_rows(ledger: Ledger, one: Held) -> list[tuple[int, int, int]]:
    """Return (node, row, amount) for what a grant holds of the node's resources other than devices."""
    return [(one.grant.node, row, amount) for row, amount in ledger.needs_of(one.demand) if row != GPUS]


DEVICE_STRIDE = 1 << 12  # device slots are numbered node * stride + number; no node has so many devices


def device_rows(ledger: Ledger, one: Held) -> list[tuple[int, int, int]]:
    """Return (device slot, share, room) for each device that a grant holds (a part of)."""
    if one.demand.gpus:
        share, room = WHOLE, ledger.specs[one.grant.node].gpu_memory
    else:
        share, room = one.grant.share, one.grant.gpu_memory
    return [(one.grant.node * DEVICE_STRIDE + d, share, room) for d in one.grant.devices]


class Table:
    """Everything that is expected to end, at one moment of looking: what is free at a later moment."""

    def __init__(self, ledger: Ledger, ends: Ends, now_us: int) -> None:
        """Lay out the live rows."""
        self.ledger = ledger
        amounts, devices = ends.columns()
        self.amounts = _live(amounts, now_us)
        self.devices = _live(devices, now_us)
        self.moments = np.unique(np.concatenate([self.amounts[1], self.devices[1]]))

    def slots(self, places: Places, role: Role, until_us: int, barred: NDArray[np.bool_] | None) -> NDArray[np.int64]:
        """Return how many tasks of a role each node has room for once all that ends by `until_us` is gone."""
        ledger, n = self.ledger, self.ledger.count
        many = np.where(places.may if barred is None else places.may & ~barred, np.int64(ANY), 0)
        _, end, node, row, amount = self.amounts
        over = end <= until_us
        for wanted, need in ledger.needs_of(role.demand):
            if wanted != GPUS:
                free = ledger.free[wanted][:n].copy()
                mine = over & (row == wanted)
                np.add.at(free, node[mine], amount[mine])
                many = np.minimum(many, free // need)
        if role.demand.gpus or role.demand.one_device:
            many = np.minimum(many, self._by_devices(role, until_us))
        return np.minimum(np.maximum(many, 0), 1 if role.one_per_node else role.tasks)

    def _by_devices(self, role: Role, until_us: int) -> NDArray[np.int64]:
        ledger, n, width, demand = self.ledger, self.ledger.count, self.ledger.width, role.demand
        shares, rooms = ledger.dev_share[: n * width].copy(), ledger.dev_room[: n * width].copy()
        _, end, slot, share, room = self.devices
        over = end <= until_us
        at = slot[over] // DEVICE_STRIDE * width + slot[over] % DEVICE_STRIDE
        healthy = shares >= 0
        np.add.at(shares, at, share[over])
        np.add.at(rooms, at, room[over])
        if demand.gpus:
            memory = np.repeat(ledger.device_memory[:n], width)
            return (healthy & (shares == WHOLE) & (rooms == memory)).reshape(n, width).sum(axis=1) // demand.gpus
        by_share = shares // demand.share if demand.share else np.full_like(shares, ANY)
        by_room = rooms // demand.gpu_memory if demand.gpu_memory else by_share
        fit = np.where(healthy, np.maximum(np.minimum(by_share, by_room), 0), 0)
        return np.minimum(fit, ANY).reshape(n, width).sum(axis=1)


def _live(columns: Columns, now_us: int) -> NDArray[np.int64]:
    """Return the live rows, each end later than now."""
    rows = columns.data[:, columns.live]
    start, end = rows[0], rows[1]
    overrun = np.maximum((now_us - start) // OVERRUN_PARTS, 1)
    rows[1] = np.where(end > now_us, end, now_us + overrun)
    return rows
