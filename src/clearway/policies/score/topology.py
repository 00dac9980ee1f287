"""topology: the domain that a job prefers. It is a choice among domains, not among nodes: see core.domains."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clearway.core.ledger import Ledger
    from clearway.model.job import Demand


class Topology:
    """With any weight above 0 the domains that a job prefers are tried first, the nearest before all others.

    Whether a place is inside such a domain depends on where the other tasks are, so a node by itself scores nothing.
    """

    name = "topology"

    def concerns(self, demand: Demand) -> bool:  # noqa: ARG002 - the shape
        """Return that no demand is scored by its node alone."""
        return False

    def score(self, demand: Demand, ledger: Ledger, rows: NDArray[np.int64]) -> NDArray[np.int64]:  # noqa: ARG002 - the shape
        """Return 0 for every node."""
        return np.zeros(len(rows), np.int64)
