"""GAIA's samples of cluster traces: arrival, length and CPUs. Hours; a file of whole numbers only is in seconds."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from clearway.model.job import JobSpec
from clearway.model.values import SECOND_US
from clearway.sim.truth import Truth
from clearway.sim.workloads.format import Format
from clearway.sim.workloads.shapes import cpu_roles
from clearway.sim.workloads.textfile import csv_lines, head, positive, positive_us, whole_us
from clearway.sim.workloads.trace import Arrival, Trace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clearway.sim.workloads.order import Line
    from clearway.sim.workloads.textfile import Head
    from clearway.sim.workloads.trace import Damage

AT, LENGTH, CPUS = range(3)
HOUR_US = 3600 * SECOND_US


def _matches(head: Head) -> bool:
    return head.columns == ["arrival_time", "length", "cpus"]


def _unit_us(path: Path) -> int:
    """Lengths of whole seconds are no whole hours: a fraction in the first lines tells hours."""
    rows = [line.split(",") for line in head(path).lines[1:]]
    whole = all(number.partition(".")[2].strip("0") == "" for row in rows for number in row[:CPUS])
    return SECOND_US if whole else HOUR_US


def _lines(path: Path, unit_us: int, damage: Damage) -> Iterator[Line]:
    return csv_lines(path, damage, lambda fields: whole_us(fields[AT], unit_us))


def _build(line: Line, unit_us: int) -> Arrival:
    fields = line.fields
    spec = JobSpec(f"job-{line.number - 1}", cpu_roles(positive(fields[CPUS], "cpus")))
    return Arrival(line.at_us, spec, Truth(runtimes_us=(positive_us(fields[LENGTH], unit_us, "length"),)))


def _read(path: Path) -> Trace:
    unit_us = _unit_us(path)
    note = f"the source file states times in {'hours' if unit_us == HOUR_US else 'seconds'}"
    return Trace("gaia", path, partial(_lines, path, unit_us), partial(_build, unit_us=unit_us), notes=(note,))


FORMAT = Format("gaia", "GAIA's samples of PAI, Azure and Mustang: arrival, length, cpus (CSV)", _matches, _read)
