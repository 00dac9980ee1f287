"""random: any node and device with room, each as likely as the others (a baseline: what packing is worth)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clearway.core.ledger import Ledger
    from clearway.model.job import Demand

FULL = 100
DEVICES = 2**20  # the low bits choose a device, the high ones a node: they do not lean on each other
WORD = 2**64


class RandomPlace:
    """100 for one node, 0 for all others. The draw follows from how many grants are held, and nothing else.

    So the same history draws the same nodes. Every node is looked at anew for each task: that is slow on purpose.
    """

    name = "random"

    def score(self, demand: Demand, ledger: Ledger, rows: NDArray[np.int64]) -> NDArray[np.int64]:  # noqa: ARG002 - the shape
        """Return 100 for the node that is drawn."""
        scores = np.zeros(len(rows), np.int64)
        if len(rows):
            scores[self.draw(ledger) // DEVICES % len(rows)] = FULL
        return scores

    def draw(self, ledger: Ledger) -> int:
        """Return 64 mixed bits of the number of grants that are held."""
        return _mixed(ledger.grants)


def _mixed(number: int) -> int:
    """Return 64 bits that look like chance: the finishing steps of SplitMix64 (Steele, Lea and Flood, 2014)."""
    z = (number + 1) * 0x9E3779B97F4A7C15 % WORD
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORD
    return z ^ (z >> 31)
