"""cost: the cheaper node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clearway.core.ledger import Ledger
    from clearway.model.job import Demand

FULL = 100


class Cost:
    """100 for a free node, 0 for the dearest of the fleet, in proportion between."""

    name = "cost"

    def score(self, demand: Demand, ledger: Ledger, rows: NDArray[np.int64]) -> NDArray[np.int64]:  # noqa: ARG002 - the shape
        """Return how much cheaper than the dearest node each node is, in hundredths."""
        prices = np.array([ledger.specs[row].price_micros for row in rows.tolist()], np.int64)
        dearest = max((spec.price_micros for spec in ledger.specs), default=0)
        return FULL - prices * FULL // max(dearest, 1)
