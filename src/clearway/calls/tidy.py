"""Dropping calls that are long over, with the files of their values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, func, or_, select

from clearway.calls import schema
from clearway.calls.states import OVER
from clearway.calls.wire import FILE, file_of

if TYPE_CHECKING:
    from sqlalchemy import Connection

KEPT_US = 24 * 3600 * 1_000_000
"""So long after its end a call is kept, with its result."""
EVERY_US = 600_000_000
AT_ONCE = 500
"""So many roots go in one transaction: others must not wait long for it."""
_NAME_BYTES = len(FILE) + 32
_CALL, _C = schema.call, schema.call.c


def tidy(connection: Connection, before_us: int) -> tuple[list[str], bool]:
    """Drop roots that were over before a moment, with all that is part of them.

    Returns the names of the files of their values, and whether there are more to drop.
    """
    over = select(_C.id).where(_C.parent.is_(None), _C.state >= int(OVER), _C.ended_us < before_us)
    roots = list(connection.scalars(over.limit(AT_ONCE)))
    if not roots:
        return [], False
    theirs = _C.root.in_(roots)
    large = or_(func.length(_C.value) == _NAME_BYTES, func.length(_C.result) == _NAME_BYTES)
    values = connection.execute(select(_C.value, _C.result).where(theirs, large)).all()
    names = [name for row in values for value in row if value is not None and (name := file_of(value))]
    connection.execute(delete(schema.page).where(schema.page.c.node.in_(select(_C.id).where(theirs))))
    connection.execute(delete(_CALL).where(theirs))
    connection.execute(delete(schema.entry).where(schema.entry.c.at_us < before_us))
    return names, len(roots) == AT_ONCE
