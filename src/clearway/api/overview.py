"""Routes of the whole at a glance: counts, devices with who holds them."""

from __future__ import annotations

from collections import Counter
from heapq import nlargest
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Query, Request, Response

from clearway.api import tags
from clearway.api.desk import TheDesk, answer
from clearway.api.left import EVERY_US, odd_rows
from clearway.api.measured import device_use, measured_row
from clearway.api.moments import FACE, iso, iso_or_none
from clearway.api.roles import guarded
from clearway.api.rows import gpus_row, node_row, plain
from clearway.model.states import State, shown
from clearway.model.values import SECOND_US
from clearway.observe.words import sentence

if TYPE_CHECKING:
    from clearway.api.desk import Desk
    from clearway.api.kept import Kept
    from clearway.control import JobRow, NodeRow
    from clearway.model.events import Grant
    from clearway.model.ids import JobId
    from clearway.model.reasons import Reason
    from clearway.ports.engine import Measured

MOST_REASONS = 20
LATELY_US = 3600 * SECOND_US
LATEST = 2

router = guarded()


@router.get("/overview")
def overview(desk: TheDesk, request: Request) -> Response:
    """Count jobs by state and queue, devices, and why jobs wait; say who leads and how it fares."""
    kept: Kept[dict[str, Any]] = request.app.state.kept["overview"]
    counted = kept.get(desk.journal.last(), lambda: _counted(desk))
    odd: Kept[dict[str, Any]] = request.app.state.kept["odd"]
    how = desk.controller.health()
    return answer(
        {
            "at": iso(desk.controller.now_us()),
            "health": {"state": how.state, "text": how.text},
            "leader": {key: desk.about[key] for key in ("pid", "version", "home", "since", "term")},
            "journal": {"records": desk.journal.last()},
            **counted,
            "odd": odd.get(desk.controller.now_us() // EVERY_US, lambda: odd_rows(desk)),
        }
    )


def _counted(desk: Desk) -> dict[str, Any]:
    rows = [row for row in list(desk.board.jobs.values()) if row.progress is None]
    nodes = list(desk.board.nodes.values())
    queues = dict(sorted(desk.board.queues.copy().items()))
    return {
        "jobs": dict(sorted(Counter(str(shown(row.state)) for row in rows).items())),
        "queues": [{"name": name, "pending": q.pending, "running": q.running} for name, q in queues.items()],
        "nodes": dict(sorted(Counter(row.state for row in nodes).items())),
        "gpus": gpus_row(nodes),
        "waiting": _waiting(desk, [row for row in rows if row.state is State.PENDING]),
        "failed": _failed(rows, desk.controller.now_us() - LATELY_US),
    }


def _failed(rows: list[JobRow], since_us: int) -> dict[str, Any]:
    """Return how many jobs failed since a moment, and the latest of them."""
    over = [(row.ended_us, row) for row in rows if row.state is State.FAILED and (row.ended_us or 0) >= since_us]
    latest = nlargest(LATEST, over, key=lambda one: (one[0] or 0, one[1].id))
    told = [
        {
            "id": row.id,
            "name": row.name,
            "ended": iso_or_none(at_us),
            "text": sentence(row.reason, FACE.moment) if row.reason else "",
        }
        for at_us, row in latest
    ]
    return {"jobs": len(over), "since": iso(since_us), "latest": told}


def _waiting(desk: Desk, rows: list[JobRow]) -> list[dict[str, Any]]:
    """Return why jobs wait, the reason of most of them first; the words are those of the one that waits longest."""
    found: dict[str, list[tuple[JobRow, Reason]]] = {}
    for row in rows:
        for reason in desk.board.reasons(row)[:1]:
            found.setdefault(str(reason.code), []).append((row, reason))
    told = []
    for code, waiting in sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))[:MOST_REASONS]:
        row, reason = min(waiting, key=lambda pair: (pair[0].submitted_us, pair[0].id))
        told.append(
            {
                "code": code,
                "text": sentence(reason, FACE.moment),
                "jobs": len(waiting),
                "gpus": plain(sum(row.milli_gpus for row, _ in waiting)),
                "longest": {"id": row.id, "name": row.name, "submitted": iso(row.submitted_us)},
            }
        )
    return told


@router.get("/devices")
def devices(
    desk: TheDesk,
    request: Request,
    node: Annotated[tuple[str, ...], Query(description="Only this node; may stand several times")] = (),
) -> Response:
    """List nodes with their devices: who holds which share, which are linked, and what is really used of them."""
    if node:
        return tags.listed(request, _devices(desk, frozenset(node)))
    kept: Kept[dict[str, Any]] = request.app.state.kept["devices"]
    return tags.listed(
        request, kept.get((desk.journal.last(), desk.controller.measured.number), lambda: _devices(desk))
    )


def _devices(desk: Desk, only: frozenset[str] | None = None) -> dict[str, Any]:
    measured = desk.controller.measured
    rows = [row for row in list(desk.board.nodes.values()) if only is None or row.spec.name in only]
    wanted = {row.id for row in rows}
    holders: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for job, grants in desk.board.holders():
        for grant in grants:
            for device in grant.devices if grant.node in wanted else ():
                holders.setdefault((grant.node, device), []).append(_holder(desk, job, grant))
    nodes = [_with_holders(row, holders, measured) for row in sorted(rows, key=lambda row: row.id)]
    return {"nodes": nodes, "measured": measured_row(measured)}


def _with_holders(
    row: NodeRow, holders: dict[tuple[int, int], list[dict[str, Any]]], measured: Measured
) -> dict[str, Any]:
    told, spec = node_row(row), row.spec
    for device in [*told["devices"], *told["slices"]]:
        device["held_by"] = sorted(holders.get((row.id, device["number"]), []), key=lambda one: one["job"])
        device.update(device_use(measured, row, device["number"]))
    islands = {"nvlink": spec.links, "pcie": spec.pcie, "numa": spec.numa}
    return {**told, "islands": {kind: [list(one) for one in found] for kind, found in islands.items()}}


def _holder(desk: Desk, job: JobId, grant: Grant) -> dict[str, Any]:
    row = desk.board.jobs.get(job)
    return {
        "job": job,
        "name": "" if row is None else row.name,
        "queue": "" if row is None else row.queue,
        "share": grant.share,
        "gpu_memory": grant.gpu_memory,
    }
