"""The figures of a policy. docs/workload-format.md and the report say the same in words.

- `mean`, `median`, `p95` (nearest rank) of the wait (first start minus submit) and the completion time (end minus
  submit), of jobs that started and ended, in seconds.
- `bounded_slowdown`: mean of max(1, completion / max(last attempt's length, 10 s)), after Feitelson and Rudolph,
  "Metrics and benchmarking for parallel job scheduling" (1998).
- `makespan`: first submit to last end, in seconds. `use`: held over what was there, in that time. `fragmented`: the
  part that was free while a job that asks for it lacked capacity.
- `finish_time_fairness`: completion / (undisturbed run time, at least 10 s, x contention), where contention is how
  many times over the fleet was asked for, the mean over the job's stay and at each moment at least 1: above 1 it took
  longer than an equal part of the fleet would have. After Mahajan et al., "Themis" (NSDI 2020). `mean`, `worst`, and
  `unfair`: the part of the jobs above 1.05.
- `share_fairness`: Jain's index over queues of (held / asked for), each over the whole time: 1 when all queues get
  the same part of what they ask for.
- `preemptions`: attempts stopped for another job's sake.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from clearway.model.values import SECOND_US

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clearway.sim.results.columns import Jobs
    from clearway.sim.results.fold import Fold

BOUND_US = 10 * SECOND_US  # shorter runs count as this long, so that they do not rule the mean
P95 = 0.95
UNFAIR = 1.05  # what Shockwave and its followers count as unfair
THOUSAND = 1000

Figures = dict[str, Any]
"""Plain numbers and maps of them, ready for JSON; None where there is nothing to compute a figure from."""


def slowdowns(jobs: Jobs) -> NDArray[np.float64]:
    """Return the bounded slowdown of each job."""
    return np.maximum(1.0, jobs.jct_us / np.maximum(jobs.run_us, BOUND_US))


def fairness_ratios(jobs: Jobs) -> NDArray[np.float64]:
    """Return the finish-time fairness of each job."""
    alone_us = np.maximum(jobs.ideal_us, BOUND_US) * (jobs.contention_milli / THOUSAND)
    return jobs.jct_us / alone_us


def spread(values: NDArray[np.int64]) -> Figures:
    """Return mean, median and 95th percentile (nearest rank) of microseconds, in seconds."""
    if not len(values):
        return {"mean": None, "median": None, "p95": None}
    rank = math.ceil(P95 * len(values)) - 1
    p95 = np.partition(values, rank)[rank]
    return {
        "mean": float(values.mean()) / SECOND_US,
        "median": float(np.median(values)) / SECOND_US,
        "p95": float(p95) / SECOND_US,
    }


def of_jobs(jobs: Jobs) -> Figures:
    """Return the figures that a set of finished jobs has, whatever the fleet."""
    return {
        "finished": len(jobs.number),
        "succeeded": int(jobs.succeeded.sum()),
        "wait": spread(jobs.wait_us),
        "completion": spread(jobs.jct_us),
        "bounded_slowdown": float(slowdowns(jobs).mean()) if len(jobs.number) else None,
        "finish_time_fairness": _finish_time(jobs),
    }


def _finish_time(jobs: Jobs) -> Figures:
    ratios = fairness_ratios(jobs)
    if not len(ratios):
        return {"mean": None, "worst": None, "unfair": None}
    return {"mean": float(ratios.mean()), "worst": float(ratios.max()), "unfair": float((ratios > UNFAIR).mean())}


def of_run(fold: Fold, jobs: Jobs) -> Figures:
    """Return all figures of one policy; `queues` holds those of each queue."""
    held, there, wasted = fold.totals
    sums = fold.curves.totals()
    queues: Figures = {}
    for name, number in fold.queues.items():
        got, asked = sums.get(f"held/{name}", 0.0), sums.get(f"asked/{name}", 0.0)
        queues[name] = {
            **of_jobs(jobs.where(jobs.queue == number)),
            "use": got / there if there else None,
            "satisfied": got / asked if asked else None,
        }
    return {
        "jobs": fold.arrived, "refused": fold.refused, "unfinished": fold.alive, **of_jobs(jobs),
        "makespan": None if fold.first_us is None else (fold.last_end_us - fold.first_us) / SECOND_US,
        "use": held / there if there else None,
        "fragmented": wasted / there if there else None,
        "share_fairness": jain([q["satisfied"] for q in queues.values() if q["satisfied"] is not None]),
        "preemptions": fold.preemptions, "losses": fold.losses, "queues": queues,
    }  # fmt: skip


def jain(parts: list[float]) -> float | None:
    """Return Jain's index: 1 when all are equal, 1/n when one has all."""
    squares = sum(x * x for x in parts)
    return sum(parts) ** 2 / (len(parts) * squares) if squares else None
