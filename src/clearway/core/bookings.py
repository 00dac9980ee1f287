"""Bookings: nodes, or so many devices of them, that are kept for some queues and users for a time.

A job that is not for a booking is not started where it would still run when the booking begins, or while it lasts;
one of unknown length never. What runs there already goes on. Jobs that the booking is for start there as anywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clearway.model.reasons import Code, Reason, because

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from clearway.core.ledger import Ledger
    from clearway.core.profile import Ends
    from clearway.core.queues import Queues
    from clearway.model.fleet import BookingSpec
    from clearway.model.ids import JobId, NodeId
    from clearway.model.job import JobSpec

WHOLE_NODE = -1
"""In place of a number of devices: nothing of the node is left to others."""


class Kept(NamedTuple):
    """A booking with what it keeps: devices by node."""

    booking: BookingSpec
    places: Mapping[NodeId, int]

    def overlaps(self, start_us: int, end_us: int) -> bool:
        """Return whether its time has a moment in common with [start, end)."""
        return self.booking.from_us < end_us and self.booking.to_us > start_us


class Bookings:
    """All bookings that are not over."""

    def __init__(self, ledger: Ledger, queues: Queues) -> None:
        """Begin with none."""
        self._ledger, self._queues = ledger, queues
        self.kept: dict[str, Kept] = {}

    def __bool__(self) -> bool:
        """Return whether there is any booking."""
        return bool(self.kept)

    def set(self, booking: BookingSpec, places: Mapping[NodeId, int]) -> None:
        """Make or change a booking."""
        self.kept[booking.name] = Kept(booking, dict(places))

    def remove(self, name: str) -> None:
        """Forget a booking."""
        del self.kept[name]

    def is_for(self, kept: Kept, spec: JobSpec) -> bool:
        """Return whether a job is one of those that a booking is for: by its user, its queue or one above it."""
        whom = kept.booking.whom
        return spec.user in whom or any(name in whom for name in self._queues.chain(spec.queue))

    def of_user(self, user: str) -> tuple[str, ...]:
        """Return the bookings that are for a user by name."""
        return tuple(name for name, kept in sorted(self.kept.items()) if user in kept.booking.whom)

    def against(self, spec: JobSpec, start_us: int, end_us: int) -> list[Kept]:
        """Return the bookings that keep something from a job that would run in [start, end)."""
        return [kept for kept in self.kept.values() if kept.overlaps(start_us, end_us) and not self.is_for(kept, spec)]

    def shut(self, spec: JobSpec, start_us: int, end_us: int) -> NDArray[np.bool_] | None:
        """Return the nodes that are kept whole from a job that would run in [start, end); None where there are none."""
        nodes = [
            node
            for kept in self.against(spec, start_us, end_us)
            for node, many in kept.places.items()
            if many == WHOLE_NODE
        ]
        if not nodes:
            return None
        mask = np.zeros(self._ledger.count, np.bool_)
        mask[nodes] = True
        return mask

    def counted(self, spec: JobSpec, node: NodeId, start_us: int, end_us: int) -> list[Kept]:
        """Return the bookings that keep some devices of a node from a job that would run in [start, end)."""
        return [kept for kept in self.against(spec, start_us, end_us) if kept.places.get(node, 0) > 0]

    def own(self, spec: JobSpec, now_us: int) -> list[Kept]:
        """Return the bookings that last at a moment and that a job is one of those for."""
        return [kept for kept in self.kept.values() if kept.overlaps(now_us, now_us + 1) and self.is_for(kept, spec)]

    def still_needs(
        self, kept: Kept, node: NodeId, moment_us: int, ends: Ends, spec_of: Callable[[JobId], JobSpec]
    ) -> int:
        """Return how many devices a booking keeps idle on a node at a moment: without what its own jobs hold there."""
        mine = 0
        for job in self._ledger.on_node[node]:
            if job < 0:  # the boot of a machine that is on its way
                continue
            expected = ends.jobs.get(job)
            gone = expected is not None and expected.end_us <= moment_us
            if not gone and self.is_for(kept, spec_of(job)):
                mine += sum(len(one.grant.devices) for one in self._ledger.holdings[job] if one.grant.node == node)
        return kept.places.get(node, 0) - mine

    def ends_after(self, moment_us: int) -> list[int]:
        """Return the moments after this one at which a booking ends, in order."""
        return sorted({kept.booking.to_us for kept in self.kept.values() if kept.booking.to_us > moment_us})

    def reason(self, spec: JobSpec, start_us: int, end_us: int) -> Reason:
        """Return which booking keeps a job from where it has room; the first to begin."""
        first = min(
            self.against(spec, start_us, end_us), key=lambda kept: (kept.booking.from_us, kept.booking.name)
        ).booking
        return because(Code.BOOKED, booking=first.name, from_us=first.from_us, to_us=first.to_us)
