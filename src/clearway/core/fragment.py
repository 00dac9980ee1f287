"""Of how much use the free devices of a node are to the jobs that come, and what a scarce model is worth.

The use of a node is the device time that tasks of a demand could take of it, averaged over the demands seen by how
often they come. CPUs count twice, half and half: as far as they reach, and for whether they are enough for one task.
What placing a task takes away of it, beyond any other place, is fragmentation (after Weng et al., "Beware of
Fragmentation", USENIX ATC 2023, where a device counts whole as soon as one task fits).
The price of a model is what those ask of it who can use nothing else, over what there is of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clearway.core.resources import CPUS
from clearway.model.job import WHOLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from clearway.core.asked import Asked, Mix
    from clearway.core.ledger import Ledger
    from clearway.model.fleet import NodeSpec
    from clearway.model.job import Demand

PER_MILLE = 1000
MANY_CPUS = 1 << 40  # thousandths of a CPU: more than any node has, and a thousand times as many fit 64 bits


class Fragments:
    """The use of every node, worked out when it is asked for; kept until the node or the mix of demands changes."""

    def __init__(self, asked: Asked) -> None:
        """Begin with nothing known."""
        self._asked = asked
        self._worth: NDArray[np.int64] = np.zeros((0, 0), np.int64)
        self._price: NDArray[np.int64] = np.zeros(0, np.int64)
        self._use: NDArray[np.int64] = np.zeros(0, np.int64)
        self._known: NDArray[np.bool_] = np.zeros(0, np.bool_)
        self._key = (-1, -1)
        self._seen = 0
        self._total = 1

    def _refresh(self, ledger: Ledger) -> None:
        key = (self._asked.version, ledger.fleet_revision)
        if key != self._key or self._seen < ledger.cut:
            self._key, mix = key, self._asked.mix
            self._worth = _worth(mix, ledger.kinds)
            self._price = _prices(mix, ledger)
            self._total = max(int(mix.weight.sum()), 1)
            self._use, self._known = np.zeros(ledger.count, np.int64), np.zeros(ledger.count, np.bool_)
        else:
            changed = ledger.changed[self._seen - ledger.cut :]
            self._known[changed] = False
        self._seen = ledger.cut + len(ledger.changed)

    def lost(self, demand: Demand, ledger: Ledger, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the use, in thousandths of a milli-GPU, that one more task on each of these nodes takes away."""
        self._refresh(ledger)
        shares = ledger.dev_share.reshape(-1, ledger.width).take(rows, axis=0)
        cpus, kinds = ledger.free[CPUS].take(rows), ledger.kind.take(rows)
        known = self._known.take(rows)
        if not known.all():
            new = rows[~known]
            self._use[new] = self._of(shares[~known], cpus[~known], kinds[~known])
            self._known[new] = True
        after = self._of(_without(shares, demand, _devices(demand, ledger, rows)), cpus - demand.cpus, kinds)
        lost: NDArray[np.int64] = (self._use.take(rows) - after) // (2 * self._total)
        return lost

    def price(self, ledger: Ledger, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the price of the model of each node: thousandths of what there is of it."""
        self._refresh(ledger)
        return self._price.take(ledger.kind.take(rows))

    def _of(self, shares: NDArray[np.int64], cpus: NDArray[np.int64], kinds: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the use of nodes with these devices and CPUs free, summed over the tasks that came.

        In halves of a thousandth of a task: one half counts as many tasks, also parts of one, as both devices and CPUs
        reach for; the other as many as devices do, if there are CPUs for one at all. The needs for CPUs are about those
        that come, not the very ones: a whole count would take a node whose CPUs just miss a task for worthless, and
        the count alone would take one with CPUs for half its devices for half as good, as if nobody asked for few.
        """
        mix = self._asked.mix
        free = np.maximum(shares, 0)
        by_size = np.stack([(free // size).sum(axis=1) for size in mix.sizes.tolist()], axis=1)
        by_shape = (by_size.take(mix.shapes[:, 0], axis=1) // mix.shapes[:, 1] * PER_MILLE).take(mix.shape_of, axis=1)
        reach = np.minimum(cpus, MANY_CPUS)[:, None] * PER_MILLE // np.maximum(mix.cpus, 1)
        by_cpus = np.where(mix.cpus == 0, MANY_CPUS, reach).take(mix.cpus_of, axis=1)
        fit = np.minimum(by_shape, by_cpus) + np.where(by_cpus >= PER_MILLE, by_shape, 0)
        use: NDArray[np.int64] = np.einsum("ij,ij->i", fit, self._worth.take(kinds, axis=0))
        return use


def _worth(mix: Mix, kinds: Sequence[NodeSpec]) -> NDArray[np.int64]:
    """Return for each kind of node what one task of each demand is worth there: 0 where it cannot run."""
    fits = [[_usable(demand, kind) for demand in mix.demands] for kind in kinds]
    return np.array(fits, np.int64).reshape(len(kinds), len(mix.demands)) * mix.weight * mix.milli


def _usable(demand: Demand, kind: NodeSpec) -> bool:
    models = demand.gpu_models
    return (not models or kind.gpu_model in models) and demand.gpu_memory <= kind.gpu_memory


def _prices(mix: Mix, ledger: Ledger) -> NDArray[np.int64]:
    """Return the price for each kind of node, as if everything that comes asked for just as much as there is."""
    have: dict[str, int] = {}
    for spec in ledger.specs:
        have[spec.gpu_model] = have.get(spec.gpu_model, 0) + spec.gpus
    asked, wanted = 0, dict.fromkeys(have, 0)
    for demand, many in zip(mix.demands, mix.weight.tolist(), strict=True):
        asked += many * demand.milli_gpus
        of = sum(have.get(model, 0) for model in demand.gpu_models)
        for model in demand.gpu_models if of else ():
            if model in have:
                wanted[model] += many * demand.milli_gpus * have[model] // of
    everything = sum(have.values())
    prices = {m: PER_MILLE * wanted[m] * everything // max(asked * have[m], 1) for m in have}
    return np.array([prices.get(kind.gpu_model, 0) for kind in ledger.kinds], np.int64)


def _devices(demand: Demand, ledger: Ledger, rows: NDArray[np.int64]) -> int | NDArray[np.int64]:
    """Return how many idle devices one more task takes on each node: none where it joins others in their turns."""
    return ledger.turns.new_devices(ledger, rows, demand)[:, None] if demand.colocate else demand.gpus


def _without(shares: NDArray[np.int64], demand: Demand, devices: int | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the free shares of devices after one more task: whole devices, or the tightest one that has room."""
    if demand.gpus:
        idle = shares == WHOLE
        return np.where(idle & (np.cumsum(idle, axis=1) <= devices), 0, shares)
    if not demand.share:
        return shares
    tightest = np.where(shares >= demand.share, shares, 2 * WHOLE).argmin(axis=1)
    found = shares.copy()
    found[np.arange(len(found)), tightest] -= demand.share
    return found
