"""The route of budgets, and how one is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from fastapi import Response

from clearway.api.desk import TheDesk, answer
from clearway.api.moments import iso
from clearway.api.roles import guarded
from clearway.model.asks import LookBudgets
from clearway.model.values import MICROS, MILLI, SECOND_US

if TYPE_CHECKING:
    from clearway.api.desk import Desk
    from clearway.model.asks import BudgetStanding

HOUR_US = 3600 * SECOND_US

router = guarded()


@router.get("/budgets")
def budgets(desk: TheDesk) -> Response:
    """Tell how each budget stands in its present period: what is used of what it allows, and until when it lasts."""
    return answer({"budgets": standing_now(desk)})


def standing_now(desk: Desk) -> list[dict[str, Any]]:
    """Return how each budget stands, by name."""
    found = cast("tuple[BudgetStanding, ...]", desk.controller.ask(LookBudgets()).result())
    return [budget_row(one) for one in found]


def budget_row(one: BudgetStanding) -> dict[str, Any]:
    """Return how a budget stands, in hours and money."""
    spec = one.spec
    return {
        "name": spec.name,
        "tenant": spec.tenant or None,
        "queue": spec.queue or None,
        "period": spec.period,
        "until": iso(one.until_us),
        "gpu_hours": round(one.gpus / MILLI / HOUR_US, 6),
        "most_gpu_hours": None if spec.gpu_milli_hours is None else spec.gpu_milli_hours / MILLI,
        "cost": round(one.cost / (HOUR_US * MICROS * MICROS), 4),
        "most_cost": None if spec.cost_micros is None else spec.cost_micros / MICROS,
        "used_up": one.used_up,
    }
