"""What Ray says of its nodes, in the words of a fleet."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from clearway.model.errors import InputError
from clearway.model.fleet import PLENTY, NodeSpec
from clearway.model.values import size

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MILLI = 1000
MODEL, ZONE, MEMORY = "ray.io/accelerator-type", "ray.io/availability-zone", "clearway/gpu-memory"
_OWN = ("CPU", "GPU", "memory", "object_store_memory")
_HIDDEN = (MODEL, ZONE, MEMORY, "ray.io/node-id")

Amounts = dict[str, float]


class RayNode(NamedTuple):
    """A node of a cluster: its number at Ray, its name here, its address, and all it has by Ray's words."""

    number: str
    name: str
    address: str
    total: Mapping[str, float]
    labels: Mapping[str, str]

    @property
    def gpus(self) -> int:
        """Devices that it has."""
        return int(self.total.get("GPU", 0))


def living(told: Iterable[Mapping[str, Any]], known: Mapping[str, str] | None = None) -> dict[str, RayNode]:
    """Return the nodes that live, by name: the one they were started with, and their number where two have the same.

    `known`: names by number, which a node keeps. One that has the name and the address of such a one is left out: its
    machine was started anew, and Ray does not know yet that the other is dead.
    One with no CPU, no device and nothing else to ask for is left out: so people keep work off the head.
    """
    known = known or {}
    alive = [one for one in told if one["Alive"] and any(map(_is_something, one["Resources"].items()))]
    here = {(one["NodeName"], one["NodeManagerAddress"]) for one in alive if one["NodeID"] in known}
    alive = [one for one in alive if one["NodeID"] in known or (one["NodeName"], one["NodeManagerAddress"]) not in here]
    names = [one["NodeName"] for one in alive]
    found = {}
    for one in alive:
        name = one["NodeName"] if names.count(one["NodeName"]) == 1 else f"{one['NodeName']}-{one['NodeID'][:8]}"
        name = known.get(one["NodeID"], name)
        found[name] = RayNode(one["NodeID"], name, one["NodeManagerAddress"], one["Resources"], one.get("Labels", {}))
    return dict(sorted(found.items()))


def spec_of(node: RayNode, others: Mapping[str, float]) -> NodeSpec:
    """Return a node without what others hold of it; devices that others hold are told apart."""
    left = {word: max(amount - others.get(word, 0), 0) for word, amount in node.total.items()}
    kinds = [word.partition(":")[2] for word in node.total if word.startswith("accelerator_type:")]
    labels = {word: said for word, said in node.labels.items() if word not in _HIDDEN}
    return NodeSpec(
        node.name, cpus=math.floor(left.get("CPU", 0) * MILLI + 0.5), memory=int(left.get("memory", 0)), gpus=node.gpus,
        gpu_model=node.labels.get(MODEL) or (kinds[0] if kinds and node.gpus else ""), gpu_memory=_gpu_memory(node),
        zone=node.labels.get(ZONE, ""), labels=tuple(sorted(labels.items())),
        resources=tuple(sorted((word, int(amount)) for word, amount in left.items() if is_custom(word))),
    )  # fmt: skip


def is_custom(word: str) -> bool:
    """Say whether a resource is one that somebody named, and none of Ray's own."""
    return word not in _OWN and ":" not in word and "_group_" not in word


def _is_something(resource: tuple[str, float]) -> bool:
    word, amount = resource
    return amount > 0 and (word in {"CPU", "GPU"} or is_custom(word))


def _gpu_memory(node: RayNode) -> int:
    try:
        return size(MEMORY, node.labels[MEMORY]) if MEMORY in node.labels else PLENTY
    except InputError:  # somebody else's label
        return PLENTY


def held_by_others(node: RayNode, available: Mapping[str, float], ours: Mapping[str, float]) -> Amounts:
    """Return what neither is free nor ours."""
    found = {}
    for word, amount in node.total.items():
        rest = amount - available.get(word, 0) - ours.get(word, 0)
        if (word in _OWN or is_custom(word)) and word != "object_store_memory" and rest > 1 / MILLI:
            found[word] = round(rest, 3)
    return found
