"""What load is to come, worked out from the journal: by whoever has it open."""

from __future__ import annotations

import time
from itertools import chain
from typing import TYPE_CHECKING, Any

from clearway.api.moments import iso
from clearway.api.past.questions import moment_ago
from clearway.compose.load_models import load_models
from clearway.forecast.load.outlook import ahead
from clearway.forecast.load.series import DAY_S, WEEK_S, Series
from clearway.model.errors import NotFoundError
from clearway.model.values import SECOND_US
from clearway.observe.load_history import STEP_S, load_history

if TYPE_CHECKING:
    from clearway.compose.past import PastOf
    from clearway.forecast.load.outlook import LoadAhead
    from clearway.forecast.load.series import Floats

HORIZONS_S = (300, 1800, 3600, DAY_S)
THURSDAY = 3
"""The first day of 1970, in weeks that begin on Monday."""
LATEST_BREAKS = 20


def load(past: PastOf, queue: str | None, since: str) -> dict[str, Any]:
    """Forecast arrivals and GPUs in use, of a queue or of all, by what has been since a moment or so long ago.

    NotFoundError: there is no queue of that name.
    """
    to_us = time.time_ns() // 1000
    from_us = moment_ago("since", since, to_us)
    if queue is not None and queue not in past.world_at(None).state.view.queues.specs:
        raise NotFoundError(f"there is no queue {queue!r}")
    records = past.records_after(from_us)
    world = past.world_at(from_us)
    first = next(records, None)
    if first is not None and not world.state.nodes:
        from_us = max(from_us, first.at_us)  # before that there was nothing
    found = load_history(world, chain([] if first is None else [first], records), from_us, to_us, queue)
    shown = {"arrivals": found.arrivals, "gpus": found.gpus}
    return {
        "from": iso(from_us),
        "to": iso(to_us),
        "queue": queue,
        "step": STEP_S,
        "series": [_series(name, values, from_us) for name, values in shown.items()],
    }


def _series(name: str, values: Floats, from_us: int) -> dict[str, Any]:
    start_s = (from_us / SECOND_US + THURSDAY * DAY_S) % WEEK_S
    told = ahead(Series(name, values, STEP_S, start_s), HORIZONS_S, load_models())
    return {
        "name": name,
        "steps": len(values),
        "now": float(values[-1]) if len(values) else None,
        "ahead": [_row(one) for one in told.rows],
        "breaks": [
            {
                "side": one.side,
                "from": iso(from_us + one.begin * STEP_S * SECOND_US),
                "to": iso(from_us + (one.end + 1) * STEP_S * SECOND_US),
                "beyond": one.beyond,
            }
            for one in told.breaks[-LATEST_BREAKS:]
        ],
    }


def _row(one: LoadAhead) -> dict[str, Any]:
    def never_below_zero(within: tuple[float, float] | None) -> list[float] | None:
        return None if within is None else [max(bound, 0.0) for bound in within]

    return {
        "horizon": one.horizon_s,
        "middle": max(one.point, 0.0),
        "within_80": never_below_zero(one.within_80),
        "within_95": never_below_zero(one.within_95),
        "model": one.model,
        "error": one.error if one.judged else None,
        "persistence_error": one.persistence_error if one.judged else None,
        "judged": one.judged,
    }
