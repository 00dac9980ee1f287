"""Chronus' Philly jobs with deadlines. Times are minutes: the submits span the 20,160 minutes of two weeks.

A deadline is counted from the submit; jobs of best effort have none. Some rows ask for no GPU: they run on one CPU.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from clearway.model.job import JobSpec
from clearway.model.values import SECOND_US
from clearway.sim.truth import Truth
from clearway.sim.workloads.format import Format
from clearway.sim.workloads.shapes import gpu_roles
from clearway.sim.workloads.textfile import csv_lines, positive_us, whole_us
from clearway.sim.workloads.trace import Arrival, Trace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clearway.sim.workloads.order import Line
    from clearway.sim.workloads.textfile import Head
    from clearway.sim.workloads.trace import Damage

COLUMNS = (
    "job_id,user,num_gpu,submit_time,iterations,model_name,duration,interval,"
    "expect_time_list,expect_value_list,best_effort,job_type"
)
ID, USER, GPUS, SUBMIT, _, MODEL, DURATION, _, DEADLINE, _, _, TYPE = range(12)
MINUTE_US = 60 * SECOND_US
NODE_GPUS = 8
NOTES = (
    "times in the source file are taken as minutes",
    "a deadline is counted from the submit; jobs of best effort have none",
)


def _matches(head: Head) -> bool:
    return head.columns == COLUMNS.split(",")


def _lines(path: Path, damage: Damage) -> Iterator[Line]:
    return csv_lines(path, damage, lambda fields: whole_us(fields[SUBMIT], MINUTE_US))


def _build(line: Line) -> Arrival:
    fields = line.fields
    gpus = int(fields[GPUS])
    if gpus < 0:
        raise ValueError(f"num_gpu {gpus} is below 0")
    strict = fields[TYPE] != "best"
    spec = JobSpec(
        f"{fields[MODEL]}-{fields[ID]}", gpu_roles(gpus, NODE_GPUS), queue=fields[USER] or "default",
        deadline_us=line.at_us + positive_us(fields[DEADLINE], MINUTE_US, "deadline") if strict else None,
        labels=(("model", fields[MODEL]),),
    )  # fmt: skip
    return Arrival(line.at_us, spec, Truth(runtimes_us=(positive_us(fields[DURATION], MINUTE_US, "duration"),)))


def _read(path: Path) -> Trace:
    return Trace("chronus", path, partial(_lines, path), _build, notes=NOTES)


FORMAT = Format("chronus", "Chronus' Philly jobs with deadlines (CSV, minutes)", _matches, _read)
