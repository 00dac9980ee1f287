"""The route of waste: what was held and by whom, how much of it was really used, and what lies free while jobs wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from fastapi import Request, Response

from clearway.api.desk import TheDesk, answer
from clearway.api.moments import iso
from clearway.api.roles import guarded
from clearway.api.rows import free_milli, plain
from clearway.api.timeline import MOST_BARS, TheEnd, TheStart, span
from clearway.model.reasons import Code
from clearway.model.states import State
from clearway.model.values import MICROS, MILLI, SECOND_US
from clearway.observe.bars import OPEN, Owner

if TYPE_CHECKING:
    from clearway.api.chart import Chart
    from clearway.api.desk import Desk
    from clearway.observe.bars import Bars

HOUR_US = 3600 * SECOND_US
_UNKNOWN = Owner("", "", "", "")

router = guarded()


@router.get("/waste")
def waste(desk: TheDesk, request: Request, start: TheStart = None, end: TheEnd = None) -> Response:
    """Tell what each queue and tenant held in a time, what of it idled, and what is free now though jobs lack it.

    `used_gpu_hours` and `idle_gpu_hours` are null where nothing measures how much of its devices a job really uses.
    """
    from_us, to_us = span(desk, start, end)
    now_us = min(to_us, desk.controller.now_us())
    chart: Chart = request.app.state.chart
    with chart.bars(from_us) as bars:
        held = _held(desk, bars, from_us, now_us)
        since_us = max(from_us, chart.since_us)
    return answer(
        {
            "from": iso(from_us), "to": iso(to_us), "since": iso(since_us), "measured": False, "held": held,
            "now": _free(desk),
        }
    )  # fmt: skip


def _held(desk: Desk, bars: Bars, from_us: int, to_us: int) -> list[dict[str, Any]]:
    columns, _ = bars.shown(from_us, to_us, MOST_BARS * 10)
    many = np.array([len(text.split()) for text in bars.devices.all], np.int64)
    until = np.where(columns["to_us"] == OPEN, to_us, np.minimum(columns["to_us"], to_us))
    lengths = np.maximum(until - np.maximum(columns["from_us"], from_us), 0)
    amounts = (columns["share"] * many[columns["devices"]] if len(many) else columns["share"]) * (lengths // 1000)
    sums: dict[tuple[str, str], list[int]] = {}
    prices = _prices(desk)
    for job, node, amount in zip(columns["job"].tolist(), columns["node"].tolist(), amounts.tolist(), strict=True):
        owner = bars.owners.get(job, _UNKNOWN)
        mine = sums.setdefault((owner.tenant, owner.queue), [0, 0])
        mine[0] += amount
        mine[1] += amount * prices.get(node, 0)
    return [
        {
            "tenant": tenant,
            "queue": queue,
            "gpu_hours": _hours(amount),
            "used_gpu_hours": None,
            "idle_gpu_hours": None,
            "cost": round(_hours(priced) / MICROS, 4) if prices else None,
        }
        for (tenant, queue), (amount, priced) in sorted(sums.items())
        if amount
    ]


def _prices(desk: Desk) -> dict[int, int]:
    """Return what an hour of one device of each node costs, in millionths."""
    rows = list(desk.board.nodes.values())
    return {row.id: row.spec.price_micros // row.spec.gpus for row in rows if row.spec.gpus and row.spec.price_micros}


def _hours(amount: int) -> float:
    """Return thousandths of a device times milliseconds as device hours."""
    return round(amount / MILLI / (HOUR_US / 1000), 6)


def _free(desk: Desk) -> dict[str, Any]:
    """Return what is free now, and what of it is of no use to those who wait for devices."""
    lacking = [row for row in list(desk.board.jobs.values()) if row.state is State.PENDING and row.milli_gpus]
    lacking = [row for row in lacking if _lacks(desk.board.reasons(row))]
    free = plain(sum(map(free_milli, list(desk.board.nodes.values()))))
    return {"free_gpus": free, "fragmented_gpus": free if lacking else 0, "lacking_jobs": len(lacking)}


def _lacks(reasons: tuple[Any, ...]) -> bool:
    return any(reason.code in (Code.NO_CAPACITY, Code.NO_VICTIM) for reason in reasons)
