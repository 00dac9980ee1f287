"""What a job can never have as things are, and where it could stand at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clearway.core.line import pool_mask

if TYPE_CHECKING:
    from clearway.core.line import WaitClass
    from clearway.core.view import View
    from clearway.model.job import JobSpec


def beyond_limits(view: View, spec: JobSpec) -> bool:
    """Return whether a job asks for more than one of its limits would ever let it have, whoever else holds nothing."""
    need = view.queues.least_of(spec)
    slots = (view.queues.limits.get(name) for name in spec.uses)
    over = any(need.get(resource, 0) > limit for _, resource, _, limit, _ in view.queues.limits_of(spec))
    return over or any(limit is not None and not limit.slots for limit in slots)


def could_stand(view: View, cls: WaitClass) -> list[str]:
    """Return the nodes that could hold a task of a class if they were empty, in order of their numbers."""
    return [view.ledger.specs[node].name for node in np.flatnonzero(pool_mask(cls)).tolist()]
