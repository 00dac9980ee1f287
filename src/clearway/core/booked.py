"""What bookings say in one cycle: where they keep a job away, and where they keep room for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.core.bookings import WHOLE_NODE
from clearway.core.profile import NEVER
from clearway.core.resources import GPUS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from clearway.core.bookings import Kept
    from clearway.core.line import WaitClass, Waiting
    from clearway.core.view import View
    from clearway.model.ids import NodeId
    from clearway.model.job import JobSpec


class Booked:
    """The bookings at one moment. `asking` is the job for which places are looked at: those for others bind it."""

    def __init__(self, view: View, now_us: int) -> None:
        """Look at the bookings of a view at a moment."""
        self._view, self._all, self._now_us = view, view.bookings, now_us
        self.asking: JobSpec | None = None

    def __bool__(self) -> bool:
        """Return whether there is any booking."""
        return bool(self._all)

    def _end_us(self, waiting: Waiting, start_us: int) -> int:
        return min(start_us + waiting.estimate_us, NEVER)

    # --- for others ----------------------------------------------------------------------------

    def touched(self, waiting: Waiting) -> bool:
        """Return whether a job, started now, would run in the time of a booking for others."""
        end_us = self._end_us(waiting, self._now_us)
        return bool(self._all) and bool(self._all.against(waiting.spec, self._now_us, end_us))

    def shut(self, waiting: Waiting, start_us: int | None = None) -> NDArray[np.bool_] | None:
        """Return the nodes of which bookings for others leave nothing to a job that starts then, by default now."""
        if not self._all:
            return None
        start = self._now_us if start_us is None else start_us
        return self._all.shut(waiting.spec, start, self._end_us(waiting, start))

    def kept_on(self, node: NodeId, start_us: int, end_us: int) -> list[Kept]:
        """Return the bookings that keep devices of a node from the job that asks."""
        if not self._all or self.asking is None:
            return []
        return self._all.counted(self.asking, node, start_us, end_us)

    def moments(self, node: NodeId, end_us: int) -> list[int]:
        """Return when a task that stands on a node from now to `end_us` meets a booking of devices there."""
        return sorted({max(self._now_us, kept.booking.from_us) for kept in self.kept_on(node, self._now_us, end_us)})

    def find_theirs(self, node: NodeId, moment_us: int, standing: list[tuple[WaitClass, int]]) -> bool:
        """Return whether bookings find their devices idle on a node as it is drafted for a moment.

        `standing`: the tasks of promises that stand there then; those of jobs that a booking is for count as its own.
        """
        kept = self.kept_on(node, moment_us, moment_us + 1)
        if not kept:
            return True
        idle = int(self._view.ledger.free[GPUS][node])
        return all(idle >= self._still_needs(one, node, moment_us, standing) for one in kept)

    def _still_needs(self, kept: Kept, node: NodeId, moment_us: int, standing: list[tuple[WaitClass, int]]) -> int:
        promised = sum(
            cls.spec.roles[role].demand.gpus or int(cls.spec.roles[role].demand.one_device)
            for cls, role in standing
            if self._all.is_for(kept, cls.spec)
        )
        return self._all.still_needs(kept, node, moment_us, self._view.ends, self._view.spec_of) - promised

    def ends(self) -> list[int]:
        """Return the moments to come at which a booking ends."""
        return self._all.ends_after(self._now_us) if self._all else []

    # --- for the job itself --------------------------------------------------------------------

    def own(self, waiting: Waiting, node: NodeId) -> list[Kept]:
        """Return the bookings that last now, that a job is for, and that keep enough of a node for one of its tasks."""
        if not self._all:
            return []
        demands = [role.demand for role in waiting.spec.roles]
        most = max(demand.gpus or int(demand.one_device) for demand in demands)
        mine = self._all.own(waiting.spec, self._now_us)
        return [kept for kept in mine if self._enough(kept, node, most)]

    def _enough(self, kept: Kept, node: NodeId, devices: int) -> bool:
        many, view = kept.places.get(node, 0), self._view
        if many == WHOLE_NODE or not many:
            return bool(many)
        return self._all.still_needs(kept, node, self._now_us, view.ends, view.spec_of) >= devices > 0

    def unbarred(self, waiting: Waiting) -> list[NodeId]:
        """Return the nodes that are kept for a job now, so that nobody else's waiting bars them."""
        if not self._all:
            return []
        nodes = {node for kept in self._all.own(waiting.spec, self._now_us) for node in kept.places}
        return [node for node in sorted(nodes) if self.own(waiting, node)]

    def overrides(self, mine: list[Kept], promised: JobSpec) -> bool:
        """Return whether bookings of a job take precedence of a promise: to a job that one of them is not for."""
        return any(not self._all.is_for(kept, promised) for kept in mine)
