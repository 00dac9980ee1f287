"""What jobs have asked for so far: the mix of demands that placing has to leave room for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clearway.model.job import WHOLE, Demand

if TYPE_CHECKING:
    from numpy.typing import NDArray

NEXT_LOOK = 2  # the mix is summed up anew when so many times as many tasks have come
FIRST_LOOK = 16
MOST_KINDS = 128  # so many of the commonest demands stand for all


Counts = tuple[tuple[Demand, int], ...]


class Mix(NamedTuple):
    """The demands for devices seen, commonest first, those alike counted together. `weight` is how many tasks came.

    `sizes` are the different amounts of milli-GPU that one device must have free, `shapes` the different pairs of a
    size and a number of devices, `cpus` the different needs for CPUs; a demand has the number of its own of each.
    `milli` is the device time that each asks for.
    """

    demands: tuple[Demand, ...]
    weight: NDArray[np.int64]
    milli: NDArray[np.int64]
    sizes: NDArray[np.int64]
    shapes: NDArray[np.int64]
    shape_of: NDArray[np.int64]
    cpus: NDArray[np.int64]
    cpus_of: NDArray[np.int64]


class Asked:
    """Counts demands for devices, and sums them up now and then: `version` grows when the mix is another."""

    def __init__(self) -> None:
        """Begin with nothing seen."""
        self._counts: dict[Demand, int] = {}
        self._seen = 0
        self._next = FIRST_LOOK
        self.version = 0
        self.mix = _mix({})

    def count(self, demand: Demand, tasks: int) -> None:
        """Take note of tasks that came."""
        if not demand.milli_gpus or demand.slice:
            return
        self._counts[demand] = self._counts.get(demand, 0) + tasks
        self._seen += tasks
        if self._seen >= self._next:
            self._next = self._seen * NEXT_LOOK
            self.version += 1
            self.mix = _mix(self._counts)

    def taken(self) -> tuple[Counts, int, int, Counts]:
        """Return what was counted, when the next look is due, the version, and what the mix was summed up from."""
        mix = tuple(zip(self.mix.demands, self.mix.weight.tolist(), strict=True))
        return tuple(self._counts.items()), self._next, self.version, mix

    def put_back(self, counts: Counts, next_look: int, version: int, mix: Counts) -> None:
        """Be as `taken` said."""
        self._counts = dict(counts)
        self._seen = sum(self._counts.values())
        self._next, self.version = next_look or FIRST_LOOK, version
        self.mix = _mix(dict(mix))


def _alike(demand: Demand) -> Demand:
    """Return what is equal for demands for the same devices and about as many CPUs: up to twice as many."""
    cpus = demand.cpus.bit_length()
    return Demand(demand.gpus, demand.share, demand.gpu_memory, cpus, gpu_models=demand.gpu_models)


def _mix(counts: dict[Demand, int]) -> Mix:
    """Sum demands up; the commonest of those that are about alike stands for all of them."""
    groups: dict[Demand, list[Demand]] = {}
    for demand in counts:
        groups.setdefault(_alike(demand), []).append(demand)
    together = {
        max(group, key=lambda demand: (counts[demand], demand.cpus)): sum(counts[demand] for demand in group)
        for group in groups.values()
    }
    found = sorted(together.items(), key=lambda item: -item[1])[:MOST_KINDS]
    demands = tuple(demand for demand, _ in found)
    shapes = [(demand.share or WHOLE, max(demand.gpus, 1)) for demand in demands]
    sizes = sorted({size for size, _ in shapes})
    pairs = sorted(set(shapes))
    cpus = sorted({demand.cpus for demand in demands})
    return Mix(
        demands,
        weight=np.array([many for _, many in found], np.int64),
        milli=np.array([demand.milli_gpus for demand in demands], np.int64),
        sizes=np.array(sizes, np.int64),
        shapes=np.array([(sizes.index(size), devices) for size, devices in pairs], np.int64).reshape(-1, 2),
        shape_of=np.array([pairs.index(shape) for shape in shapes], np.int64),
        cpus=np.array(cpus, np.int64),
        cpus_of=np.array([cpus.index(demand.cpus) for demand in demands], np.int64),
    )
