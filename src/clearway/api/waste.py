"""The route of waste: what was held and by whom, how much of it was really used, and what lies free while jobs wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from fastapi import Request, Response

from clearway.api.budgets import HOUR_US, standing_now
from clearway.api.desk import TheDesk, answer
from clearway.api.measured import measured_row
from clearway.api.moments import iso
from clearway.api.roles import guarded
from clearway.api.rows import free_milli, plain
from clearway.api.timeline import MOST_BARS, TheEnd, TheStart, span
from clearway.model.reasons import Code
from clearway.model.states import State
from clearway.model.values import MICROS, MILLI
from clearway.observe.bar_records import Owner
from clearway.observe.bars import OPEN, Bars

if TYPE_CHECKING:
    import numpy.typing as npt

    from clearway.api.chart import Chart
    from clearway.api.desk import Desk

MOST_IDLE = 200
_UNKNOWN = Owner("", "", "", "")

router = guarded()


@router.get("/waste")
def waste(desk: TheDesk, request: Request, start: TheStart = None, end: TheEnd = None) -> Response:
    """Tell what each queue and tenant held in a time, what of it idled, and what is free now though jobs lack it.

    `used_gpu_hours` and `idle_gpu_hours` are of those `measured_gpu_hours` in which is known how much of its devices a
    job really used; null where nothing measured it. `over_asked_gpu_hours`, a part of what idled, are those of devices
    on which nothing worked from the start of a task to its end. `idle` are the jobs whose devices all do nothing, since
    when, and when the policy has them give way (null: never). `budgets` is how each budget stands in its present
    period.
    """
    from_us, to_us = span(desk, start, end)
    now_us = min(to_us, desk.controller.now_us())
    chart: Chart = request.app.state.chart
    with chart.bars(from_us) as bars:
        held = _held(desk, bars, from_us, now_us)
        since_us = max(from_us, chart.since_us)
    measured = any(row["used_gpu_hours"] is not None for row in held)
    return answer(
        {
            "from": iso(from_us), "to": iso(to_us), "since": iso(since_us), "measured": measured,
            "why_not": measured_row(desk.controller.measured)["why_not"], "held": held, "now": _free(desk),
            "idle": _idle(desk), "budgets": standing_now(desk),
        }
    )  # fmt: skip


def _idle(desk: Desk) -> list[dict[str, Any]]:
    """Return the jobs whose devices all do nothing now, those that waste most first."""
    now_us, policy, prices = desk.controller.now_us(), desk.board.policy, _prices(desk)
    limit_us = None if policy is None else policy.idle_release_us
    found: list[dict[str, Any]] = []
    for row in list(desk.board.jobs.values()):
        since_us = row.idle_since_us
        if since_us is None or row.over:
            continue
        amounts = [(grant.share * len(grant.devices), prices.get(grant.node, 0)) for grant in row.grants]
        idle_ms = max(0, now_us - since_us) // 1000
        found.append(
            {
                "job": row.id,
                "name": row.name,
                "queue": row.queue,
                "tenant": row.tenant,
                "user": row.user,
                "gpus": plain(sum(milli for milli, _ in amounts)),
                "since": iso(since_us),
                "idle_gpu_hours": _hours(sum(milli for milli, _ in amounts) * idle_ms),
                "cost": round(_hours(sum(m * p for m, p in amounts) * idle_ms) / MICROS, 4) if prices else None,
                "gives_way_at": None if limit_us is None else iso(since_us + limit_us),
            }
        )
    return sorted(found, key=lambda one: (-one["idle_gpu_hours"], one["job"]))[:MOST_IDLE]


class _Sum:
    """What one tenant holds in one queue: amounts in thousandths of a device times milliseconds, and money."""

    __slots__ = ("cost", "held", "idle_cost", "measured", "over", "over_cost", "told", "used")

    def __init__(self) -> None:
        self.held = self.measured = self.used = self.cost = self.idle_cost = self.over = self.over_cost = 0
        self.told = False

    def add(self, amount: int, busy: int, over: int, price: int) -> None:
        self.held += amount
        self.cost += amount * price
        if busy != OPEN:
            self.measured += amount
            self.used += amount * busy // MILLI
            self.idle_cost += amount * (MILLI - busy) // MILLI * price
        if over != OPEN:
            self.told = True
            self.over += amount * over // MILLI
            self.over_cost += amount * over // MILLI * price


def _held(desk: Desk, bars: Bars, from_us: int, to_us: int) -> list[dict[str, Any]]:
    columns, _ = bars.shown(from_us, to_us, MOST_BARS * 10)
    many = np.array([len(numbers) for numbers in bars.devices.all], np.int64)
    until = np.where(columns["to_us"] == OPEN, to_us, np.minimum(columns["to_us"], to_us))
    lengths = np.maximum(until - np.maximum(columns["from_us"], from_us), 0)
    amounts = (columns["share"] * many[columns["devices"]] if len(many) else columns["share"]) * (lengths // 1000)
    sums: dict[tuple[str, str], _Sum] = {}
    prices, busy = _prices(desk), _busy(desk, columns)
    devices = many[columns["devices"]] if len(many) else np.zeros_like(columns["share"])
    unused = np.maximum(devices - columns["worked"], 0) * MILLI // np.maximum(devices, 1)
    over = np.where((columns["worked"] == OPEN) | (devices == 0), OPEN, unused).tolist()
    rows = zip(columns["job"].tolist(), columns["node"].tolist(), amounts.tolist(), busy, over, strict=True)
    for job, node, amount, part, unused in rows:
        owner = bars.owners.get(job, _UNKNOWN)
        sums.setdefault((owner.tenant, owner.queue), _Sum()).add(amount, part, unused, prices.get(node, 0))
    return [_row(*key, mine, priced=bool(prices)) for key, mine in sorted(sums.items()) if mine.held]


def _row(tenant: str, queue: str, mine: _Sum, *, priced: bool) -> dict[str, Any]:
    known = mine.measured > 0
    return {
        "tenant": tenant,
        "queue": queue,
        "gpu_hours": _hours(mine.held),
        "measured_gpu_hours": _hours(mine.measured),
        "used_gpu_hours": _hours(mine.used) if known else None,
        "idle_gpu_hours": _hours(mine.measured - mine.used) if known else None,
        "over_asked_gpu_hours": _hours(mine.over) if mine.told else None,
        "over_asked_cost": round(_hours(mine.over_cost) / MICROS, 4) if priced and mine.told else None,
        "cost": round(_hours(mine.cost) / MICROS, 4) if priced else None,
        "idle_cost": round(_hours(mine.idle_cost) / MICROS, 4) if priced and known else None,
    }


def _busy(desk: Desk, columns: dict[str, npt.NDArray[np.int64]]) -> list[int]:
    """Return what each bar used of its devices, of one that goes on as far as it is known by now."""
    found: list[int] = columns["busy"].tolist()
    live = desk.controller.measured.tasks
    for at in np.flatnonzero(columns["to_us"] == OPEN).tolist() if live else ():
        use = live.get(Bars.task(*(int(columns[name][at]) for name in ("job", "attempt", "task"))))
        if use is not None and use.mean_busy is not None:
            found[at] = use.mean_busy
    return found


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
