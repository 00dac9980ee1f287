"""Workloads of Pollux and Sia: applications whose speed was measured. Jobs are rigid here.

A job keeps the replicas and the batch size that its row asks for. It runs as many iterations as the log of its
application holds at that batch size, each as long as was measured for so many replicas (`profiles.py`).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from clearway.model.job import JobSpec
from clearway.model.values import SECOND_US
from clearway.sim.truth import Truth
from clearway.sim.workloads.format import Format
from clearway.sim.workloads.profiles import Profiles
from clearway.sim.workloads.shapes import gpu_nodes, gpu_roles
from clearway.sim.workloads.textfile import csv_lines, positive, whole_us
from clearway.sim.workloads.trace import Arrival, Trace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clearway.sim.workloads.order import Line
    from clearway.sim.workloads.textfile import Head
    from clearway.sim.workloads.trace import Damage

NAME, AT, APPLICATION, REPLICAS, BATCH = range(5)
NODES, NODE_GPUS = 16, 4  # the cluster of Pollux' published runs
NOTES = (
    f"{NODES} nodes of {NODE_GPUS} T4",
    "elastic jobs keep the replicas and batch size they ask for",
    "run time = iterations in the application's log x measured time of a step",
)


def _matches(head: Head) -> bool:
    return head.columns == ["name", "time", "application", "num_replicas", "batch_size"]


def _lines(path: Path, damage: Damage) -> Iterator[Line]:
    return csv_lines(path, damage, lambda fields: whole_us(fields[AT], SECOND_US))


def _build(line: Line, profiles: Profiles) -> Arrival:
    fields = line.fields
    replicas, batch = positive(fields[REPLICAS], "num_replicas"), positive(fields[BATCH], "batch_size")
    runtime_s = profiles.runtime_s(fields[APPLICATION], replicas, batch)
    spec = JobSpec(
        fields[NAME], gpu_roles(replicas, NODE_GPUS), labels=(("model", fields[APPLICATION]),),
    )  # fmt: skip
    return Arrival(line.at_us, spec, Truth(runtimes_us=(max(1, round(runtime_s * SECOND_US)),)))


def _read(path: Path) -> Trace:
    profiles = Profiles.near(path)
    return Trace(
        "pollux", path, partial(_lines, path), partial(_build, profiles=profiles),
        nodes=gpu_nodes(NODES, NODE_GPUS, "T4"), notes=NOTES,
    )  # fmt: skip


FORMAT = Format(
    "pollux", "Pollux and Sia workloads (CSV, measured profiles in a folder `traces` above)", _matches, _read
)
