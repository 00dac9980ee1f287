"""Microsoft's Philly cluster of 2017, one row a job, with the sizes of its virtual clusters beside it.

A virtual cluster is a queue whose guarantee is the GPUs of its nodes; all share the machines, as they did.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from clearway.model.fleet import QueueSpec
from clearway.model.job import WHOLE, JobSpec
from clearway.model.values import SECOND_US
from clearway.sim.truth import Truth
from clearway.sim.workloads.format import Format
from clearway.sim.workloads.node_lists import rows
from clearway.sim.workloads.shapes import gpu_nodes, gpu_roles
from clearway.sim.workloads.textfile import beside, csv_lines, positive, positive_us
from clearway.sim.workloads.trace import Arrival, Trace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clearway.sim.workloads.order import Line
    from clearway.sim.workloads.textfile import Head
    from clearway.sim.workloads.trace import Damage

AT, DURATION, GPUS, _, CLUSTER = range(5)
NODE_GPUS = 8
NOTES = (
    "the trace has no time zone: UTC is taken",
    f"nodes of {NODE_GPUS} GPUs; each virtual cluster is a queue with its nodes as guarantee",
)


def _matches(head: Head) -> bool:
    return head.columns == ["timestamp", "duration", "num_gpus", "gpu_time", "cluster"]


def _moment_us(fields: list[str]) -> int:
    return round(datetime.fromisoformat(fields[AT]).replace(tzinfo=UTC).timestamp()) * SECOND_US


def _lines(path: Path, damage: Damage) -> Iterator[Line]:
    return csv_lines(path, damage, _moment_us)


def _build(line: Line) -> Arrival:
    fields = line.fields
    roles = gpu_roles(positive(fields[GPUS], "num_gpus"), NODE_GPUS)
    spec = JobSpec(f"job-{line.number - 1}", roles, queue=fields[CLUSTER] or "default")
    return Arrival(line.at_us, spec, Truth(runtimes_us=(positive_us(fields[DURATION], SECOND_US, "duration"),)))


def _read(path: Path) -> Trace:
    sizes = beside(path, "philly_vc.csv")
    clusters = {row["vc"]: int(row["node num"]) for row in rows(sizes)} if sizes else {}
    queues = tuple(
        QueueSpec(name, guarantee=(("gpus", nodes * NODE_GPUS * WHOLE),)) for name, nodes in clusters.items()
    )
    nodes = gpu_nodes(sum(clusters.values()), NODE_GPUS) if clusters else ()
    return Trace("philly", path, partial(_lines, path), _build, nodes, queues, notes=NOTES)


FORMAT = Format("philly", "Microsoft Philly 2017 (CSV, sizes of virtual clusters beside)", _matches, _read)
