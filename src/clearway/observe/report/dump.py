"""The comparison for programs: JSON with everything but the plots, CSV with one row a policy and queue."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from clearway.sim.results.outcome import labels

if TYPE_CHECKING:
    from clearway.sim.results.outcome import Comparison, Outcome

ALL_QUEUES = "*"
SPREADS = ("wait", "completion")
PARTS = ("mean", "median", "p95")
WHOLE = ("jobs", "refused", "unfinished", "finished", "succeeded", "makespan", "use", "fragmented", "bounded_slowdown")
REST = ("satisfied", "share_fairness", "preemptions", "losses")
FAIR = ("mean", "worst", "unfair")


def as_json(comparison: Comparison) -> dict[str, Any]:
    """Return all figures as plain data; times in seconds."""
    named = zip(labels(comparison.outcomes), comparison.outcomes, strict=True)
    return {
        "workload": comparison.workload,
        "format": comparison.format,
        "load": comparison.load,
        "fleet": comparison.fleet,
        "unit": comparison.unit,
        "partial": not comparison.complete,
        "damaged_lines": comparison.damaged_lines,
        "damage": list(comparison.damage),
        "notes": list(comparison.notes),
        "policies": {label: {**_about(outcome), **outcome.figures} for label, outcome in named},
        "differences": comparison.differences,
    }


def _about(outcome: Outcome) -> dict[str, Any]:
    speed = outcome.figures["finished"] / outcome.wall_s if outcome.wall_s else None
    return {
        "policy": outcome.policy, "seed": outcome.seed, "partial": not outcome.complete,
        "wall_seconds": outcome.wall_s, "jobs_per_second": speed, "peak_bytes": outcome.peak_bytes,
    }  # fmt: skip


def as_csv(comparison: Comparison) -> str:
    """Return one row a policy and queue, and one with queue `*` for all; cells without a figure are empty."""
    spans = [f"{what}_{part}" for what in SPREADS for part in PARTS]
    fair = [f"finish_time_fairness_{part}" for part in FAIR]
    out = io.StringIO()
    writer = csv.DictWriter(
        out, ["policy", "seed", "partial", "queue", *WHOLE, *spans, *fair, *REST], lineterminator="\n"
    )
    writer.writeheader()
    for label, outcome in zip(labels(comparison.outcomes), comparison.outcomes, strict=True):
        about = {"policy": label, "seed": outcome.seed, "partial": not outcome.complete}
        for queue, figures in ((ALL_QUEUES, outcome.figures), *outcome.figures["queues"].items()):
            writer.writerow({**about, "queue": queue, **_flat(figures)})
    return out.getvalue()


def _flat(figures: dict[str, Any]) -> dict[str, Any]:
    flat = {name: figures.get(name) for name in (*WHOLE, *REST)}
    flat |= {f"{what}_{part}": figures[what][part] for what in SPREADS for part in PARTS}
    return flat | {f"finish_time_fairness_{part}": figures["finish_time_fairness"][part] for part in FAIR}
