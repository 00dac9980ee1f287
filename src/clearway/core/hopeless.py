"""Whether a job would find no place even if every open node were empty."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clearway.core.devices import fits, pick
from clearway.core.draft import Draft
from clearway.core.place import grant_of
from clearway.model.ids import NodeId

if TYPE_CHECKING:
    from clearway.core.ledger import Ledger
    from clearway.core.line import WaitClass


def hopeless(cls: WaitClass, ledger: Ledger) -> bool:
    """Return whether a class cannot be held by the open fleet; worked out once per class and fleet."""
    if cls.fleet != ledger.fleet_revision:
        cls.fleet = ledger.fleet_revision
        cls.cannot = _alone(cls) or _no_domain(cls) or (len(cls.spec.roles) > 1 and not _together(cls, ledger))
    return cls.cannot


def _no_domain(cls: WaitClass) -> bool:
    """Return whether no domain that is required could hold the job even if it were empty."""
    return cls.bound is not None and bool(cls.bound.required) and not cls.bound.usable().any()


def could_ever(cls: WaitClass, ledger: Ledger) -> bool:
    """Return whether nodes that are drained, quiet or lost could hold a class together with the open ones."""
    shut = ~ledger.open[: ledger.count] | ledger.drained[: ledger.count]
    if not any((places.admitted() & shut).any() for places in cls.places):
        return False
    for role, places in zip(cls.spec.roles, cls.places, strict=True):
        mask = places.admitted()
        for row, amount in ledger.needs_of(role.demand):
            mask &= ledger.cap[row][: ledger.count] >= amount
        each = np.where(mask, 1 if role.one_per_node else role.min_tasks, 0)
        for row, amount in ledger.needs_of(role.demand):
            each = np.minimum(each, ledger.cap[row][: ledger.count] // amount)
        if int(each.sum()) < role.min_tasks:
            return False
    return True


def _alone(cls: WaitClass) -> bool:
    """Return whether some role finds no room for its least tasks on an empty fleet, looked at by itself."""
    for role, places in zip(cls.spec.roles, cls.places, strict=True):
        if places.slots(empty=True, one_each=role.one_per_node) < role.min_tasks:
            return True
    return False


def _together(cls: WaitClass, ledger: Ledger) -> bool:
    """Return whether all roles find room side by side, placed one after the other on books without grants."""
    empty = ledger.emptied()
    draft = Draft(empty)
    try:
        return _stand(cls, empty, draft)
    finally:
        draft.undo()


def _stand(cls: WaitClass, empty: Ledger, draft: Draft) -> bool:
    for number, role in enumerate(cls.spec.roles):
        left = role.min_tasks
        for node in cls.places[number].may.nonzero()[0].tolist():
            while left and fits(empty, NodeId(node), role.demand):
                devices = pick(empty, NodeId(node), role.demand) or ()
                draft.take(grant_of(number, left, NodeId(node), devices, role.demand), role.demand)
                left -= 1
                if role.one_per_node:
                    break
            if not left:
                break
        if left:
            return False
    return True
