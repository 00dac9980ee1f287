"""Which role each route needs. One table: an app with a route that is not in it does not start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter, Depends, Request

from clearway.api.who import WHO, Role
from clearway.model.errors import ControllerError, NotAllowedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from starlette.routing import BaseRoute

API = "/api/v1"
OPEN = ("GET /api/v1/health", "GET /enter", "POST /enter")
"""What answers without knowing who asks. `enter` wants the code of a link."""

_NEEDED: dict[Role, str] = {
    Role.viewer: """
        GET report, load, forecasts, cycles/{cycle}, jobs/{ref}/cycle, jobs/{ref}/then
        GET openapi.json, status, overview, devices, timeline, waste, policy, policy/comparison, events, session
        GET jobs, jobs/{ref}, jobs/{ref}/events, jobs/{ref}/why, jobs/{ref}/outlook, jobs/{ref}/wait, jobs/{ref}/logs
        GET nodes, nodes/{node}, queues, queues/{queue}, bookings, budgets
        GET calls, calls/{call}, calls/{call}/why, calls/{call}/logs, calls/{call}/members, calls/{call}/failure
        GET calls/{call}/items
        GET whatifs, whatifs/{whatif}, whatifs/{whatif}/page
        GET flows, flows/{flow}, schedules, schedules/{schedule}, schedules/{schedule}/ticks
        GET searches, searches/{search}
        POST links, session/end
    """,
    Role.submitter: """
        POST jobs, advice, jobs/{ref}/cancel, jobs/{ref}/suspend, jobs/{ref}/resume
        POST jobs/{ref}/hold, jobs/{ref}/release, jobs/{ref}/requeue, jobs/{ref}/set
        POST flows, flows/{flow}/cancel, flows/{flow}/resume, flows/{flow}/retry, flows/{flow}/skip
        POST schedules, schedules/{schedule}/pause, schedules/{schedule}/resume, schedules/{schedule}/remove
        POST searches, searches/{search}/cancel
        GET code/{digest}, secrets
        PUT code/{digest}, secrets/{secret}
        POST secrets/{secret}/remove
    """,
    Role.operator: """
        POST queues, queues/{queue}, queues/{queue}/preview, nodes/{node}/drain, bookings, bookings/{booking}/cancel
        POST whatifs, whatifs/{whatif}/remove, policy/shadow, policy/shadow/end
        POST calls, calls/parts, calls/turn, calls/report, calls/poll, calls/{call}/cancel, calls/actors/{key}/end
        GET changes, calls/files/{name}, audit, history, journal/check
        PUT calls/files/{name}
    """,
    Role.admin: """
        POST config/reload, policy/promote, policy/rollback, shutdown, tokens, tokens/{token}/revoke
        GET tokens, journal/backup, journal/bundle
    """,
}


def _rows() -> Iterator[tuple[str, Role]]:
    for role, text in _NEEDED.items():
        for line in text.strip().splitlines():
            method, _, paths = line.strip().partition(" ")
            for path in paths.split(", "):
                yield f"{method} {API}/{path}", role


NEEDED: dict[str, Role] = {
    **dict(_rows()),
    **dict.fromkeys(("GET /metrics", "GET /", "GET /static/{path:path}"), Role.viewer),
}
"""The role of each route but those of OPEN."""


def check_table(routes: Iterable[BaseRoute]) -> None:
    """Raise ControllerError where the table and the routes of an app are not the same."""
    there = set(keys_of(routes))
    without, gone = sorted(there - {*NEEDED, *OPEN}), sorted({*NEEDED, *OPEN} - there)
    if without or gone:
        raise ControllerError(f"the table of roles and the routes differ: no role for {without}, no route for {gone}")


def keys_of(routes: Iterable[BaseRoute]) -> Iterator[str]:
    """Yield method and path of each route, as the table has them."""
    for route in routes:
        methods: set[str] = getattr(route, "methods", None) or {"GET"}
        yield from (f"{method} {getattr(route, 'path', route)}" for method in sorted(methods - {"HEAD", "OPTIONS"}))


async def allowed(request: Request) -> None:
    """Raise NotAllowedError where whoever asks may not use this route."""
    path = request.scope["route"].path
    key = f"{request.method} {path}"
    if key in OPEN:
        return
    who, needed = WHO.get(None), NEEDED[key]
    if who is None:
        raise NotAllowedError("nobody came in by the door")
    if who.role < needed:
        raise NotAllowedError(f"{request.method} {path} is for the role {needed.name}; {who.name!r} is {who.role.name}")
    noun = path.removeprefix(API).strip("/").partition("/")[0]
    if who.scopes and noun not in who.scopes:
        raise NotAllowedError(f"this token reaches {', '.join(sorted(who.scopes))}, not {noun}")


def guarded(prefix: str = API, *, shown: bool = True) -> APIRouter:
    """Return a router whose routes look at who asks: every room of the API makes its own so.

    Not `shown`: its routes are not in the description of the API.
    """
    return APIRouter(prefix=prefix, dependencies=[Depends(allowed)], include_in_schema=shown)
