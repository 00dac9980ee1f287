"""Numbers that were given once and are never given again, also after what they were given to is dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, insert, select

from clearway.calls import schema

if TYPE_CHECKING:
    from sqlalchemy import Connection

_META = schema.meta
NODES, RECIPES, POOLS = "next", "next_recipe", "next_pool"


def next_of(connection: Connection, kind: str, newest: int | None) -> int:
    """Return the next number of a kind, where `newest` is the highest that is there."""
    said = connection.scalar(select(_META.c.value).where(_META.c.key == kind))
    return max(int(said or 1), (newest or 0) + 1)


def keep(connection: Connection, kind: str, following: int) -> None:
    """Write down the next number of a kind, before any is dropped."""
    connection.execute(delete(_META).where(_META.c.key == kind))
    connection.execute(insert(_META).values(key=kind, value=str(following)))
