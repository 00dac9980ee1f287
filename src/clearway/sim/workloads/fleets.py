"""The machines of a replay: from a file, from the trace, or sized to the work."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from clearway.config.yaml_file import parse_yaml
from clearway.model.errors import InputError
from clearway.model.fleet import QueueSpec
from clearway.model.job import WHOLE
from clearway.model.machine_words import read_limit, read_nodes, read_queue
from clearway.sim.workloads.node_lists import OPENB_COLUMNS, SPOT_COLUMNS, machine_nodes, openb_nodes, spot_nodes
from clearway.sim.workloads.shapes import ONE_CPU, gpu_nodes, pool
from clearway.sim.workloads.textfile import head, opened

if TYPE_CHECKING:
    from pathlib import Path

    from clearway.model.fleet import LimitSpec, NodeSpec
    from clearway.sim.workloads.survey import Survey
    from clearway.sim.workloads.trace import Trace

USE = 0.8  # a fleet made up for a trace is so large that the trace's work keeps this part of it busy
NODE_GPUS = 8
DEFAULT_QUEUE = "default"
RULE = f"enough for the largest job, and for the trace's work to keep {USE:.0%} busy"


class Fleet(NamedTuple):
    """Machines, queues and limits of a replay, and where they come from."""

    nodes: tuple[NodeSpec, ...]
    queues: tuple[QueueSpec, ...] = ()
    limits: tuple[LimitSpec, ...] = ()
    notes: tuple[str, ...] = ()


def fleet_for(trace: Trace, survey: Survey, file: Path | None = None) -> Fleet:
    """Return the fleet of a file; without one the trace's own; without that one made to measure.

    Queues that nobody describes are made as queues are where nothing is said.
    """
    if file is not None:
        found = read_fleet(file)
        return found._replace(queues=_with_all(found.queues or trace.queues, survey))
    nodes, notes = trace.nodes, tuple[str, ...]()
    if not nodes:
        nodes, note = _to_measure(survey)
        notes = (note,)
    return Fleet(nodes, _with_all(trace.queues, survey), trace.limits, notes)


def read_fleet(path: Path) -> Fleet:
    """Read a fleet: Clearway's YAML (`fleet`, `queues`, `limits`), or one of the node lists that traces bring."""
    seen = head(path)
    if seen.columns == OPENB_COLUMNS:
        return Fleet(openb_nodes(path))
    if seen.columns == SPOT_COLUMNS:
        return Fleet(spot_nodes(path))
    if path.name.endswith(".machines"):
        return Fleet(machine_nodes(path))
    return _from_yaml(path)


def _from_yaml(path: Path) -> Fleet:
    with opened(path) as text:
        raw = parse_yaml(text.read(), str(path))
    fleet = raw.get("fleet") if isinstance(raw, dict) else None
    nodes = fleet.get("nodes") if isinstance(fleet, dict) else None
    if not isinstance(raw, dict) or not nodes:
        raise InputError("fleet", str(path), "a file with fleet: {nodes: [..]}, or a node list of a trace")
    return Fleet(
        tuple(node for words in nodes for node in read_nodes(words)),
        tuple(map(read_queue, raw.get("queues", []))),
        tuple(map(read_limit, raw.get("limits", []))),
    )


def _to_measure(survey: Survey) -> tuple[tuple[NodeSpec, ...], str]:
    """Return nodes of GPUs, or one pool of processors where no job asks for a GPU."""
    if survey.gpu_work:
        need = max(survey.gpu_work / (WHOLE * survey.span_us * USE), survey.largest_gpus / WHOLE)
        count = max(1, math.ceil(need / NODE_GPUS))
        return gpu_nodes(count, NODE_GPUS), f"no fleet is stated: {count} nodes of {NODE_GPUS} GPUs are taken: {RULE}"
    need = max(survey.cpu_work / (survey.span_us * USE), survey.largest_cpus)
    processors = max(1, math.ceil(need / ONE_CPU))
    return pool(processors), f"no fleet is stated: one pool of {processors} processors is taken: {RULE}"


def _with_all(queues: tuple[QueueSpec, ...], survey: Survey) -> tuple[QueueSpec, ...]:
    """Add the queues that only the jobs name."""
    known = {queue.name for queue in queues} | {DEFAULT_QUEUE}
    return (*queues, *(QueueSpec(name) for name in survey.queues if name not in known))
