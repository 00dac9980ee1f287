"""Values of maps that are sent in parts, before the map: what one request can hold is bounded, a map is not."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import delete, func, insert, literal, select

from clearway.calls import schema
from clearway.calls.draft import PAGE, values_of
from clearway.calls.wire import CallSpec, ChainSpec, GroupSpec, MapSpec, maps_sent
from clearway.model.errors import InputError

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from clearway.calls.wire import Part, Spec

_PART, _P = schema.part, schema.part.c


def check_part(connection: Connection, said: Part, most: int) -> None:
    """Raise InputError for a part that is refused: `most` values may wait."""
    if not said.key:
        raise InputError("key", said.key, "a key that tells this map from all others")
    if not 1 <= len(said.items) <= PAGE:
        raise InputError("items", f"{len(said.items)} values", f"1 to {PAGE} values")
    if said.number >= most:
        raise InputError("number", said.number, f"a number below {most}: so many calls may wait here (most_calls)")
    others = (_P.key == said.key) & (_P.number != said.number)
    count = (connection.scalar(select(func.sum(_P.count)).where(others)) or 0) + len(said.items)
    if count > most:
        raise InputError("items", f"{count} values", f"at most {most}: as many as may wait here (most_calls)")


def keep(connection: Connection, said: Part, now_us: int) -> None:
    """Write down a part."""
    connection.execute(delete(_PART).where(_P.key == said.key, _P.number == said.number))
    row = {"key": said.key, "number": said.number, "count": len(said.items), "at_us": now_us}
    connection.execute(insert(_PART).values(**row, body=msgspec.msgpack.encode(said.items)))


def check(connection: Connection, specs: list[Spec]) -> None:
    """Raise InputError where the values of a map were not all sent before, or are those of another one too."""
    maps = [one for spec in specs for one in maps_sent(spec)]
    for key, count in Counter(one.sent for one in maps).items():
        if count > 1:
            raise InputError("sent", key, "the key of one map alone")
    for one in maps:
        rows = connection.execute(select(_P.number, _P.count).where(_P.key == one.sent).order_by(_P.number)).all()
        whole = [number for number, _ in rows] == list(range(len(rows)))
        if one.items or not whole or sum(count for _, count in rows) != one.total:
            raise InputError("sent", one.sent, f"the key of {one.total} values that were all sent before")


def inlined(connection: Connection, spec: Spec) -> Spec:
    """Return a spec in which the later steps of chains hold their values themselves: their turn comes much later."""
    match spec:
        case ChainSpec(steps):
            return ChainSpec([inlined(connection, steps[0]), *(_whole(connection, step) for step in steps[1:])])
        case GroupSpec(members):
            return GroupSpec([inlined(connection, member) for member in members])
        case CallSpec() | MapSpec():
            return spec


def _whole(connection: Connection, spec: Spec) -> Spec:
    match spec:
        case ChainSpec(steps):
            return ChainSpec([_whole(connection, step) for step in steps])
        case GroupSpec(members):
            return GroupSpec([_whole(connection, member) for member in members])
        case MapSpec(recipe, _, sent, _) if sent:
            pages = connection.scalars(select(_P.body).where(_P.key == sent).order_by(_P.number)).all()
            connection.execute(delete(_PART).where(_P.key == sent))
            return MapSpec(recipe, [value for page in pages for value in values_of(page)])
        case CallSpec() | MapSpec():
            return spec


def move(connection: Connection, key: str, node: int) -> None:
    """Make what was sent under a key the pages of a node."""
    mine = select(literal(node), _P.number, _P.body).where(_P.key == key)
    connection.execute(insert(schema.page).from_select(["node", "number", "body"], mine))
    connection.execute(delete(_PART).where(_P.key == key))


def drop(connection: Connection, before_us: int) -> None:
    """Drop what was sent before a moment and is part of no map."""
    connection.execute(delete(_PART).where(_P.at_us < before_us))
