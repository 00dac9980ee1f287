"""One cycle as a document with its sentences: who was considered, what started where and why, who waits and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway.model import events as ev
from clearway.observe.facts import escaped
from clearway.observe.words import sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from clearway.model.considered import Considered, RunnerUp
    from clearway.model.events import Record
    from clearway.observe.timeline import Face

HUNDRED = 100


def decided_rows(
    records: Iterable[Record], job_name: Callable[[int], str], node_name: Callable[[int], str],
    members: Mapping[int, list[str]], face: Face,
) -> list[dict[str, Any]]:  # fmt: skip
    """Return the records of a plan; `members` are the names of the waiting jobs of each class."""
    return [row for record in records if (row := _row(record, job_name, node_name, members, face)) is not None]


def _row(
    record: Record, job_name: Callable[[int], str], node_name: Callable[[int], str],
    members: Mapping[int, list[str]], face: Face,
) -> dict[str, Any] | None:  # fmt: skip
    match record:
        case ev.Started():
            nodes = _nodes(record.grants, node_name)
            text = sentence(record.cause, face.moment)
            return {"kind": "started", "job": job_name(record.job), "nodes": nodes, "text": text}
        case ev.Stopping():
            return {"kind": "stopping", "job": job_name(record.job), "text": sentence(record.cause, face.moment)}
        case ev.Resized():
            return {"kind": "resized", "job": job_name(record.job), "text": sentence(record.cause, face.moment)}
        case ev.Reserved() if record.grants:
            nodes = _nodes(record.grants, node_name)
            text = f"is promised to start at {face.moment(record.start_us)} on {', '.join(map(escaped, nodes))}"
            return {"kind": "reserved", "job": job_name(record.job), "nodes": nodes, "text": text}
        case ev.Reserved():
            return {
                "kind": "reserved",
                "job": job_name(record.job),
                "nodes": [],
                "text": "is promised nothing any more",
            }
        case ev.ClassWaits():
            text = "; ".join(sentence(reason, face.moment) for reason in record.reasons)
            return {"kind": "waits", "jobs": members.get(record.cls, []), "text": text}
        case _:
            return None


def _nodes(grants: Iterable[ev.Grant], node_name: Callable[[int], str]) -> list[str]:
    return sorted({node_name(grant.node) for grant in grants})


def turn_row(turn: Considered, waits: str = "") -> dict[str, Any]:
    """Return one turn; scores are points with their weights. `waits`: why the class goes on waiting."""
    second = turn.second
    return {
        "job": turn.job,
        "name": turn.name,
        "queue": turn.queue,
        "nodes": list(turn.nodes),
        "second": None if second is None else _second(second),
        "text": turn_sentence(turn) if turn.nodes or not waits else f"does not start: {waits}",
    }


def _second(second: RunnerUp) -> dict[str, Any]:
    return {
        "node": second.node,
        "best_score": second.best / HUNDRED,
        "score": second.second / HUNDRED,
        "preferred": second.preferred,
        "parts": {part.rule: [part.best / HUNDRED, part.second / HUNDRED] for part in second.parts},
    }


def turn_sentence(turn: Considered) -> str:
    """Return what came of a turn, as a sentence without a full stop."""
    if not turn.nodes:
        return "does not start"
    started = f"starts on {', '.join(map(escaped, turn.nodes))}"
    second = turn.second
    if second is None:
        return f"{started}: no other node has room"
    other = escaped(second.node)
    if second.preferred:
        return f"{started}, not on {other}: the job prefers its GPU model"
    if second.best == second.second:
        return f"{started}, not on {other}, which is as good: the first of equals is taken"
    if second.best < second.second:
        return f"{started}, not on {other}, which scores better but is kept for others or outside its domain"
    parts = ", ".join(f"{part.rule} {_points(part.best)} to {_points(part.second)}" for part in second.parts)
    return f"{started}, not on {other}: {_points(second.best)} to {_points(second.second)} points ({parts})"


def _points(hundredths: int) -> str:
    return f"{hundredths / HUNDRED:g}"
