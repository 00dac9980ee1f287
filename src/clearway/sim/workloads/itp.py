"""ElasticFlow's traces of Microsoft's ITP clusters: seconds, deadlines. Jobs are rigid here.

The fleets are those of ElasticFlow's published runs, known by the name of the file.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from clearway.model.job import JobSpec
from clearway.model.values import SECOND_US
from clearway.sim.truth import Truth
from clearway.sim.workloads.format import Format
from clearway.sim.workloads.shapes import gpu_nodes, gpu_roles
from clearway.sim.workloads.textfile import csv_lines, head, positive, positive_us, stem, whole_us
from clearway.sim.workloads.trace import Arrival, Trace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clearway.sim.workloads.order import Line
    from clearway.sim.workloads.textfile import Head
    from clearway.sim.workloads.trace import Damage

NODE_GPUS = 8
NODES = {"cluster09": 128, "cluster10": 32, "philly_103959": 32, "195job": 16}
OTHER_NODES = 64


class _Columns(NamedTuple):
    """Where a column stands; the Philly file names some of them otherwise."""

    id: int
    submit: int
    model: int
    deadline: int
    gpus: int
    duration: int

    @classmethod
    def of(cls, names: list[str]) -> _Columns:
        """Find the columns by name. Raises ValueError where one is missing."""
        philly = "ddl" in names
        submit, deadline = ("submit_time", "ddl") if philly else ("submission_time", "deadline")
        return cls(*(names.index(n) for n in ("job_id", submit, "model_name", deadline, "num_gpu", "duration")))


def _matches(head: Head) -> bool:
    try:
        _Columns.of(head.columns)
    except ValueError:
        return False
    return True


def _lines(path: Path, at: _Columns, damage: Damage) -> Iterator[Line]:
    return csv_lines(path, damage, lambda fields: whole_us(fields[at.submit], SECOND_US))


def _build(line: Line, at: _Columns) -> Arrival:
    fields = line.fields
    spec = JobSpec(
        f"{fields[at.model]}-{fields[at.id]}", gpu_roles(positive(fields[at.gpus], "num_gpu"), NODE_GPUS),
        deadline_us=whole_us(fields[at.deadline], SECOND_US), labels=(("model", fields[at.model]),),
    )  # fmt: skip
    truth = Truth(runtimes_us=(positive_us(fields[at.duration], SECOND_US, "duration"),))
    return Arrival(line.at_us, spec, truth)


def _read(path: Path) -> Trace:
    at = _Columns.of(head(path).columns)
    count = NODES.get(stem(path), OTHER_NODES)
    return Trace(
        "itp", path, partial(_lines, path, at), partial(_build, at=at), nodes=gpu_nodes(count, NODE_GPUS),
        notes=(f"{count} nodes of {NODE_GPUS} GPUs, as in the published runs", "jobs keep the GPUs they ask for"),
    )  # fmt: skip


FORMAT = Format("itp", "Microsoft ITP clusters with deadlines, by ElasticFlow (CSV)", _matches, _read)
