"""A first look at a whole trace: how many jobs, which queues, how much work. One pass; a few numbers are kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearway.model.job import JobSpec
    from clearway.sim.workloads.trace import Trace


@dataclass(slots=True)
class Need:
    """What jobs ask for: work in milli-units times microseconds; the largest job, and all together, in milli-units."""

    work: int = 0
    largest: int = 0
    together: int = 0

    def add(self, milli: int, run_us: int) -> None:
        """Count a job."""
        self.work += milli * run_us
        self.largest = max(self.largest, milli)
        self.together += milli


@dataclass
class Survey:
    """What a trace asks for, as fast as it was recorded: GPUs by the model named first (nothing: any), and CPUs."""

    jobs: int = 0
    queues: dict[str, int] = field(default_factory=dict)
    gpus: dict[str, Need] = field(default_factory=dict)
    cpus: Need = field(default_factory=Need)
    span_us: int = 1

    @classmethod
    def of(cls, trace: Trace) -> Survey:
        """Look at every job of a trace."""
        found = cls()
        for at_us, spec, truth in trace.arrivals():
            run_us = truth.runtime_us(1) or 0
            found.jobs += 1
            found.queues[spec.queue] = found.queues.get(spec.queue, 0) + 1
            if spec.milli_gpus:
                found.gpus.setdefault(_model(spec), Need()).add(spec.milli_gpus, run_us)
            found.cpus.add(sum(role.tasks * role.demand.cpus for role in spec.roles), run_us)
            found.span_us = max(found.span_us, at_us)
        return found


def _model(spec: JobSpec) -> str:
    """Return the model of GPU that a job names first, nothing where any will do."""
    return next((role.demand.gpu_models[0] for role in spec.roles if role.demand.gpu_models), "")
