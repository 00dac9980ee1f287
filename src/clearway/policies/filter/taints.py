"""taints: nodes kept for some are left alone by the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearway.model.fleet import NodeSpec
    from clearway.model.job import Demand


class Taints:
    """The job tolerates every taint of the node."""

    name = "taints"
    fact = "tainted"

    def admits(self, demand: Demand, node: NodeSpec) -> bool:
        """Return whether all taints are tolerated."""
        return all(taint in demand.tolerates for taint in node.taints)
