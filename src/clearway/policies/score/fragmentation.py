"""fragmentation: where the jobs that really come lose least, and what few can be without stays for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clearway.policies.score.tightest import FULL, ROOMIEST_MILLI, Tightest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clearway.core.ledger import Ledger
    from clearway.model.job import Demand

POINT = ROOMIEST_MILLI * 1000 // FULL  # thousandths of a milli-GPU: as much as one point of the tightest fit
PRICE = 4  # how often the price of what a task takes of a scarce model counts (measured: python -m benchmarks openb)


class Fragmentation:
    """100 less the use that is lost (docs/policies/fragmentation.md), less the price of the devices.

    Where that is equal, the tighter fit. Before any job has asked for devices it is the tightest fit alone.
    """

    name = "fragmentation"
    mixed = True
    fine = POINT

    def __init__(self) -> None:
        """Know the tightest fit, which decides between equals."""
        self._tightest = Tightest()

    def score(self, demand: Demand, ledger: Ledger, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the score in parts of 1 / POINT."""
        tight = self._tightest.score(demand, ledger, rows)
        if not len(ledger.asked.mix.demands):
            return tight * POINT
        lost = ledger.fragments.lost(demand, ledger, rows) + (FULL - tight) * (ROOMIEST_MILLI // FULL)
        if demand.milli_gpus:
            lost += ledger.fragments.price(ledger, rows) * ledger.milli_taken(demand, rows) * PRICE
        worst: NDArray[np.int64] = np.maximum(FULL * POINT - lost, 0)
        return worst
