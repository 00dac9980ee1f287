"""Alibaba's GPU sharing cluster of 2023 ("openb"): pods with shares of a device, and node lists beside them."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING

from clearway.model.job import WHOLE, Demand, JobSpec, Role
from clearway.model.values import SECOND_US
from clearway.sim.truth import Truth
from clearway.sim.workloads.format import Format
from clearway.sim.workloads.node_lists import openb_nodes
from clearway.sim.workloads.shapes import REMEMBERED
from clearway.sim.workloads.textfile import beside, csv_lines, head, positive, positive_us, whole_us
from clearway.sim.workloads.trace import Arrival, Trace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clearway.sim.workloads.order import Line
    from clearway.sim.workloads.textfile import Head
    from clearway.sim.workloads.trace import Damage

COLUMNS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
)
NAME, CPU, MEMORY, GPUS, SHARE, MODELS, QOS, _, CREATED, DELETED, SCHEDULED = range(11)
MIB = 2**20
TIMELESS = 5  # some of the lists end after the GPUs: their pods have no times and no class of service
NODE_LISTS = ("openb_node_list_gpu_node.csv.gz", "openb_node_list_gpu_node.csv")


def _matches(seen: Head) -> bool:
    return seen.columns in (COLUMNS.split(","), COLUMNS.split(",")[:TIMELESS])


def _lines(path: Path, damage: Damage) -> Iterator[Line]:
    return csv_lines(path, damage, lambda fields: whole_us(fields[CREATED], SECOND_US))


def _timeless_lines(path: Path, damage: Damage) -> Iterator[Line]:
    """Yield pods without times: one comes every second."""
    for line in csv_lines(path, damage, lambda _: 0):
        yield line._replace(at_us=(line.number - 2) * SECOND_US)


@lru_cache(REMEMBERED)
def pod_roles(cpu: str, memory: str, gpus: str, share: str, models: str) -> tuple[Role, ...]:
    """Return what a pod asks for; `models` are joined by a bar."""
    whole, milli = int(gpus), int(share or 0)
    if whole == 1 and 0 < milli < WHOLE:
        whole = 0
    elif whole > 0:
        milli = 0
    wanted = tuple(dict.fromkeys(models.split("|"))) if models and int(gpus) else ()
    return (Role(demand=Demand(whole, milli, cpus=int(cpu), memory=int(memory) * MIB, gpu_models=wanted)),)


def pod_spec(fields: list[str], name: str = "") -> JobSpec:
    """Return the job of one row, under another name if one is given."""
    if len(fields) == TIMELESS:
        return JobSpec(name or fields[NAME], pod_roles(*fields[CPU:TIMELESS], ""))
    roles = pod_roles(*fields[CPU : MODELS + 1])
    return JobSpec(name or fields[NAME], roles, queue=fields[QOS] or "default")


def _build(line: Line) -> Arrival:
    """Return a pod's job: it runs from when it was scheduled to its end; one that never was, from its entry."""
    fields = line.fields
    positive(fields[DELETED], "deletion_time")
    begun_us = whole_us(fields[SCHEDULED] or fields[CREATED], SECOND_US)
    runtime_us = positive_us(fields[DELETED], SECOND_US, "deletion_time") - begun_us
    if runtime_us <= 0:
        raise ValueError("it ends before it begins")
    return Arrival(line.at_us, pod_spec(fields), Truth(runtimes_us=(runtime_us,)))


def _build_timeless(line: Line) -> Arrival:
    return Arrival(line.at_us, pod_spec(line.fields), Truth())


def _read(path: Path) -> Trace:
    list_of_nodes = beside(path, *NODE_LISTS)
    nodes = openb_nodes(list_of_nodes) if list_of_nodes else ()
    if len(head(path).columns) == TIMELESS:
        notes = ("pods have no times: one comes every second, and none ends", "GPU nodes only")
        return Trace("openb", path, partial(_timeless_lines, path), _build_timeless, nodes, notes=notes)
    notes = ("queues are the pods' classes of service", "GPU nodes only, as in the published runs")
    return Trace("openb", path, partial(_lines, path), _build, nodes, notes=notes)


FORMAT = Format("openb", "Alibaba GPU sharing 2023: pods with shares of a device (CSV)", _matches, _read)
