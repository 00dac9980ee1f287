"""labels: only nodes with the labels that the job wants."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearway.model.fleet import NodeSpec
    from clearway.model.job import Demand


class Labels:
    """Each label in the job's `nodes` has the wanted value on the node; rack, zone and name are labels too."""

    name = "labels"
    fact = "wrong_label"

    def admits(self, demand: Demand, node: NodeSpec) -> bool:
        """Return whether the node carries all wanted labels."""
        return all(node.label(key) == value for key, value in demand.nodes)
