"""Devices in time sharing: tasks that say `colocate` take turns on them; for all others these are held whole.

A device carries at most one task more than the least patient of those on it allows. What it is not asked for is a
share: whoever is on it slows the others down when together they want more than there is.
"""

from __future__ import annotations

from bisect import insort
from typing import TYPE_CHECKING

import numpy as np

from clearway.model.job import WHOLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from clearway.core.ledger import Held, Ledger
    from clearway.model.events import Grant
    from clearway.model.job import Demand


def takes_one_more(on_it: Sequence[int], others: int) -> bool:
    """Return whether a device has a turn left for a task that puts up with so many others.

    `on_it`: what those that share the device put up with.
    """
    return len(on_it) <= min(others, *on_it)


class Turns:
    """Who takes turns on which device of a node: for each task there, how many others it puts up with, in order."""

    def __init__(self) -> None:
        """Begin with none."""
        self.on: dict[int, dict[int, list[int]]] = {}

    def join(self, node: int, device: int, others: int) -> bool:
        """Put one more task on a device; return whether it is the first."""
        mine = self.on.setdefault(node, {}).setdefault(device, [])
        insort(mine, others)
        return len(mine) == 1

    def leave(self, node: int, device: int, others: int) -> bool:
        """Take a task off a device; return whether it was the last."""
        here = self.on[node]
        here[device].remove(others)
        if here[device]:
            return False
        del here[device]
        if not here:
            del self.on[node]
        return True

    def open_to(self, ledger: Ledger, node: int, demand: Demand) -> list[int]:
        """Return the devices in time sharing that have a turn left for a demand, the fullest first."""
        here = self.on.get(node)
        if not here:
            return []
        found = [
            (-len(on_it), device)
            for device, on_it in here.items()
            if takes_one_more(on_it, demand.colocate) and ledger.room_in_turns(node, device) >= demand.gpu_memory
        ]
        return [device for _, device in sorted(found)]

    def count(self, ledger: Ledger, rows: NDArray[np.int64], demand: Demand) -> NDArray[np.int64]:
        """Return how many devices in time sharing have a turn left for a demand on each of these nodes."""
        found = np.zeros(len(rows), np.int64)
        if self.on:
            for at, node in enumerate(rows.tolist()):
                if node in self.on:
                    found[at] = len(self.open_to(ledger, node, demand))
        return found

    def new_devices(self, ledger: Ledger, rows: NDArray[np.int64], demand: Demand) -> NDArray[np.int64]:
        """Return how many idle devices one more task would take on each of these nodes."""
        return np.maximum(demand.gpus - self.count(ledger, rows, demand), 0)


def apart(ledger: Ledger, node: int, within: frozenset[int] | None, mine: Iterable[Grant]) -> frozenset[int] | None:
    """Return `within` without the devices of a node that tasks of the same job hold: they never take turns."""
    taken = {d for grant in mine if grant.node == node for d in grant.devices}
    if not taken:
        return within
    return (frozenset(range(ledger.specs[node].gpus)) if within is None else within) - taken


def staying(held: Iterable[Held]) -> dict[int, list[int]]:
    """Return by device what those of some grants on one node that take turns put up with."""
    found: dict[int, list[int]] = {}
    for one in held:
        for device in one.grant.devices if one.demand.colocate else ():
            found.setdefault(device, []).append(one.demand.colocate)
    return found


class Occupied:
    """How much device time is held, and used, where tasks take turns: a device counts once, however many are on it."""

    def __init__(self) -> None:
        """Begin with nothing held."""
        self._on: dict[tuple[int, int], tuple[int, int]] = {}

    def change(self, grant: Grant, busy: int, sign: int) -> tuple[int, int]:
        """Put a task that uses `busy` thousandths of its devices on them, or take it off; return the changes.

        They are those of the milli-GPU held, and of these times the thousandths used: all together at most all of it.
        """
        held = used = 0
        for device in grant.devices:
            many, wanted = self._on.get((grant.node, device), (0, 0))
            after = (many + sign, wanted + sign * busy)
            held += WHOLE * (bool(after[0]) - bool(many))
            used += WHOLE * (min(after[1], WHOLE) - min(wanted, WHOLE))
            self._on[grant.node, device] = after
            if not after[0]:
                del self._on[grant.node, device]
        return held, used
