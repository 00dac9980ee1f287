"""How good forecasts are, on pasts of others and by time order: whoever forecasts knows only what was over by then.

Parts: `run-times`, `boosted`, `orders`, `backfill`, `starts` (`--only`). Tables to stdout, pictures to `out/forecast/`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks import forecast_boosted, forecast_easy, forecast_orders, forecast_runs, forecast_starts

if TYPE_CHECKING:
    from argparse import Namespace

TITLE = "forecasts of run times on public pasts: error, coverage by month, beside last run, group and estimate"
PARTS = {
    "run-times": forecast_runs, "boosted": forecast_boosted, "orders": forecast_orders, "backfill": forecast_easy,
    "starts": forecast_starts,
}  # fmt: skip
"""A part is a module with KEYS and `run(args)`."""

KEYS = {key: meaning for part in PARTS.values() for key, meaning in part.KEYS.items()}


def run(args: Namespace) -> dict[str, Any]:
    """Run the parts that are asked for; `--only` may also name workloads."""
    wanted = [name for name in PARTS if name in (args.only or ())] or list(PARTS)
    found: dict[str, Any] = {}
    for name in wanted:
        found |= PARTS[name].run(args)
    return found
