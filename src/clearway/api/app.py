"""The app: routes behind the door, errors as problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import FastAPI

from clearway import __version__
from clearway.api import (
    bookings,
    code,
    config,
    flows,
    jobs,
    logs,
    machines,
    metrics,
    outlooks,
    problems,
    queues,
    schedules,
    searches,
    verbs,
)
from clearway.api.access import Access
from clearway.api.moments import iso
from clearway.api.now import TellsTheTime
from clearway.whatif.follow import Follower

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from clearway.api.desk import Desk

PREFIX = "/api/v1"


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
    app.state.body_limit = desk.settings.body_limit
    problems.install(app)
    for room in (machines, config, queues, bookings, code, flows, schedules, searches, jobs, outlooks, verbs, logs):
        app.include_router(room.router, prefix=PREFIX)
    app.include_router(metrics.router)
    return TellsTheTime(Access(app, token), lambda: iso(desk.controller.now_us()))
