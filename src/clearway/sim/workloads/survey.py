"""A first look at a whole trace: how many jobs, which queues, how much work. One pass; a few numbers are kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearway.sim.workloads.trace import Trace


@dataclass
class Survey:
    """What a trace asks for, at the pace at which it was recorded.

    Work is milli-units times microseconds; the largest job, and all of them together, in milli-units.
    """

    jobs: int = 0
    queues: dict[str, int] = field(default_factory=dict)
    gpu_work: int = 0
    cpu_work: int = 0
    largest_gpus: int = 0
    largest_cpus: int = 0
    all_gpus: int = 0
    all_cpus: int = 0
    span_us: int = 1

    @classmethod
    def of(cls, trace: Trace) -> Survey:
        """Look at every job of a trace."""
        found = cls()
        for at_us, spec, truth in trace.arrivals():
            run_us = truth.runtime_us(1) or 0
            gpus = spec.milli_gpus
            cpus = sum(role.tasks * role.demand.cpus for role in spec.roles)
            found.jobs += 1
            found.queues[spec.queue] = found.queues.get(spec.queue, 0) + 1
            found.gpu_work += gpus * run_us
            found.cpu_work += cpus * run_us
            found.largest_gpus = max(found.largest_gpus, gpus)
            found.largest_cpus = max(found.largest_cpus, cpus)
            found.all_gpus += gpus
            found.all_cpus += cpus
            found.span_us = max(found.span_us, at_us)
        return found
