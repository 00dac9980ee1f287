"""Traces of Gavel and Shockwave: 12 fields separated by tabs, no header. Jobs are rigid here and run as stated."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from clearway.model.job import JobSpec
from clearway.model.values import SECOND_US
from clearway.sim.truth import Truth
from clearway.sim.workloads.format import Format
from clearway.sim.workloads.order import Line
from clearway.sim.workloads.shapes import gpu_nodes, gpu_roles
from clearway.sim.workloads.textfile import numbered, positive, positive_us, stem, whole_us
from clearway.sim.workloads.trace import Arrival, Trace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clearway.sim.workloads.textfile import Head
    from clearway.sim.workloads.trace import Damage

FIELDS = 12
TYPE, _, _, _, _, _, GPUS, _, PRIORITY, _, DURATION, AT = range(12)
NODE_GPUS = 4
FLEETS = {"120": 32, "220": 64}  # GPUs by the number of jobs that the file's name begins with
OTHER_GPUS = 32


def _matches(head: Head) -> bool:
    fields = head.lines[0].split("\t") if head.lines else []
    return len(fields) == FIELDS and fields[GPUS].isdigit() and fields[TYPE].count("(batch size") <= 1


def _lines(path: Path, damage: Damage) -> Iterator[Line]:
    for number, text in numbered(path):
        fields = text.rstrip("\r\n").split("\t")
        try:
            if len(fields) != FIELDS:
                raise ValueError(f"{len(fields)} fields instead of {FIELDS}")  # noqa: TRY301 - counted as other damage
            yield Line(whole_us(fields[AT], SECOND_US), number, fields)
        except ValueError as error:
            damage.add(number, error)


def _build(line: Line) -> Arrival:
    fields = line.fields
    model = fields[TYPE].partition(" (")[0]
    roles = gpu_roles(positive(fields[GPUS], "scale factor"), NODE_GPUS)
    spec = JobSpec(f"{model}-{line.number - 1}", roles, labels=(("model", model),))
    return Arrival(line.at_us, spec, Truth(runtimes_us=(positive_us(fields[DURATION], SECOND_US, "duration"),)))


def _read(path: Path) -> Trace:
    gpus = FLEETS.get(stem(path).partition("_")[0], OTHER_GPUS)
    return Trace(
        "shockwave", path, partial(_lines, path), _build, nodes=gpu_nodes(gpus // NODE_GPUS, NODE_GPUS, "V100"),
        notes=(f"{gpus} V100 on nodes of {NODE_GPUS}", "jobs run as long as stated, on the GPUs they ask for"),
    )  # fmt: skip


FORMAT = Format("shockwave", "Gavel and Shockwave traces (tabs, no header)", _matches, _read)
