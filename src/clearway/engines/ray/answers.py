"""The shapes of what nodes answer: others on a cluster can answer too, and with whatever they like."""

from __future__ import annotations

from typing import Any

import msgspec


class End(msgspec.Struct, frozen=True):
    """How a task ended."""

    code: int | None
    error: str
    used: dict[str, int] | None = None
    oom: bool = False

    def told(self) -> dict[str, Any]:
        """Return it as it is kept and told."""
        return {"code": self.code, "error": self.error, "used": self.used, "oom": self.oom}


class Heard(msgspec.Struct, frozen=True):
    """What a task has written, and how it is."""

    said: dict[str, bytes]
    up: bool
    end: End | None
    result: bytes


class Order(msgspec.Struct, frozen=True):
    """What a host was ordered: which task."""

    task: str


class Held(msgspec.Struct, frozen=True):
    """A task that a host has."""

    order: Order
    up: bool


class Met(msgspec.Struct, frozen=True, array_like=True):
    """A host: where it is, the number of its node and its runtime environment, and its tasks."""

    where: tuple[str, str]
    tasks: list[Held]


Ends = dict[str, End | None]
"""How tasks ended, by their key; None where nobody knows."""
