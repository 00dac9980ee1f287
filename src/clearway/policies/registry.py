"""Every policy, by the word that names it, and the bundles."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from msgspec.structs import replace

from clearway.core.mix import Mix
from clearway.core.protocols import Filter, Order, QueueOrder, Rules, Score, Taking
from clearway.model.errors import InputError
from clearway.model.fleet import PolicySpec
from clearway.model.machine_words import read_policy
from clearway.policies.filter.gpu_model import GpuModel
from clearway.policies.filter.labels import Labels
from clearway.policies.filter.spot import Spot
from clearway.policies.filter.taints import Taints
from clearway.policies.order.edf import EarliestDeadlineFirst
from clearway.policies.order.f1 import F1
from clearway.policies.order.fair import Fair
from clearway.policies.order.fifo import Fifo
from clearway.policies.order.largest import LargestFirst
from clearway.policies.order.las import LeastAttained
from clearway.policies.order.priority import Priority
from clearway.policies.order.saf import SmallestAreaFirst
from clearway.policies.order.sjf import ShortestFirst
from clearway.policies.order.srtf import ShortestRemainingFirst
from clearway.policies.order.unicep import Unicep
from clearway.policies.order.wfp3 import Wfp3
from clearway.policies.score.affinity import Affinity
from clearway.policies.score.best_fit import BestFit
from clearway.policies.score.cost import Cost
from clearway.policies.score.fragmentation import Fragmentation
from clearway.policies.score.random_place import RandomPlace
from clearway.policies.score.spread import Spread
from clearway.policies.score.tightest import Tightest
from clearway.policies.score.topology import Topology
from clearway.policies.victim.fair import FairTaking
from clearway.policies.victim.priority import ByPriority
from clearway.policies.victim.reclaim import Reclaim
from clearway.policies.victim.time_slice import TimeSlice

if TYPE_CHECKING:
    from collections.abc import Mapping

ORDERS: dict[str, Order | QueueOrder] = {
    o.name: o
    for o in (
        Fifo(), Priority(), Fair(), ShortestFirst(), ShortestRemainingFirst(), LeastAttained(), LargestFirst(), Wfp3(),
        Unicep(), F1(), EarliestDeadlineFirst(), SmallestAreaFirst(),
    )
}  # fmt: skip
FILTERS: tuple[Filter, ...] = (GpuModel(), Labels(), Taints(), Spot())
CAUSES: dict[str, Taking] = {c.name: c for c in (ByPriority(), Reclaim(), FairTaking(), TimeSlice())}
SCORES: dict[str, Score] = {
    s.name: s for s in (Affinity(), BestFit(), Cost(), Fragmentation(), RandomPlace(), Spread(), Tightest(), Topology())
}

BUNDLES: dict[str, PolicySpec] = {
    "throughput": PolicySpec(order=("priority", "sjf", "fifo"), backfill="easy"),
    "responsive": PolicySpec(order=("priority", "las", "fifo"), backfill="easy", preempt=("priority", "reclaim")),
    "fair": PolicySpec(order=("fair", "priority", "fifo"), backfill="easy", preempt=("priority", "reclaim")),
    "cheap": PolicySpec(order=("priority", "fifo"), backfill="easy", score=(("cost", 2), ("fragmentation", 1))),
}
BACKFILLS = ("easy", "none", "conservative")
ESTIMATES = ("forecast", "oracle")
_RULE = (
    f"a bundle ({', '.join(sorted(BUNDLES))}); or orders ({', '.join(sorted(ORDERS))}) joined by +, with one of "
    f"{', '.join(BACKFILLS)} and one of {', '.join(ESTIMATES)}, such as fifo+none; or a map of words"
)


def policy_named(raw: str | Mapping[str, object], also: str = "") -> PolicySpec:
    """Read a policy: by its name, or as a map of words; `also` is what else the rule allows. Raises InputError.

    `fair` is a bundle; `fifo` an order, with EASY backfill; `fifo+none`, `sjf+forecast`, `priority+fifo+easy+oracle`
    say what goes with it; `{order: [fifo], backfill: none}` is a map of words.
    """
    if isinstance(raw, str):
        return BUNDLES[raw] if raw in BUNDLES else policy_named(_joined(raw, also))
    spec = read_policy(raw)
    rules_for(spec)
    return spec


def _joined(name: str, also: str) -> dict[str, object]:
    """Return the words of a policy that is named by its orders."""
    parts = name.split("+")
    orders = [p for p in parts if p in ORDERS]
    backfills, estimates = [p for p in parts if p in BACKFILLS], [p for p in parts if p in ESTIMATES]
    known = (*orders, *backfills, *estimates)
    if not orders or len(backfills) > 1 or len(estimates) > 1 or any(p not in known for p in parts):
        raise InputError("policy", name, _RULE + also + _nearest(parts))
    estimate = {"estimate": estimates[0]} if estimates else {}
    return {"order": orders, "backfill": backfills[0] if backfills else "easy", **estimate}


def _nearest(parts: list[str]) -> str:
    """Return the known words that unknown ones may have been meant for."""
    known = (*sorted(BUNDLES), *sorted(ORDERS), *BACKFILLS, *ESTIMATES)
    near = [found[0] for part in parts if part not in known and (found := get_close_matches(part, known, 1))]
    return f"; did you mean {', '.join(map(repr, near))}?" if near else ""


def name_of(spec: PolicySpec) -> str:
    """Return what people call a policy: its bundle, else its orders, how it fills gaps, and whom it believes."""
    found = next((name for name in sorted(BUNDLES) if BUNDLES[name] == spec), None)
    believed = (spec.estimate,) if spec.estimate in ESTIMATES else ()
    return found or "+".join((*spec.order, spec.backfill, *believed))


def rules_for(spec: PolicySpec) -> Rules:
    """Look up the rules that a policy names; InputError for a word that names none."""
    for name in spec.order:
        if name not in ORDERS:
            raise InputError("order", name, "one of " + ", ".join(sorted(ORDERS)))
    for name, _ in spec.score:
        if name not in SCORES:
            raise InputError("score", name, "one of " + ", ".join(sorted(SCORES)))
    if spec.fallback not in ORDERS:
        raise InputError("fallback", spec.fallback, "one of " + ", ".join(sorted(ORDERS)))
    orders = tuple(_order(name, spec) for name in spec.order)
    scores = tuple((weight, SCORES[name]) for name, weight in spec.score if weight)
    return Rules(
        orders=orders,
        filters=FILTERS,
        scores=scores,
        backfill=spec.backfill,
        job_orders=tuple((i, order) for i, order in enumerate(orders) if isinstance(order, Order)),
        by_queue=frozenset(i for i, name in enumerate(spec.order) if name == Fair.name),
        mix=_mix(orders, spec.weights) if spec.weights else None,
        measure=spec.fairness_measure,
        half_life_us=spec.half_life_us,
        ageing_us=spec.ageing_us,
        preempt=tuple(CAUSES[name] for name in spec.preempt),
        min_runtime_us=spec.min_runtime_us,
        time_slice_us=spec.time_slice_us,
        reservation_timeout_us=spec.reservation_timeout_us,
        topology=dict(spec.score).get(Topology.name, 0),
        quantile=spec.quantile if spec.estimate == "forecast" else 0,
        proportional=spec.share_memory == "proportional",
    )


def _mix(orders: tuple[Order | QueueOrder, ...], weights: tuple[int, ...]) -> Mix:
    weighed = list(zip(weights, orders, strict=True))
    jobs = tuple((weight, order) for weight, order in weighed if isinstance(order, Order))
    return Mix(jobs, sum(weight for weight, order in weighed if order.name == Fair.name))


def objectives(spec: PolicySpec) -> tuple[tuple[str, PolicySpec], ...]:
    """Return each order of a policy that weighs several, and the policy that goes by it alone; else nothing."""
    names = spec.order if spec.weights else ()
    return tuple((name, replace(spec, order=(name,), weights=())) for name in names)


def _order(name: str, spec: PolicySpec) -> Order | QueueOrder:
    """Return an order as a policy has it."""
    return Priority(spec.ageing_us) if name == Priority.name else ORDERS[name]


def orders_of(names: tuple[str, ...], spec: PolicySpec) -> tuple[Order, ...]:
    """Look up the orders inside a queue under a policy; InputError for one that is unknown or goes by queues."""
    found: list[Order] = []
    for name in names:
        if not isinstance(ORDERS.get(name), Order):
            raise InputError("order", name, "one of " + ", ".join(sorted(n for n in ORDERS if n != Fair.name)))
        order = _order(name, spec)
        if isinstance(order, Order):
            found.append(order)
    return tuple(found)
