"""topology: the domain that a job prefers, and islands that nobody uses yet kept whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clearway.core.islands import breaks_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clearway.core.ledger import Ledger
    from clearway.model.job import Demand

FULL = 100
BREAKS = 25  # an island that is broken costs as much as four more devices that stay free (docs/policies/tightest.md)


class Topology:
    """With any weight above 0 the domains that a job prefers are tried first, the nearest before all others.

    Whether a place is inside such a domain depends on where the other tasks are: that is no sum over nodes, and stands
    in core.domains. A node by itself scores 100, and 75 where a task would break an NVLink island that is whole.
    """

    name = "topology"

    def concerns(self, demand: Demand) -> bool:
        """Return whether it asks for devices."""
        return bool(demand.gpus) or demand.one_device

    def score(self, demand: Demand, ledger: Ledger, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return 75 for the nodes where a whole island would be broken, 100 for the others."""
        if not ledger.any_links:
            return np.full(len(rows), FULL, np.int64)
        return np.where(breaks_whole(ledger, demand, rows), FULL - BREAKS, FULL)
