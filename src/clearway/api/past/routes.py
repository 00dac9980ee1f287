"""Routes of the past: accounts, cycles decided again, the history and the journal as a whole.

Each is answered by a process of its own beside the controller, two at once; the loop that decides does not wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import unquote

from fastapi import Depends, Path, Query, Request, Response

from clearway.api.desk import LARGEST, TheDesk
from clearway.api.machines import status_of
from clearway.api.past.relay import relayed
from clearway.api.roles import guarded

if TYPE_CHECKING:
    from clearway.api.past.relay import Relay

router = guarded()


def _relay(request: Request) -> Relay:
    found: Relay = request.app.state.relay
    return found


def _ref(request: Request) -> str:
    return unquote(request.path_params["ref"], errors="replace")


TheRelay = Annotated[Any, Depends(_relay)]
TheRef = Annotated[str, Depends(_ref)]
TheFrom = Annotated[str | None, Query(alias="from", description="From this moment on, in ISO 8601")]
TheTo = Annotated[str | None, Query(alias="to", description="Up to this moment, in ISO 8601")]
ANumber = Query(ge=1, le=LARGEST)


@router.get("/report")
def report(
    desk: TheDesk,
    relay: TheRelay,
    since: Annotated[str, Query(description="A moment in ISO 8601, or so long ago: 30d")] = "30d",
    until: Annotated[str | None, Query(description="The same; now where it is not said")] = None,
    by: Literal["tenant", "user", "queue"] = "queue",
) -> Response:
    """Account for what tenants, users or queues held in a time: GPU-hours, money, waits, and how jobs ended."""
    return relayed(desk, relay, "report", since=since, until=until, by=by)


@router.get("/load")
def load(
    desk: TheDesk,
    relay: TheRelay,
    queue: Annotated[str | None, Query(description="Of this queue; of all where it is not said")] = None,
    since: Annotated[
        str, Query(description="Learn from what has been since a moment in ISO 8601, or so long ago")
    ] = "30d",
) -> Response:
    """Forecast arrivals and GPUs in use for 5 minutes to 24 hours ahead, with intervals, and tell of load breaks."""
    return relayed(desk, relay, "load", queue=queue, since=since)


@router.get("/forecasts")
def forecasts(
    desk: TheDesk,
    relay: TheRelay,
    since: Annotated[str, Query(description="Forecasts made since a moment in ISO 8601, or so long ago")] = "30d",
    by: Literal["queue", "tenant", "user", "basis", "length"] = "queue",
    starts: Annotated[bool, Query(description="Also judge ETAs; it may take a minute")] = False,  # noqa: FBT002
) -> Response:
    """Judge forecasts of run times beside what came, and ETAs: what part was inside the intervals, and how far off."""
    return relayed(desk, relay, "forecasts", since=since, by=by, starts=starts)


@router.get("/cycles/{cycle}")
def cycle(desk: TheDesk, relay: TheRelay, cycle: Annotated[int, Path(ge=1, le=LARGEST)]) -> Response:
    """Show one cycle whole, decided again: who was considered in which order, what started where, why others wait."""
    return relayed(desk, relay, "cycle", number=cycle, ref="")


@router.get("/jobs/{ref}/cycle")
def cycle_of(desk: TheDesk, relay: TheRelay, ref: TheRef) -> Response:
    """Show the cycle whole in which a job started last."""
    return relayed(desk, relay, "cycle", number=None, ref=ref)


@router.get("/jobs/{ref}/then")
def then(
    desk: TheDesk,
    relay: TheRelay,
    ref: TheRef,
    at: Annotated[str, Query(description="A moment in ISO 8601 that has been")],
    brief: Annotated[bool, Query(description="Do not work out what would have changed it")] = False,  # noqa: FBT002
) -> Response:
    """Tell why a job waited, ran or was over at a moment, by the journal."""
    return relayed(desk, relay, "why", ref=ref, at=at, brief=brief)


@router.get("/audit")
def audit(
    desk: TheDesk,
    relay: TheRelay,
    start: TheFrom = None,
    end: TheTo = None,
    cycle: Annotated[int | None, ANumber] = None,
) -> Response:
    """Decide again what the journal records, and name the first plan that comes out otherwise."""
    return relayed(desk, relay, "audit", since=start, until=end, number=cycle)


@router.get("/history")
def history(desk: TheDesk, relay: TheRelay, compressed: bool = False) -> Response:  # noqa: FBT001, FBT002
    """Send the jobs that are over as a workload file, a line each."""
    return relayed(desk, relay, "history", compressed=compressed)


@router.get("/journal/check")
def check(desk: TheDesk, relay: TheRelay) -> Response:
    """Read the whole journal and see whether it adds up."""
    return relayed(desk, relay, "check")


@router.get("/journal/backup")
def backup(desk: TheDesk, relay: TheRelay) -> Response:
    """Send a copy of the journal, an SQLite database with all that was there when it began."""
    return relayed(desk, relay, "backup")


@router.get("/journal/bundle")
def bundle(desk: TheDesk, relay: TheRelay) -> Response:
    """Send an archive of journal, settings, versions and the ends of the logs, without secrets."""
    return relayed(desk, relay, "bundle", status=status_of(desk))
