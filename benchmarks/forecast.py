"""How good forecasts are, on pasts of others and by time order: whoever forecasts knows only what was over by then.

`--only` names parts (`run-times`, `boosted`, `orders`, `backfill`, `starts`, `running`), pasts, or both: without a
part, all parts that have one of the pasts. Tables to stdout, pictures to `out/forecast/`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks import (
    forecast_boosted,
    forecast_easy,
    forecast_orders,
    forecast_running,
    forecast_runs,
    forecast_starts,
)

if TYPE_CHECKING:
    from argparse import Namespace

TITLE = "forecasts of run times on public pasts: error, coverage by month, beside last run, group and estimate"
PARTS = {
    "run-times": forecast_runs, "boosted": forecast_boosted, "orders": forecast_orders, "backfill": forecast_easy,
    "starts": forecast_starts, "running": forecast_running,
}  # fmt: skip
"""A part is a module with KEYS, the names of its pasts as PASTS, and `run(data, names)`."""
ONLY = tuple(dict.fromkeys([*PARTS, *(name for part in PARTS.values() for name in part.PASTS)]))

KEYS = {key: meaning for part in PARTS.values() for key, meaning in part.KEYS.items()}


def run(args: Namespace) -> dict[str, Any]:
    """Run the parts that are asked for, on the pasts that are."""
    asked = set(args.only or ())
    wanted, pasts = [name for name in PARTS if name in asked] or list(PARTS), asked - PARTS.keys()
    found: dict[str, Any] = {}
    for name in wanted:
        names = [past for past in PARTS[name].PASTS if not pasts or past in pasts]
        if names:
            found |= PARTS[name].run(args.data, names)
    return found
