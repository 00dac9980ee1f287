"""Whether a job would find no place even if every node were empty: on the open fleet, or on all nodes in good order.

The search for a place itself is asked, about books without grants: whoever is told that no node can ever run it would
not be started on an empty fleet either, and the other way round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from clearway.core.draft import Draft
from clearway.core.line import WaitClass, Waiting
from clearway.core.place import anywhere, place
from clearway.core.view import View
from clearway.model.ids import NodeId

if TYPE_CHECKING:
    from clearway.model.job import JobSpec


def hopeless(view: View, cls: WaitClass) -> bool:
    """Return whether a class cannot be held by the open fleet; worked out once per class and fleet."""
    if cls.fleet != view.ledger.fleet_revision:
        cls.fleet = view.ledger.fleet_revision
        cls.cannot = _alone(cls) or _no_domain(cls) or (len(cls.spec.roles) > 1 and not _stands(view, cls, whole=False))
        cls.never = cls.cannot and not _stands(view, cls, whole=True) and not _could_be_ordered(view, cls)
    return cls.cannot


def _alone(cls: WaitClass) -> bool:
    """Return whether some role finds no room for its least tasks on an empty fleet, looked at by itself."""
    for role, places in zip(cls.spec.roles, cls.places, strict=True):
        if places.slots(empty=True, one_each=role.one_per_node) < role.min_tasks:
            return True
    return False


def _no_domain(cls: WaitClass) -> bool:
    """Return whether no domain that is required could hold the job even if it were empty."""
    return cls.bound is not None and bool(cls.bound.required) and not cls.bound.usable().any()


def _stands(view: View, cls: WaitClass, *, whole: bool) -> bool:
    """Return whether the least tasks of a job find places on an empty fleet (`whole`: with all nodes in good order)."""
    return _holds(_emptied(view, whole=whole), cls)


def _could_be_ordered(view: View, cls: WaitClass) -> bool:
    """Return whether an empty fleet would hold a job together with all machines that may be ordered."""
    if not view.types:
        return False
    tasks = sum(role.min_tasks for role in cls.spec.roles)
    fleet = _bare(view)
    for _, kind in sorted(view.types.items()):
        there = sum(replace(spec, name=kind.name) == kind.node for spec in view.ledger.specs)
        for _ in range(min(kind.most - there, tasks)):
            fleet.ledger.add_node(NodeId(fleet.ledger.count), kind.node)
    return _holds(fleet, cls)


def _holds(empty: View, cls: WaitClass) -> bool:
    """Return whether the least tasks of a job find places on a fleet without grants."""
    spec = _least(cls.spec)
    if not any(role.tasks for role in spec.roles):
        return True
    one = next(iter(cls.jobs.values()))
    waiting = Waiting(one.candidate._replace(spec=spec), one.attempt, one.estimate_us)
    alone = WaitClass(cls.id, spec, [empty.places_of(role.demand) for role in spec.roles], empty.bound_of(spec))
    draft = Draft(empty.ledger)
    try:
        return place(empty, alone, waiting, draft, None, anywhere) is not None
    finally:
        draft.undo()


def _least(spec: JobSpec) -> JobSpec:
    """Return a job that asks for its least tasks only."""
    return replace(spec, roles=tuple(replace(role, tasks=role.min_tasks) for role in spec.roles))


def _emptied(view: View, *, whole: bool) -> View:
    """Return the same fleet without any grants; made once as long as the fleet stays as it is."""
    ledger = view.ledger
    made, found = view.emptied.get(whole, (-1, None))
    if found is None or made != ledger.fleet_revision:
        found = _bare(view)
        for node in range(0 if whole else ledger.count):
            number = NodeId(node)
            found.ledger.set_sick(number, ledger.unwell[node])
            found.ledger.set_drained(number, bool(ledger.drained[node]))
            found.ledger.set_open(number, is_open=bool(ledger.open[node]))
        view.emptied[whole] = (ledger.fleet_revision, found)
    return found


def _bare(view: View) -> View:
    """Return all nodes of a fleet in good order, without any grants."""
    found = View(view.rules)
    found.ledger.rows = view.ledger.rows
    for node, spec in enumerate(view.ledger.specs):
        found.ledger.add_node(NodeId(node), spec)
    return found
