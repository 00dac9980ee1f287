"""Budgets: what a tenant or a queue may hold or cost in a day, a week or a month."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from clearway.model import values as v
from clearway.model.errors import InputError
from clearway.model.values import MICROS, MILLI
from clearway.model.words import Word, named, read_words

if TYPE_CHECKING:
    from collections.abc import Mapping

PERIODS = ("day", "week", "month")
USUAL_NOTICE = 800


class BudgetSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """A budget of a tenant, or of a queue with all below it, for each period of the calendar (UTC).

    `gpu_milli_hours` are thousandths of a GPU-hour, `cost_micros` millionths of money; None: without bound. `notice`:
    from so many thousandths on it is told. `used_up`: `wait`, nothing starts then, or `stop`, what runs is stopped too.
    """

    name: str
    tenant: str = ""
    queue: str = ""
    gpu_milli_hours: int | None = None
    cost_micros: int | None = None
    period: str = "month"
    notice: int = USUAL_NOTICE
    used_up: str = "wait"


def _amount(field: str, value: object, scale: int) -> int:
    found = int(v.number(field, value, "a number above 0") * scale)
    if found <= 0:
        raise InputError(field, value, "a number above 0")
    return found


def _gpu_hours(field: str, value: object) -> int:
    return _amount(field, value, MILLI)


def _cost(field: str, value: object) -> int:
    return _amount(field, value, MICROS)


def _notice(field: str, value: object) -> int:
    found = _amount(field, value, MILLI)
    if found > MILLI:
        raise InputError(field, value, "a part of it, above 0 and at most 1")
    return found


def _period(field: str, value: object) -> str:
    return v.choice(field, value, PERIODS)


def _used_up(field: str, value: object) -> str:
    return v.choice(field, value, ("wait", "stop"))


BUDGET_WORDS: dict[str, Word] = {
    "name": Word(v.name, "text", "name of the budget"),
    "tenant": Word(v.name, "text", "whose jobs count; one of tenant and queue"),
    "queue": Word(v.name, "text", "in which queue, and below it, jobs count"),
    "gpu_hours": Word(_gpu_hours, "number", "so many GPU-hours may be held in a period"),
    "cost": Word(_cost, "number", "so much money may be spent in a period"),
    "period": Word(_period, "text", "day, week (from Monday) or month, by the calendar in UTC"),
    "notice": Word(_notice, "number", "from this part of it on it is told, once a period"),
    "used_up": Word(_used_up, "text", "wait: nothing starts any more; stop: what runs is stopped, too"),
}
_INSIDE = {"gpu_hours": "gpu_milli_hours", "cost": "cost_micros"}


def read_budget(raw: Mapping[str, object]) -> BudgetSpec:
    """Read one budget. Raises InputError."""
    place = named("budget", raw)
    given = read_words(place, raw, BUDGET_WORDS)
    if "name" not in given:
        raise InputError("name", None, "every budget has a name", "budgets")
    if ("tenant" in given) == ("queue" in given):
        raise InputError("tenant", given.get("tenant"), "a budget has either a tenant or a queue", place)
    if not {"gpu_hours", "cost"} & set(given):
        raise InputError("gpu_hours", None, "a budget has gpu_hours, or cost, or both", place)
    return BudgetSpec(**{_INSIDE.get(word, word): value for word, value in given.items()})
