"""best_fit: the node with the least left over, GPUs and CPUs counting alike (a baseline of papers on packing)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clearway.core.resources import CPUS
from clearway.model.fleet import PLENTY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clearway.core.ledger import Ledger
    from clearway.model.job import Demand

FULL = 100
LARGEST_CPUS = 128_000  # thousandths of a CPU; with the next line the sizes that the published baseline divides by
LARGEST_GPUS = 8_000  # thousandths of a GPU


class BestFit:
    """100 less half the free CPUs and half the free GPUs after the task, each in hundredths of a large node.

    After the BestFit baseline of Weng et al., "Beware of Fragmentation" (USENIX ATC 2023).
    """

    name = "best_fit"

    def score(self, demand: Demand, ledger: Ledger, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how little stays free on each node."""
        free = ledger.free[CPUS].take(rows)
        cpus = np.where(free >= PLENTY // 2, 0, free - demand.cpus)
        gpus = ledger.milli.take(rows) - ledger.milli_taken(demand, rows)
        both = LARGEST_CPUS * LARGEST_GPUS
        left = (cpus * LARGEST_GPUS + gpus * LARGEST_CPUS) * FULL // (2 * both)
        rest = (cpus * LARGEST_GPUS + gpus * LARGEST_CPUS) * FULL % (2 * both) > 0
        score: NDArray[np.int64] = np.maximum(0, FULL - left - rest)
        return score
