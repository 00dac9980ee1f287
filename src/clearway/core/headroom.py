"""Room below the limits of queues that is kept, with a place, for the job that it is being cleared for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from clearway.core.line import Waiting
    from clearway.core.queues import Amounts
    from clearway.core.view import Reservation, View
    from clearway.model.ids import JobId
    from clearway.model.job import Demand, JobSpec


def kept_free(view: View, takers: Iterable[JobSpec]) -> dict[str, Amounts]:
    """Return what is given back soon, less what takers will hold, for each of their queues at every level."""
    queues = view.queues
    less: dict[str, Amounts] = {}
    for spec in takers:
        for name in queues.chain(spec.queue):
            _add(less.setdefault(name, {}), queues.least_of(spec), -1)
    for name, running_in in view.running_in.items():
        levels = [level for level in queues.chain(name) if level in less]
        for running in running_in.values() if levels else ():
            if running.stopping or running.leaving:
                for one in view.ledger.holdings[running.job]:
                    if running.stopping or (one.grant.role, one.grant.index) in running.leaving:
                        for level in levels:
                            _add(less[level], queues.use(one.demand), 1)
    return less


class Headroom:
    """What is kept free in one cycle, worked out once for the same takers until something is promised or starts."""

    def __init__(self, view: View) -> None:
        """Begin with nothing worked out."""
        self._view = view
        self._kept: dict[tuple[JobId, ...], dict[str, Amounts]] = {}

    def leaves(self, waiting: Waiting, takers: Sequence[Waiting]) -> bool:
        """Return whether a job that starts now leaves below the limits of queues what takers need."""
        if not takers:
            return True
        who = tuple([one.job for one in takers])
        kept = self._kept.get(who)
        if kept is None:
            kept = self._kept[who] = kept_free(self._view, [one.spec for one in takers])
        return self._view.queues.held_back(waiting.spec, kept) is None

    def forget(self) -> None:
        """Work everything out anew."""
        self._kept.clear()


def still_clearing(view: View, promise: Reservation) -> bool:
    """Return whether someone on a place that is being cleared is still there."""
    for node in sorted({grant.node for grant in promise.grants}):
        for job in sorted(view.ledger.on_node[node]):
            running = view.running.get(job)
            if running is not None and (running.stopping or running.leaving):
                return True
    return False


def _add(to: Amounts, amounts: Amounts, sign: int) -> None:
    for resource, amount in amounts.items():
        to[resource] = to.get(resource, 0) + sign * amount


def room_beside(view: View, gone: Mapping[str, Amounts], spec: JobSpec, demand: Demand, more: int) -> int:
    """Return how many of `more` further tasks leave below all limits what is kept free for others."""
    needs = view.queues.use(demand)
    for name, resource, used, limit, _ in view.queues.limits_of(spec):
        if needs.get(resource) and resource in gone.get(name, {}):
            more = min(more, (limit - used + gone[name][resource]) // needs[resource])
    return max(more, 0)
