"""Routes of nodes and the controller itself."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any

from fastapi import Request, Response

from clearway.api import tags
from clearway.api.desk import TheDesk, TheNode, answer
from clearway.api.moments import iso
from clearway.api.roles import guarded
from clearway.api.rows import gpus_row, node_row, policy_words
from clearway.api.who import noted
from clearway.model.asks import Drain
from clearway.model.errors import NotFoundError
from clearway.model.states import shown

if TYPE_CHECKING:
    from pathlib import Path

    from clearway.api.desk import Desk
    from clearway.control import NodeRow
    from clearway.control.audit import Audited

MOST_POOLS = 100

router = guarded()


@router.get("/health")
async def health(desk: TheDesk) -> Response:
    """Say whether the controller decides and writes. The one thing that anybody may ask."""
    state = desk.controller.health().state
    return answer({"status": state}, 200 if state == "up" else 503)


@router.get("/status")
def status(desk: TheDesk) -> Response:
    """Show the controller and what it has in hand."""
    return answer(status_of(desk))


def status_of(desk: Desk) -> dict[str, Any]:
    """Return what a controller is and has in hand."""
    how, policy = desk.controller.health(), desk.board.policy
    nodes = list(desk.board.nodes.values())
    states = Counter(str(shown(row.state)) for row in list(desk.board.jobs.values()) if row.array is None)
    calls = desk.calls.counts()
    return {
        "controller": {**desk.about, "state": how.state, "text": how.text},
        "engine": {"name": desk.settings.engine, "enforced": desk.enforced},
        "policy": policy_words(policy) if policy else None,
        "jobs": dict(sorted(states.items())),
        "calls": {"pending": calls.pending + calls.later, "running": calls.running},
        "pools": [pool._asdict() for pool in desk.calls.pools()[:MOST_POOLS]],
        "nodes": len(nodes),
        "gpus": gpus_row(nodes),
        "journal": {"records": desk.journal.last()},
        "disk": _disk(desk.settings.home),
        "self_audit": _audited(desk.controller.audited),
    }


def _disk(home: Path) -> dict[str, int] | None:
    """Return how many bytes of the home's disk are left for the controller, and how many it has.

    None where it cannot be told, as when the home is gone: that state is told beside it.
    """
    try:
        disk = os.statvfs(home)
    except OSError:
        return None
    return {"free": disk.f_bavail * disk.f_frsize, "total": disk.f_blocks * disk.f_frsize}


def _audited(told: Audited) -> dict[str, Any]:
    """Word what a controller has found when it looked at itself."""
    return {
        "looks": told.looks,
        "at": None if told.at_us is None else iso(told.at_us),
        "found": dict(told.found),
        "last": told.last or None,
        "last_at": None if told.last_us is None else iso(told.last_us),
    }


@router.get("/nodes")
def nodes(desk: TheDesk, request: Request) -> Response:
    """List nodes with what is free on each."""
    rows = sorted(list(desk.board.nodes.values()), key=lambda row: row.id)  # noqa: C414  a copy: the loop changes it
    return tags.listed(request, {"nodes": [node_row(row) for row in rows]})


def _row(desk: Desk, node: str) -> NodeRow:
    for row in list(desk.board.nodes.values()):
        if row.spec.name == node:
            return row
    raise NotFoundError(f"there is no node {node!r}")


@router.get("/nodes/{node}")
def node(desk: TheDesk, node: TheNode) -> Response:
    """Show one node."""
    return tags.one(node_row(_row(desk, node)))


@router.post("/nodes/{node}/drain")
async def drain(
    desk: TheDesk,
    node: TheNode,
    request: Request,
    drained: bool = True,  # noqa: FBT001, FBT002  a word of the query
    if_match: tags.IfMatch = None,
) -> Response:
    """Place nothing new on a node, or (`drained=false`) do so again."""
    async with request.app.state.editing:
        tags.check(if_match, node_row(_row(desk, node)) if if_match else None)
        await desk.ask(Drain(node, drained))
    noted(node=node, drained=drained)
    return tags.one(node_row(_row(desk, node)))


@router.post("/shutdown")
async def shutdown(desk: TheDesk) -> Response:
    """Stop the controller; running tasks go on."""
    desk.stop()
    return answer({"stopping": True}, 202)
