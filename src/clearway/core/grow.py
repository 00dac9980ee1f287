"""Jobs that can use more tasks than they have grow into what is left when every waiting job has been considered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clearway.core.devices import pick
from clearway.core.headroom import kept_free, room_beside
from clearway.core.ledger import Held
from clearway.core.place import either, grant_of
from clearway.core.places import NONE
from clearway.core.profile import NEVER
from clearway.core.turns import apart
from clearway.model.events import Resized
from clearway.model.ids import NodeId
from clearway.model.reasons import Code, because

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from clearway.core.backfill import Promises
    from clearway.core.domains import Domain
    from clearway.core.draft import Draft
    from clearway.core.view import Running, View
    from clearway.model.events import Grant


def grow(view: View, draft: Draft, promises: Promises, barred: NDArray[np.bool_] | None, now_us: int) -> list[Resized]:
    """Give running elastic jobs more tasks, in the order of priority and start; what is promised stays untouched."""
    found = []
    for job in sorted(view.elastic, key=lambda job: (-view.running[job].priority, view.running[job].started_us, job)):
        running = view.running[job]
        pinned = running.spec.pin is not None and running.attempt == 1  # a place fixed for that attempt
        if running.stopping or running.paused or running.leaving or running.ended_task or pinned:
            continue
        more = _more(view, draft, promises, barred, running, now_us)
        if more:
            draft.keep()
            view.count_more(job, running.spec, more)
            promises.started(job)
            cause = because(Code.GROWN, tasks=len(more))
            found.append(Resized(now_us, job, running.attempt, cause, more=tuple(one.grant for one in more)))
    return found


def _more(
    view: View, draft: Draft, promises: Promises, barred: NDArray[np.bool_] | None, running: Running, now_us: int
) -> list[Held]:
    more: list[Held] = []
    booked = view.bookings.shut(running.spec, now_us, NEVER) if view.bookings else None
    bound = view.bound_of(running.spec)
    shut = either(barred, booked)
    for number in range(len(running.spec.roles)):
        if bound is None or not bound.required or number not in bound.roles:
            more += _of_role(view, draft, promises, shut, running, number, more, None)
            continue
        here = bound.around([one.grant for one in (*view.ledger.holdings[running.job], *more)])
        # a job that began with none of the tasks that are bound has yet to choose where they are
        for domain in (here,) if here is not None else bound.domains(shut):
            found = _of_role(view, draft, promises, shut, running, number, more, domain)
            more += found
            if found:
                break
    return more


def _of_role(  # noqa: PLR0913, PLR0917 - one word for each part of the search
    view: View, draft: Draft, promises: Promises, barred: NDArray[np.bool_] | None, running: Running, number: int,
    others: Sequence[Held], domain: Domain | None,
) -> list[Held]:  # fmt: skip
    """Draft as many more tasks of a role as it can use and find room, inside a domain. `others`: drafted before."""
    role, more = running.spec.roles[number], list[Held]()
    mine = [one.grant for one in view.ledger.holdings[running.job] if one.grant.role == number]
    missing = view.queues.room_for(running.spec, role.demand, running.spec.worth(role) - len(mine))
    if view.queues.any_limit and (takers := [one.waiting.spec for one in promises.active if one.promise.held]):
        missing = room_beside(view, kept_free(view, takers), running.spec, role.demand, missing)
    first = running.next_index(number)  # an index is used once: engines know a task by it
    shut = _shut(view, barred, mine if role.one_per_node else [])
    places, within = view.places_of(role.demand), None
    if domain is not None:
        shut, within = either(shut, ~domain.nodes), domain.devices
    for index in range(first, first + missing):
        places.refresh()
        node = NodeId(places.best(shut))
        left = _left(view, running, [*others, *more], node, within) if role.demand.colocate else within
        devices = None if node == NONE else pick(view.ledger, node, role.demand, within=left)
        if devices is None:
            break
        grant = grant_of(view.ledger, number, index, node, devices, role.demand)
        mark = draft.mark()
        draft.take(grant, role.demand)
        if not promises.guard_all(running.spec)(node):
            draft.undo(mark)
            break
        more.append(Held(grant, role.demand))
        if role.one_per_node:
            shut = _shut(view, shut, [grant])
    return more


def _left(
    view: View, running: Running, more: list[Held], node: NodeId, within: frozenset[int] | None
) -> frozenset[int] | None:
    """Return the devices of a node on which no other task of the job takes turns."""
    mine = [*view.ledger.holdings[running.job], *more]
    return apart(view.ledger, node, within, [one.grant for one in mine])


def _shut(view: View, barred: NDArray[np.bool_] | None, grants: list[Grant]) -> NDArray[np.bool_] | None:
    if not grants:
        return barred
    shut = np.zeros(view.ledger.count, np.bool_) if barred is None else barred.copy()
    shut[[grant.node for grant in grants]] = True
    return shut
