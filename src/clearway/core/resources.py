"""Which resources there are, and in which row of the columns each stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.model.slices import slice_of

if TYPE_CHECKING:
    from clearway.model.job import Demand

CPUS, MEMORY, DISK, BANDWIDTH, GPUS = range(5)
"""Rows of the node columns. GPUS counts devices that nobody holds a part of."""

SLICE = "slice "  # and the profile: a resource that a node has of itself

ROW_NAMES = ("cpus", "memory", "disk", "bandwidth", "gpus")

Needs = tuple[tuple[int, int], ...]
"""(row, amount) for each resource that a demand asks for."""


class Rows:
    """Interns custom resources: each gets a row of its own behind the fixed ones."""

    def __init__(self) -> None:
        """Know the fixed resources."""
        self.names: list[str] = list(ROW_NAMES)
        self._row: dict[str, int] = {}

    def of(self, resource: str) -> int:
        """Return the row of a custom resource, a new one if it was never seen."""
        row = self._row.get(resource)
        if row is None:
            row = self._row[resource] = len(self.names)
            self.names.append(f"res.{resource}")
        return row

    def custom(self) -> tuple[str, ...]:
        """Return the custom resources, in the order of their rows."""
        return tuple(self._row)

    def needs(self, demand: Demand) -> Needs:
        """Return what a demand takes from the node columns, zeros left out; devices in turns are no row."""
        fixed = ((CPUS, demand.cpus), (MEMORY, demand.memory), (DISK, demand.disk), (BANDWIDTH, demand.bandwidth))
        own = [(row, amount) for row, amount in (*fixed, (GPUS, 0 if demand.colocate else demand.gpus)) if amount]
        if demand.slice:
            own.append((self.of(SLICE + demand.slice), 1))
        return (*own, *((self.of(name), amount) for name, amount in demand.resources))


def use_of(demand: Demand) -> dict[str, int]:
    """Return what one task of a demand counts against queues: gpus, cpus, bandwidth in thousandths, sizes in bytes."""
    devices = demand.gpus or (1 if demand.one_device else 0)
    amounts = {
        "gpus": demand.milli_gpus,
        "cpus": demand.cpus,
        "memory": demand.memory,
        "disk": demand.disk,
        "bandwidth": demand.bandwidth,
        "gpu_memory": demand.gpu_memory * devices + (slice_of(demand.slice).memory if demand.slice else 0),
        **dict(demand.resources),
    }
    return {name: amount for name, amount in amounts.items() if amount}
