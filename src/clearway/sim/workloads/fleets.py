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
    from clearway.sim.workloads.survey import Need, Survey
    from clearway.sim.workloads.trace import Trace

USE = 0.8  # a fleet made up for a trace is so large that the trace's work would fill at most this part of it
NODE_GPUS = 8
DEFAULT_QUEUE = "default"
RULES = {
    "largest": "as many as the largest job asks for",
    "all": "as many as all jobs together ask for",
    "work": (
        "so many that the work, spread evenly from the first submit to the last, "
        f"would fill at most {100 * USE:.0f} % of them"
    ),
}
PACE = "sized to the workload as it was recorded, the same for every --load"


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
    """Return nodes of GPUs for each model that jobs name, or one pool of processors where no job asks for a GPU."""
    if any(need.work for need in survey.gpus.values()):
        parts = [_nodes(model, need, survey.span_us) for model, need in sorted(survey.gpus.items())]
        said = "; ".join(f"{words}, {why}" for _, words, why in parts)
        return tuple(node for nodes, _, _ in parts for node in nodes), f"no fleet is stated: {said}; {PACE}"
    need, why = _enough(survey.cpus, survey.span_us)
    count = max(1, math.ceil(need / ONE_CPU))
    return pool(count), f"no fleet is stated: one pool of {count:,} CPUs, {why}; {PACE}"


def _nodes(model: str, need: Need, span_us: int) -> tuple[tuple[NodeSpec, ...], str, str]:
    milli, why = _enough(need, span_us)
    count = max(1, math.ceil(milli / (WHOLE * NODE_GPUS)))
    words = f"{'1 node' if count == 1 else f'{count:,} nodes'} of {NODE_GPUS} {f'{model} ' if model else ''}GPUs"
    return gpu_nodes(count, NODE_GPUS, model, model or "node"), words, why


def _enough(need: Need, span_us: int) -> tuple[float, str]:
    """Return how many thousandths of a unit are needed, and by which rule.

    Jobs that come nearly at once would ask for a fleet without bounds: more than all of them hold is never needed.
    """
    even = need.work / (span_us * USE)
    if even <= need.largest:
        return need.largest, RULES["largest"]
    return (need.together, RULES["all"]) if even >= need.together else (even, RULES["work"])


def _with_all(queues: tuple[QueueSpec, ...], survey: Survey) -> tuple[QueueSpec, ...]:
    """Add the queues that only the jobs name."""
    known = {queue.name for queue in queues} | {DEFAULT_QUEUE}
    return (*queues, *(QueueSpec(name) for name in survey.queues if name not in known))
