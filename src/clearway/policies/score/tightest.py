"""tightest: the tightest fit, so that large free pieces stay whole."""

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
ROOMIEST_MILLI = 16_000  # free device time from which a node counts as wide open: 16 devices, the largest in use
BY_LEFT = FULL - np.arange(ROOMIEST_MILLI + 1) * FULL // ROOMIEST_MILLI
"""The score by the milli-GPU that stay free: looked up, since it is asked for at every placement."""


class Tightest:
    """100 where nothing is left over, less the more devices stay free beside the task.

    Device time counts for tasks that ask for devices. A task without devices is kept off free devices as well,
    and goes where the fewest CPUs stay free: half the score each.
    """

    name = "tightest"

    def score(self, demand: Demand, ledger: Ledger, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return 100 - the free device time left over, in hundredths of 16 devices."""
        devices = BY_LEFT.take(ledger.milli.take(rows) - ledger.milli_taken(demand, rows), mode="clip")
        if demand.gpus or demand.one_device or not demand.cpus:
            return devices
        cap = ledger.cap[CPUS].take(rows)
        cpus = np.where(cap >= PLENTY, 0, (ledger.free[CPUS].take(rows) - demand.cpus) * FULL // np.maximum(cap, 1))
        return (devices + FULL - cpus) // 2
