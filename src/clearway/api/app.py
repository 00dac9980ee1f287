"""The app: routes behind the door, errors as problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import FastAPI

from clearway import __version__
from clearway.api import (
    bookings,
    call_files,
    call_rows,
    calls,
    code,
    config,
    events,
    flows,
    jobs,
    logs,
    machines,
    metrics,
    outlooks,
    overview,
    page,
    previews,
    problems,
    queues,
    schedules,
    searches,
    secrets,
    timeline,
    verbs,
    waste,
)
from clearway.api.access import Access
from clearway.api.chart import Chart
from clearway.api.hub import Hub
from clearway.api.kept import Kept
from clearway.api.moments import iso
from clearway.api.now import TellsTheTime
from clearway.whatif.follow import Follower

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from clearway.api.desk import Desk

PREFIX = "/api/v1"
ROOMS = (
    machines, overview, timeline, waste, events, config, queues, bookings, call_files, calls, call_rows, code,
    secrets, flows, schedules, searches, jobs, outlooks, previews, verbs, logs,
)  # fmt: skip


def build_app(desk: Desk, token: str = "") -> ASGIApp:
    """Return the app that serves a desk. Without a token only the owner's socket leads in (but to `health`)."""
    app = FastAPI(
        title="Clearway",
        version=__version__,
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.desk = desk
    app.state.follower = Follower(desk.journal)
    app.state.chart = Chart(desk.journal, desk.board)
    app.state.hub = Hub(desk)
    app.state.kept = {"overview": Kept(), "devices": Kept()}
    app.state.body_limit = desk.settings.body_limit
    problems.install(app)
    for room in ROOMS:
        app.include_router(room.router, prefix=PREFIX)
    app.include_router(metrics.router)
    app.include_router(page.router)
    return TellsTheTime(Access(app, token), lambda: iso(desk.controller.now_us()))
