"""spot: machines that the provider may take away."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearway.model.fleet import NodeSpec
    from clearway.model.job import Demand


class Spot:
    """`require` wants spot nodes only, `avoid` none, `allow` takes both."""

    name = "spot"
    fact = "wrong_spot"

    def admits(self, demand: Demand, node: NodeSpec) -> bool:
        """Return whether the node's kind will do."""
        return demand.spot == "allow" or node.spot == (demand.spot == "require")
