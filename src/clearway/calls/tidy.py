"""Dropping calls that are long over, with the files of their values, a bounded number at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, exists, func, insert, select, true

from clearway.calls import schema
from clearway.calls.states import OVER
from clearway.calls.wire import FILE_BYTES, file_of

if TYPE_CHECKING:
    from sqlalchemy import Connection

KEPT_US = 24 * 3600 * 1_000_000
"""So long after its end a call is kept, with its result."""
EVERY_US = 600_000_000
AT_ONCE = 500
"""So many roots go in one transaction .."""
MOST_ROWS = 2000
""".. and so many rows: others must not wait long for it."""
_CALL, _C, _ROOT = schema.call, schema.call.c, schema.gone.c.root


def tidy(connection: Connection, before_us: int) -> tuple[list[str], bool]:
    """Drop roots that were over before a moment, at once, and then all that is part of them, a piece at a time.

    Returns the names of the files of their values, and whether there are more to drop.
    """
    over = select(_C.id).where(schema.is_root, _C.ended_us < before_us).order_by(_C.ended_us).limit(AT_ONCE)
    fresh = list(connection.scalars(over))
    names = _drop(connection, fresh)
    if fresh:
        connection.execute(insert(schema.gone), [{"root": number} for number in fresh])
    dying = list(connection.scalars(select(_ROOT).order_by(_ROOT).limit(AT_ONCE)))
    parts = _C.root.in_(dying) & (_C.state >= int(OVER))
    rows = list(connection.scalars(select(_C.id).where(parts).limit(MOST_ROWS))) if dying else []
    names += _drop(connection, rows)
    connection.execute(delete(schema.gone).where(_ROOT.in_(dying), ~exists().where(_C.root == _ROOT)))
    connection.execute(delete(schema.entry).where(schema.entry.c.at_us < before_us))
    return names, len(fresh) == AT_ONCE or len(rows) == MOST_ROWS


def names_in_use(connection: Connection) -> set[str]:
    """Return the names of all files that rows of calls are given or have given."""
    return {*_files(connection, schema.has_large), *_yielded_files(connection, true())}


def _drop(connection: Connection, nodes: list[int]) -> list[str]:
    """Drop nodes; return the files of their values."""
    if not nodes:
        return []
    these = _C.id.in_(nodes)
    names = _files(connection, these & schema.has_large)
    yielded = schema.item.c.node.in_(nodes)
    names += _yielded_files(connection, yielded)
    connection.execute(delete(schema.item).where(yielded))
    connection.execute(delete(schema.page).where(schema.page.c.node.in_(nodes)))
    connection.execute(delete(_CALL).where(these))
    return names


def _files(connection: Connection, where: Any) -> list[str]:  # noqa: ANN401  a condition
    values = connection.execute(select(_C.value, _C.result).where(where)).all()
    return [name for row in values for value in row if value is not None and (name := file_of(value))]


def _yielded_files(connection: Connection, where: Any) -> list[str]:  # noqa: ANN401  a condition
    value = schema.item.c.value
    values = connection.scalars(select(value).where(where, func.length(value) == FILE_BYTES))
    return [name for one in values if (name := file_of(one))]
