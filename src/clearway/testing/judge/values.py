"""Values of scenarios and timelines as the judge compares them: whole microseconds, thousandths, bytes."""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from clearway.model import values as v

Raw = dict[str, Any]
"""A map as YAML or JSON gives it."""

Value = Any
"""A value as YAML or JSON gives it, of any form."""

NEVER = 2**62
"""The moment of what has not ended, in microseconds."""

_BYTES = frozenset({"memory", "gpu_memory", "disk"})
_THOUSANDTHS = frozenset({"gpus", "cpus", "bandwidth", "slots"})


def moment(seconds: float | None) -> int:
    """Return a time of a timeline in microseconds; NEVER where it is null."""
    return NEVER if seconds is None else round(seconds * v.SECOND_US)


def span(value: object) -> int:
    """Return a duration, or a time of a scenario, in microseconds."""
    return v.duration("time", value)


def show(us: int) -> str:
    """Return a moment for a message."""
    return "never" if us >= NEVER else f"{us / v.SECOND_US:g} s"


def amount(resource: str, value: object) -> int:
    """Return an amount as it is counted: thousandths, bytes, or a whole number."""
    if resource in _BYTES:
        return v.size(resource, value)
    exact = Fraction(str(value))
    return round(exact * v.MILLI) if resource in _THOUSANDTHS else round(exact)


def in_units(resource: str, counted: int) -> float:
    """Return a counted amount in the unit in which scenarios write it."""
    return counted / v.MILLI if resource in _THOUSANDTHS else counted


def amounts(needs: Raw | None) -> dict[str, int]:
    """Return counted amounts by resource; custom ones may stand inside `resources` or beside the others."""
    flat = {**(needs or {}), **((needs or {}).get("resources") or {})}
    return {k: amount(k, x) for k, x in flat.items() if k != "resources" and x is not None}


def instant(value: object) -> int:
    """Return whole seconds since 1970 of an ISO time; without an offset it is UTC."""
    found = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    return round((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp())


def as_list(value: Value) -> list[Any]:
    """Return a list as it is, null as an empty one, anything else as a list of one."""
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


BOUNDS = frozenset({"min", "max", "eq"})


def fits(value: float, wanted: Value) -> bool:
    """Whether a value is as wanted: a number, [least, most], or a map of min, max and eq."""
    if isinstance(wanted, dict):
        least, most = wanted.get("min", value), wanted.get("max", value)
        return bool(least <= value <= most and wanted.get("eq", value) == value)
    if isinstance(wanted, list):
        return bool(wanted[0] <= value <= wanted[1])
    return bool(value == wanted)
