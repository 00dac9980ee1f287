"""The app: routes behind the door, errors as problems."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from fastapi import FastAPI

from clearway import __version__
from clearway.api import (
    bookings,
    budgets,
    call_files,
    call_rows,
    calls,
    code,
    config,
    entrance,
    events,
    flows,
    jobs,
    logs,
    machines,
    metrics,
    outlooks,
    overview,
    page,
    policies,
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
from clearway.api.doors import Doors
from clearway.api.hub import Hub
from clearway.api.kept import Kept
from clearway.api.moments import iso
from clearway.api.now import TellsTheTime
from clearway.api.past import routes as past
from clearway.api.past import whatif_routes
from clearway.api.past.relay import Relay
from clearway.api.past.whatifs import Whatifs
from clearway.api.roles import check_table
from clearway.forecast import RunTimes
from clearway.whatif.follow import Follower

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from clearway.api.desk import Desk

ROOMS = (
    machines, overview, timeline, waste, events, config, policies, queues, bookings, budgets, call_files, calls,
    call_rows, code, secrets, flows, schedules, searches, past, whatif_routes, jobs, outlooks, previews, verbs,
    logs, entrance,
)  # fmt: skip


def app_of_routes() -> FastAPI:
    """Return an app with every route, and nothing behind them yet. ControllerError: a route has no role."""
    app = FastAPI(
        title="Clearway",
        version=__version__,
        openapi_url=None,  # a route of its own, which needs a role as all others do
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
    )
    problems.install(app)
    for router in (*(room.router for room in ROOMS), metrics.router, entrance.page, page.router):
        app.router.routes.extend(router.routes)
    check_table(app.routes)
    return app


def build_app(desk: Desk, token: str = "") -> ASGIApp:
    """Return the app that serves a desk. Without a token only the owner's socket leads in (but to `health`)."""
    app = app_of_routes()
    app.state.desk = desk
    app.state.follower = Follower(desk.journal, RunTimes())
    app.state.chart = Chart(desk.journal, desk.board)
    app.state.hub = Hub(desk)
    app.state.relay = Relay(desk.settings.home)
    app.state.whatifs = Whatifs(Relay(desk.settings.home, 1), desk.settings.home, desk.settings.store)
    app.state.editing = asyncio.Lock()  # between the look at a tag and the edit nobody else edits
    app.state.kept = {"overview": Kept(), "odd": Kept(), "devices": Kept()}
    app.state.body_limit = desk.settings.body_limit
    app.state.doors = doors = Doors(desk.settings, desk.owner, desk.notes, desk.controller.now_us, token)
    desk.rules.tell = doors.trail.write
    return TellsTheTime(Access(app, doors), lambda: iso(desk.controller.now_us()))
