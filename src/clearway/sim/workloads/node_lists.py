"""Fleets as traces state them: lists of nodes as CSV, and the machine files of scheduling logs."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from clearway.model.errors import InputError
from clearway.model.fleet import NodeSpec
from clearway.sim.workloads.shapes import ONE_CPU
from clearway.sim.workloads.textfile import numbered

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MIB = 2**20
KIB = 2**10
OPENB_COLUMNS = ["sn", "cpu_milli", "memory_mib", "gpu", "model"]
SPOT_COLUMNS = ["gpu_model", "gpu_capacity_num", "cpu_num", "node_name"]
MACHINE_FIELDS = 6


def rows(path: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV as maps."""
    return csv.DictReader(text for _, text in numbered(path))


def openb_nodes(path: Path) -> tuple[NodeSpec, ...]:
    """Read a node list of Alibaba's GPU sharing cluster."""
    return tuple(
        NodeSpec(
            row["sn"], cpus=int(row["cpu_milli"]), memory=int(row["memory_mib"]) * MIB,
            gpus=int(row["gpu"]), gpu_model=row["model"],
        )
        for row in rows(path)
    )  # fmt: skip


def spot_nodes(path: Path) -> tuple[NodeSpec, ...]:
    """Read a node list of Alibaba's spot cluster of 2026."""
    return tuple(
        NodeSpec(
            f"node-{row['node_name']}", cpus=int(row["cpu_num"]) * ONE_CPU,
            gpus=int(row["gpu_capacity_num"]), gpu_model=row["gpu_model"],
        )
        for row in rows(path)
    )  # fmt: skip


def machine_nodes(path: Path) -> tuple[NodeSpec, ...]:
    """Read a `.machines` file: per line number, name, nodes, processors a node, speed, KiB of memory a node."""
    nodes: list[NodeSpec] = []
    for number, text in numbered(path):
        fields = text.split()
        if not fields or text.startswith(";"):
            continue
        if len(fields) < MACHINE_FIELDS:
            raise InputError(
                "machines", text.strip(), "number, name, nodes, processors, speed, memory", f"line {number}"
            )
        count, cpus, memory = int(fields[2]), int(fields[3]) * ONE_CPU, int(fields[5]) * KIB
        width = len(str(count - 1))
        nodes += [NodeSpec(f"{fields[1]}-{i:0{width}d}", cpus=cpus, memory=memory) for i in range(count)]
    return tuple(nodes)
