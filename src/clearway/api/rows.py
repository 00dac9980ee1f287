"""Rows of the board as the API shows them: the words of docs/job.md and docs/scenario.md, in their units."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from clearway.api.left import left_row, odd_row
from clearway.api.moments import FACE, iso, iso_or_none
from clearway.model.fleet import PLENTY
from clearway.model.states import State, shown
from clearway.model.values import MILLI, SECOND_US, rate_text
from clearway.observe.words import needs, sentence

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clearway.api.desk import Desk
    from clearway.control import JobRow, NodeRow, QueueRow
    from clearway.control.rows import Progress
    from clearway.model.fleet import PolicySpec
    from clearway.model.reasons import Reason

_IN_THOUSANDTHS = frozenset({"gpus", "cpus", "bandwidth"})


def job_row(desk: Desk, row: JobRow) -> dict[str, Any]:
    """Return what lists show of a job."""
    devices: dict[str, set[int]] = {}
    for grant in row.grants:
        devices.setdefault(desk.node_name(grant.node), set()).update(grant.devices)
    return {
        "id": row.id,
        "name": row.name,
        "state": str(shown(row.state)),
        "inner_state": str(row.state),
        "queue": row.queue,
        "priority": row.priority,
        "user": row.user,
        "tenant": row.tenant,
        "submitted": iso(row.submitted_us),
        "started": iso_or_none(row.started_us),
        "ended": iso_or_none(row.ended_us),
        "stopped": iso_or_none(row.stopped_us),
        "attempt": row.attempt,
        "tasks": row.tasks,
        "gpus": plain(row.milli_gpus),
        "nodes": sorted(devices),
        "devices": {node: sorted(devices[node]) for node in sorted(devices)},
        "reason": main_reason(waits_for(desk, row) if row.reason is None else (row.reason,)),
        "exit_code": row.exit_code,
        "held_by": row.held_by,
        "promised": iso_or_none(row.promised_us),
        "left": left_row(desk, row),
        "odd": odd_row(desk, row),
        "array": None if row.progress is None else array_row(row.progress),
        "array_of": row.array,
        "index": row.index,
    }


def array_row(progress: Progress) -> dict[str, Any]:
    """Return how many jobs of an array do what, and the first that failed."""
    return {
        "indices": progress.array.text(),
        "jobs": progress.array.size,
        "waiting": progress.left,
        "running": progress.running,
        "succeeded": progress.succeeded,
        "failed": progress.failed,
        "cancelled": progress.cancelled,
        "failed_indices": list(progress.named),
    }


def waits_for(desk: Desk, row: JobRow) -> tuple[Reason, ...]:
    """Return why a job waits, of an array why one of its jobs does; nothing where it does not."""
    if row.progress is not None and not row.over:
        members = (one for one in list(desk.board.jobs.values()) if one.array == row.id and one.state is State.PENDING)
        row = next(members, row)
    return desk.board.reasons(row) if row.state is State.PENDING else ()


def main_reason(reasons: Iterable[Reason]) -> dict[str, str] | None:
    """Return reasons as one: the first one's code, and all sentences."""
    found = list(reasons)
    if not found:
        return None
    return {"code": str(found[0].code), "text": "; ".join(sentence(reason, FACE.moment) for reason in found)}


def full_reason(reason: Reason) -> dict[str, Any]:
    """Return all of one reason: code, sentence, its facts in the program's units, and what a task asks for."""
    told: dict[str, Any] = {"code": str(reason.code), "text": sentence(reason, FACE.moment)}
    told["facts"] = dict(reason.facts)
    if asked := needs(reason):
        told["needs"] = asked
    return told


def node_row(row: NodeRow) -> dict[str, Any]:
    """Return a node with what it has and what is held of it. A resource that it does not mention is null: plenty."""
    spec = row.spec
    return {
        "name": spec.name,
        "state": row.state,
        "drained": row.drained,
        "quiet_since": iso_or_none(row.quiet_since_us),
        "gpus": spec.gpus,
        "gpu_model": spec.gpu_model or None,
        "gpu_memory": _amount(spec.gpu_memory),
        "counted_only": spec.counted_only,
        "unhealthy": list(row.unhealthy),
        "cpus": _amount(spec.cpus, MILLI),
        "memory": _amount(spec.memory),
        "disk": _amount(spec.disk),
        "bandwidth": _amount(spec.bandwidth, MILLI),
        "resources": dict(spec.resources),
        "rack": spec.rack or None,
        "zone": spec.zone or None,
        "labels": dict(spec.labels),
        "taints": list(spec.taints),
        "tasks": row.tasks,
        "use": amounts(row.use),
        "free_gpus": plain(free_milli(row)),
        "devices": [_device(row, number) for number in range(spec.gpus)],
        "slices": [_slice(row, spec.gpus + at, *one) for at, one in enumerate(spec.slices)],
    }


def _device(row: NodeRow, number: int) -> dict[str, Any]:
    return {
        "number": number,
        "held": plain(min(_at(row.shares, number), MILLI)),
        "gpu_memory": _at(row.memories, number),
        "healthy": number not in row.unhealthy,
    }


def _slice(row: NodeRow, number: int, device: int, profile: str) -> dict[str, Any]:
    healthy = not {device, number} & set(row.unhealthy)
    return {
        "number": number,
        "device": device,
        "profile": profile,
        "held": _at(row.shares, number) > 0,
        "healthy": healthy,
    }


def queue_row(row: QueueRow) -> dict[str, Any]:
    """Return a queue with its words and what it holds; without the `env` of its defaults, which may hold secrets."""
    spec = row.spec
    return {
        "name": spec.name,
        "parent": spec.parent or None,
        "guarantee": amounts(spec.guarantee),
        "limit": amounts(spec.limit),
        "limit_per_user": amounts(spec.limit_per_user),
        "weight": spec.weight,
        "borrow": spec.borrow,
        "lend": spec.lend,
        "order": list(spec.order),
        "defaults": {word: value for word, value in json.loads(spec.defaults).items() if word != "env"},
        "call_rate": rate_text(spec.call_rate) or None,
        "pending": row.pending,
        "running": row.running,
        "use": amounts(row.use),
    }


def policy_words(spec: PolicySpec) -> dict[str, Any]:
    """Return all words of a policy; durations in seconds."""
    told: dict[str, Any] = {}
    for field in spec.__struct_fields__:
        value = getattr(spec, field)
        if field.endswith("_us"):
            told[field.removesuffix("_us")] = None if value is None else value / SECOND_US
        else:
            told[field] = dict(value) if field == "score" else value
    if weights := told.pop("weights"):
        told["order"] = dict(zip(spec.order, weights, strict=True))
    return told


def amounts(found: Iterable[tuple[str, int]]) -> dict[str, float]:
    """Return amounts by resource, in the units of docs/job.md."""
    return {name: plain(n) if name in _IN_THOUSANDTHS else n for name, n in found}


def plain(thousandths: int) -> float:
    """Return thousandths as a number: whole where it is."""
    return thousandths // MILLI if thousandths % MILLI == 0 else thousandths / MILLI


def _amount(n: int, scale: int = 1) -> float | None:
    if n >= PLENTY:
        return None
    return n if scale == 1 else plain(n)


def _at(held: tuple[int, ...], number: int) -> int:
    return held[number] if number < len(held) else 0


def free_milli(row: NodeRow) -> int:
    """Return what of a node's devices may be given away: nothing of a closed node, nor of one that is ill or cut."""
    if row.lost or row.drained or row.gone_us is not None:
        return 0
    closed = row.spec.cut | {*row.unhealthy}
    return sum(MILLI - min(_at(row.shares, n), MILLI) for n in range(row.spec.gpus) if n not in closed)


def gpus_row(nodes: Iterable[NodeRow]) -> dict[str, Any]:
    """Return how many devices there are, and how much of them is held and may be given away."""
    rows = list(nodes)
    return {
        "total": sum(row.spec.gpus for row in rows),
        "held": plain(sum(dict(row.use).get("gpus", 0) for row in rows)),
        "free": plain(sum(map(free_milli, rows))),
        "counted_only": sum(row.spec.gpus for row in rows if row.spec.counted_only),
    }
