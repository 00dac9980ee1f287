"""What others hold of a node of Slurm: what it holds there, less what it holds for us."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from clearway.engines.slurm.commands import MEBI

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from clearway.engines.slurm.commands import Node


class Others(NamedTuple):
    """What nobody here can have of a node: CPUs (thousandths), memory (bytes), devices.

    What Slurm holds for one of ours beyond what it asked for (at least a CPU, whole cores) is among it.
    """

    cpus: int = 0
    memory: int = 0
    devices: frozenset[int] = frozenset()


def of_others(node: Node, orders: Mapping[str, dict[str, Any]], held: AbstractSet[str]) -> Others:
    """Return what others hold. `orders` are those of ours on the node, `held` those for which Slurm holds something."""
    mine = [order for key, order in orders.items() if key in held]
    cpus = node.used_cpus - sum(order["milli"] for order in mine)
    memory = node.used_memory - sum(order["memory"] for order in mine) * MEBI
    ours = {device for order in mine for device in order["devices"]}
    return Others(max(cpus, 0), max(memory, 0), _devices(node, ours, orders))


def _devices(node: Node, ours: set[int], orders: Mapping[str, dict[str, Any]]) -> frozenset[int]:
    """Return the devices; where one cannot ask for a certain one, so many of those that are not given away here."""
    if node.types:
        return node.used - ours
    free = set(range(node.spec.gpus)).difference(*(order["devices"] for order in orders.values()))
    return frozenset(sorted(free, reverse=True)[: max(len(node.used) - len(ours), 0)])
