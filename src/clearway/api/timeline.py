"""The route of the timeline: who held what, from when to when, in columns, with what is promised and booked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Query, Request, Response

from clearway.api.bookings import booking_row
from clearway.api.desk import TheDesk, answer
from clearway.api.moments import iso
from clearway.api.roles import guarded
from clearway.model import values as v
from clearway.model.errors import InputError
from clearway.model.values import SECOND_US
from clearway.observe.bar_records import Owner
from clearway.observe.bars import OPEN, Table

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from clearway.api.chart import Chart
    from clearway.api.desk import Desk
    from clearway.model.ids import JobId
    from clearway.observe.bars import Bars

MOST_BARS = 100_000
MOST_PROMISES = 1000
USUAL_US = 3600 * SECOND_US
_UNKNOWN = Owner("", "", "", "")

router = guarded()


def span(desk: Desk, start: str | None, end: str | None) -> tuple[int, int]:
    """Read a time from `start` to `end`: the last hour until now where nothing is said."""
    now_us = desk.controller.now_us()
    to_us = now_us if end is None else v.instant("to", end)
    from_us = to_us - USUAL_US if start is None else v.instant("from", start)
    if from_us >= to_us:
        raise InputError("from", start, f"before `to`, {iso(to_us)}", "query")
    return from_us, to_us


TheStart = Annotated[str | None, Query(alias="from", description="A moment in ISO 8601; an hour before `to`")]
TheEnd = Annotated[str | None, Query(alias="to", description="A moment in ISO 8601; now where it is not said")]


@router.get("/timeline")
def timeline(
    desk: TheDesk,
    request: Request,
    start: TheStart = None,
    end: TheEnd = None,
    limit: Annotated[int, Query(ge=1, le=MOST_BARS)] = MOST_BARS,
) -> Response:
    """Show who held what in a time, as columns; of more than `limit` bars the shortest are left out."""
    from_us, to_us = span(desk, start, end)
    chart: Chart = request.app.state.chart
    with chart.bars(from_us) as bars:
        columns, left_out = bars.shown(from_us, to_us, limit)
        shown = _tables(desk, bars, columns)
        since_us = chart.since_us
    frame = {
        "from": _ms(from_us), "to": _ms(to_us), "now": _ms(desk.controller.now_us()), "since": _ms(since_us),
        "left_out": left_out,
    }  # fmt: skip
    bookings = [booking_row(desk, booked) for booked in desk.board.bookings.copy().values()]
    return answer({**frame, **shown, "reservations": _promises(desk), "bookings": bookings})


def _tables(desk: Desk, bars: Bars, columns: dict[str, npt.NDArray[np.int64]]) -> dict[str, Any]:
    """Return columns of numbers, with the tables of texts that they point into."""
    names, queues, nodes = Table[str](), Table[str](), Table[str]()
    jobs: list[JobId] = columns["job"].tolist()
    owners = [bars.owners.get(job, _UNKNOWN) for job in jobs]
    return {
        "tables": {
            "names": names.all,
            "queues": queues.all,
            "nodes": nodes.all,
            "devices": [list(numbers) for numbers in bars.devices.all],
            "ends": list(bars.ends.all),
            "causes": list(bars.causes.all),
        },
        "bars": {
            "job": jobs,
            "name": [names.number(owner.name) for owner in owners],
            "queue": [queues.number(owner.queue) for owner in owners],
            "attempt": columns["attempt"].tolist(),
            "node": [nodes.number(desk.node_name(node)) for node in columns["node"].tolist()],
            "devices": columns["devices"].tolist(),
            "share": columns["share"].tolist(),
            "from": (columns["from_us"] // 1000).tolist(),
            "to": [OPEN if us == OPEN else us // 1000 for us in columns["to_us"].tolist()],
            "end": columns["end"].tolist(),
            "cause": columns["cause"].tolist(),
        },
    }


def _promises(desk: Desk) -> list[dict[str, Any]]:
    rows = [row for row in list(desk.board.jobs.values()) if row.promised_us is not None]
    rows.sort(key=lambda row: (row.promised_us or 0, row.id))
    return [
        {
            "job": row.id,
            "name": row.name,
            "queue": row.queue,
            "node": desk.node_name(grant.node),
            "devices": list(grant.devices),
            "share": grant.share,
            "from": _ms(row.promised_us or 0),
        }
        for row in rows[:MOST_PROMISES]
        for grant in row.promised
    ]


def _ms(us: int) -> int:
    return us // 1000
