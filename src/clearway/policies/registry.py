"""Every policy, by the word that names it, and the bundles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from clearway.core.protocols import Filter, Order, Rules, Score
from clearway.model.errors import InputError
from clearway.model.fleet import PolicySpec
from clearway.model.machine_words import read_policy
from clearway.policies.filter.gpu_model import GpuModel
from clearway.policies.filter.labels import Labels
from clearway.policies.filter.spot import Spot
from clearway.policies.filter.taints import Taints
from clearway.policies.order.fifo import Fifo
from clearway.policies.order.priority import Priority
from clearway.policies.score.best_fit import BestFit
from clearway.policies.score.cost import Cost
from clearway.policies.score.fragmentation import Fragmentation
from clearway.policies.score.random_place import RandomPlace
from clearway.policies.score.spread import Spread

if TYPE_CHECKING:
    from collections.abc import Mapping

ORDERS: dict[str, Order] = {o.name: o for o in (Fifo(), Priority())}
FILTERS: tuple[Filter, ...] = (GpuModel(), Labels(), Taints(), Spot())
SCORES: dict[str, Score] = {s.name: s for s in (BestFit(), Cost(), Fragmentation(), RandomPlace(), Spread())}
SCORES_LATER = frozenset({"affinity", "topology"})
"""Parts of a score whose words (inputs, topology) no job can carry yet: they would be 0 for every node."""

BUNDLES: dict[str, PolicySpec] = {
    "throughput": PolicySpec(order=("priority", "fifo"), backfill="easy"),
    "responsive": PolicySpec(order=("priority", "fifo"), backfill="easy"),
    "fair": PolicySpec(order=("priority", "fifo"), backfill="easy"),
    "cheap": PolicySpec(order=("priority", "fifo"), backfill="easy", score=(("cost", 2), ("fragmentation", 1))),
}


def policy_named(raw: str | Mapping[str, object]) -> PolicySpec:
    """Read a policy: the name of a bundle, or a map of words."""
    if isinstance(raw, str):
        if raw not in BUNDLES:
            raise InputError("policy", raw, "one of " + ", ".join(sorted(BUNDLES)) + ", or a map of words")
        return BUNDLES[raw]
    spec = read_policy(raw)
    rules_for(spec)
    return spec


def rules_for(spec: PolicySpec) -> Rules:
    """Look up the rules that a policy names; InputError for a word that names none."""
    for name in spec.order:
        if name not in ORDERS:
            raise InputError("order", name, "one of " + ", ".join(sorted(ORDERS)))
    for name, _ in spec.score:
        if name not in SCORES and name not in SCORES_LATER:
            raise InputError("score", name, "one of " + ", ".join(sorted(SCORES)))
    if spec.preempt or spec.priority_inheritance:
        raise InputError("preempt", list(spec.preempt), "this version stops no job for another yet")
    if spec.backfill == "conservative" or spec.estimate == "forecast":
        raise InputError("policy", msgspec.to_builtins(spec.backfill), "this version does not carry out this word yet")
    scores = tuple((weight, SCORES[name]) for name, weight in spec.score if name in SCORES and weight)
    return Rules(tuple(ORDERS[name] for name in spec.order), FILTERS, scores, spec.backfill)
