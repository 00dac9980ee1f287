"""affinity: the node that holds a task's inputs, or where copying them takes least time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clearway.core.copies import copy_us
from clearway.core.resources import BANDWIDTH
from clearway.model.values import SECOND_US

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clearway.core.ledger import Ledger
    from clearway.model.job import Demand

FULL = 100
HALF_US = 600 * SECOND_US  # copying that takes so long halves the score: ten minutes, a short job's own length


class Affinity:
    """100 where nothing is to be copied, 50 where it takes ten minutes, 25 where it takes half an hour, and so on."""

    name = "affinity"

    def concerns(self, demand: Demand) -> bool:
        """Return whether the task has inputs of a known size."""
        return any(size for _, size in demand.inputs)

    def score(self, demand: Demand, ledger: Ledger, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return 100 * H / (H + expected copying time), H being ten minutes."""
        nodes = rows.tolist()
        missing = ledger.shelves.missing(ledger.specs, nodes, demand.inputs)
        widths = ledger.cap[BANDWIDTH].take(rows).tolist()
        times = [copy_us(size, width) for size, width in zip(missing, widths, strict=True)]
        return np.array([FULL * HALF_US // (HALF_US + time_us) for time_us in times], np.int64)
