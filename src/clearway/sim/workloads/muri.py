"""Muri's traces of Philly's virtual clusters. Times are in milliseconds; the cluster file lies beside them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from clearway.model.job import JobSpec
from clearway.sim.truth import Truth
from clearway.sim.workloads.format import Format
from clearway.sim.workloads.node_lists import rows
from clearway.sim.workloads.shapes import gpu_nodes, gpu_roles
from clearway.sim.workloads.textfile import beside, csv_lines, positive, positive_us, whole_us
from clearway.sim.workloads.trace import Arrival, Trace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clearway.sim.workloads.order import Line
    from clearway.sim.workloads.textfile import Head
    from clearway.sim.workloads.trace import Damage

COLUMNS = "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,iteration_time"
ID, GPUS, SUBMIT, _, MODEL, _, DURATION = range(7)
MILLISECOND_US = 1000
NODES, NODE_GPUS = 8, 8  # the published cluster, where no cluster file says otherwise


def _matches(head: Head) -> bool:
    return ",".join(head.columns).startswith(COLUMNS)


def _lines(path: Path, damage: Damage) -> Iterator[Line]:
    return csv_lines(path, damage, lambda fields: whole_us(fields[SUBMIT], MILLISECOND_US))


def _build(line: Line, per_node: int) -> Arrival:
    fields = line.fields
    roles = gpu_roles(positive(fields[GPUS], "num_gpu"), per_node)
    spec = JobSpec(f"{fields[MODEL]}-{fields[ID]}", roles, labels=(("model", fields[MODEL]),))
    truth = Truth(runtimes_us=(positive_us(fields[DURATION], MILLISECOND_US, "duration"),))
    return Arrival(line.at_us, spec, truth)


def _read(path: Path) -> Trace:
    file = beside(path, "n8g8.csv")
    stated = next(iter(rows(file)), None) if file else None
    nodes, gpus = NODES, NODE_GPUS
    if stated:
        nodes, gpus = int(stated["num_switch"]) * int(stated["num_node_p_switch"]), int(stated["num_gpu_p_node"])
    return Trace(
        "muri", path, partial(_lines, path), partial(_build, per_node=gpus),
        nodes=gpu_nodes(nodes, gpus), notes=("the source file states times in milliseconds",),
    )  # fmt: skip


FORMAT = Format("muri", "Muri's virtual clusters of Philly (CSV, milliseconds)", _matches, _read)
