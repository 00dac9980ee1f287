"""spread: the emptiest node, for services that should not fail together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clearway.core.resources import CPUS
from clearway.model.fleet import PLENTY
from clearway.model.job import WHOLE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clearway.core.ledger import Ledger
    from clearway.model.job import Demand

FULL = 100


class Spread:
    """The free part of the node in hundredths: of its device time if devices are asked for, else of its CPUs."""

    name = "spread"

    def score(self, demand: Demand, ledger: Ledger, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the free part of each node before the task, 0 to 100."""
        if demand.gpus or demand.one_device:
            gpus = np.array([ledger.specs[row].gpus for row in rows.tolist()], np.int64)
            return ledger.milli.take(rows) * FULL // np.maximum(gpus * WHOLE, 1)
        cap, free = ledger.cap[CPUS].take(rows), ledger.free[CPUS].take(rows)
        stated = cap < PLENTY
        parts: NDArray[np.int64] = np.where(stated, np.where(stated, free, 0) * FULL // np.maximum(cap, 1), FULL)
        return parts
