"""The pasts on which forecasts are judged: what was known of each job at its submit, how long it ran, when it ended.

Where a log says how long a job waited its end is known; elsewhere it is taken to start at once. That gives forecasts
more to know than they would have had, and baselines as much.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from clearway.ports.forecaster import Known, known_of
from clearway.sim.workloads import open_workload

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Past(NamedTuple):
    """One job of a past."""

    known: Known
    ran_us: int
    ended_us: int


PASTS: dict[str, tuple[str, ...]] = {
    "philly": ("philly/philly.csv.gz",),
    **{f"itp-{n}": (f"itp-elasticflow/cluster{n}.csv.gz",) for n in ("01", "03", "05", "06", "09")},
    "nasa": ("swf/NASA-iPSC-1993-3.1-cln.swf.zip",),
    "hpc2n": ("swf/hpc2n_alea_excerpt.swf.gz",),
    "lcg": ("swf/LCG.swf.gz",),
    "openb": ("fgd-openb/openb_pod_list_default.csv.gz",),
    "pai": ("gaia-cluster/pai-100k.csv.gz",),
    "azure": ("gaia-cluster/azure-100k.csv.gz",),
    "mustang": ("gaia-cluster/mustang-trace-2015-100k.csv.gz",),
    "muri-4": ("muri/trace4.csv.gz",),
    "lublin": ("swf/lublin_256.swf.gz",),
    "chronus": ("chronus-deadlines/trace_job_Philly_SLO.csv.gz",),
    "pollux": tuple(f"pollux/workloads/workload-{n}.csv" for n in range(1, 9)),
}
"""Files by name; where there are several each begins anew, and their jobs are judged together. The last ones are made
or chosen by their authors: lublin is a model, chronus and muri are parts of Philly, pollux is drawn."""


def read(data: Path, name: str) -> Iterator[list[Past]]:
    """Yield each file's jobs in order of their submits."""
    for file in PASTS[name]:
        trace = open_workload(data / file)
        begin_us, jobs = trace.clock_us or 0, []
        for arrival in trace.arrivals():
            ran_us = arrival.truth.runtime_us(1)
            if ran_us is not None:
                ended_us = begin_us + arrival.at_us + max(arrival.truth.took_us or 0, ran_us, 1)
                jobs.append(Past(known_of(arrival.spec, begin_us + arrival.at_us), ran_us, ended_us))
        yield jobs
