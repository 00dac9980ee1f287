"""Why a class of jobs finds no place, as typed reasons with counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clearway.core.resources import GPUS, SLICE
from clearway.model.job import WHOLE
from clearway.model.reasons import Code, Fact, Reason, because

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clearway.core.line import WaitClass
    from clearway.core.places import Places
    from clearway.core.view import View
    from clearway.model.job import Demand, Role


def no_capacity(view: View, cls: WaitClass, *, never: bool) -> Reason:
    """Return what a class lacks: for its first role that finds no place, or for its first role if each alone would."""
    number = next((i for i, role in enumerate(cls.spec.roles) if _slots(cls.places[i], role) < role.min_tasks), 0)
    role, places = cls.spec.roles[number], cls.places[number]
    facts: dict[str, Fact] = {
        "tasks": role.min_tasks,
        "fit": _slots(places, role),
        "nodes": int((view.ledger.kind[: view.ledger.count] > 0).sum()),
    }
    bound = cls.bound if cls.bound is not None and cls.bound.required and number in cls.bound.roles else None
    if bound is not None:
        facts |= {"topology": cls.spec.topology.require, "fit": bound.most(number)}
    if len(cls.spec.roles) > 1:
        facts["role"] = role.name
    if cls.spec.pin is not None:
        facts["pin"] = cls.spec.pin.node
    facts |= _asked(role.demand) | _counts(view, places) | _extremes(view, places, role.demand)
    return because(Code.NEVER_FITS if never else Code.NO_CAPACITY, **facts)


def _slots(places: Places, role: Role) -> int:
    places.refresh()
    return min(places.slots(one_each=role.one_per_node), role.tasks)


def _asked(demand: Demand) -> dict[str, Fact]:
    amounts = {
        "gpus": demand.gpus * WHOLE, "share": demand.share, "gpu_memory": demand.gpu_memory, "cpus": demand.cpus,
        "colocate": demand.colocate,
        "memory": demand.memory, "disk": demand.disk, "bandwidth": demand.bandwidth,
        **({f"res.{SLICE}{demand.slice}": 1} if demand.slice else {}),
        **{f"res.{name}": amount for name, amount in demand.resources},
    }  # fmt: skip
    names = {
        "models": ", ".join(demand.gpu_models),
        "wants": ", ".join(f"{k}={v}" for k, v in demand.nodes),
        "spot": "" if demand.spot == "allow" else demand.spot,
    }
    return {k: v for k, v in (amounts | names).items() if v}


def _counts(view: View, places: Places) -> dict[str, Fact]:
    """Count the nodes that fail by the first cause that stops each."""
    ledger, n = view.ledger, view.ledger.count
    left = np.ones(n, np.bool_)
    found: dict[str, Fact] = {}

    def cross_off(name: str, failing: NDArray[np.bool_]) -> None:
        nonlocal left
        many = int((left & failing).sum())
        if many:
            found[name] = many
        left = left & ~failing

    left &= ledger.kind[:n] > 0
    if ledger.leaving:
        cross_off("leaving", np.isin(np.arange(n), sorted(ledger.leaving)))
    cross_off("down", ~ledger.open[:n])
    cross_off("drained", ledger.drained[:n])
    for rule in view.rules.filters:
        cross_off(rule.fact, ~places.admitted_by(rule))
    cross_off("too_small", ~places.may)
    if ledger.booting:
        cross_off("booting", np.isin(np.arange(n), sorted(ledger.booting)))
    for row, amount in ledger.needs_of(places.demand):
        cross_off("short_" + ledger.rows.names[row].replace("res.", "res_"), ledger.free[row][:n] < amount)
    if places.demand.share:
        cross_off("short_share", _most_on_one(view, ledger.dev_share) < places.demand.share)
    if places.demand.one_device:
        cross_off("short_gpu_memory", places.key < 0)
    if places.demand.colocate:
        cross_off("short_gpus", places.key < 0)
    if "tainted" in found:
        found["taints"] = ", ".join(
            sorted({t for s in ledger.kinds for t in s.taints if t not in places.demand.tolerates})
        )
    return found


def _most_on_one(view: View, column: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the largest of a column's values among the devices of each node."""
    most: NDArray[np.int64] = column.reshape(-1, view.ledger.width)[: view.ledger.count].max(axis=1)
    return most


def _extremes(view: View, places: Places, demand: Demand) -> dict[str, Fact]:
    """Name the node that comes nearest and how large the largest is, in device time."""
    ledger, n = view.ledger, view.ledger.count
    if not (demand.gpus or demand.one_device) or not n:
        return {}
    admitted = places.admitted()
    facts: dict[str, Fact] = {"largest_gpus": int(np.where(admitted, ledger.cap[GPUS][:n], 0).max()) * WHOLE}
    usable = admitted & ledger.open[:n] & ~ledger.drained[:n]
    free = np.where(usable, ledger.free[GPUS][:n] * WHOLE if demand.gpus else ledger.milli[:n], -1)
    if free.max(initial=-1) >= 0:
        facts |= {"most_free_gpus": int(free.max()), "best_node": ledger.specs[int(free.argmax())].name}
    return facts
