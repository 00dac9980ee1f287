"""The tables of calls, read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import func, or_, select

from clearway.calls import schema
from clearway.calls.states import OVER, SHOWN, Kind, State
from clearway.calls.streams import values_from
from clearway.calls.wire import Member, Members, Over, Problem, yielded_of
from clearway.model.errors import NotFoundError

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

_CALL, _C = schema.call, schema.call.c
MOST_OVER = 1000
MOST_MEMBERS = 1000
_OVER = select(_C.id, _C.kind, _C.state, _C.result, _C.problem, _C.gives)
MOST_RANGES = 200


def over_of(row: Any) -> Over:  # noqa: ANN401  a row with the columns of _OVER
    """Return what a reader is told of a node that is over."""
    problem = None if row.problem is None else msgspec.msgpack.decode(row.problem, type=Problem)
    if yielded_of(row.result) is not None:
        return Over(row.id, SHOWN[State(row.state)], b"", problem, parts=True)
    return Over(row.id, SHOWN[State(row.state)], row.result or b"", problem, row.kind != Kind.CALL)


def over_among(connection: Connection, ranges: list[tuple[int, int]]) -> list[Over]:
    """Return those nodes of some ranges of numbers (both ends included) that are over."""
    found: list[Over] = []
    for at in range(0, len(ranges), MOST_RANGES):
        some = or_(*(_C.id.between(first, last) for first, last in ranges[at : at + MOST_RANGES]))
        query = _OVER.where(some, _C.state >= int(OVER)).order_by(_C.id).limit(MOST_OVER - len(found))
        found += [over_of(row) for row in connection.execute(query).all()]
        if len(found) >= MOST_OVER:
            break
    return found


def over_of_these(connection: Connection, nodes: set[int]) -> list[Over]:
    """Return what readers are told of some nodes, of those that are over."""
    query = _OVER.where(_C.id.in_(sorted(nodes)), _C.state >= int(OVER))
    return [over_of(row) for row in connection.execute(query).all()]


def existing(connection: Connection, ranges: list[tuple[int, int]]) -> int:
    """Return how many nodes of some ranges there are."""
    return sum(
        connection.scalar(select(func.count()).select_from(_CALL).where(_C.id.between(*one))) or 0 for one in ranges
    )


def members_of(connection: Connection, node: int, first: int, most: int) -> Members:
    """Return members of a group, or items that a call yielded, from a position on.

    Of a chain those of the part whose result is its own.

    Members that are not over are left out, with all that come after.
    """
    row = _node(connection, node)
    while row.kind == Kind.CHAIN and row.gives is not None:
        row = _node(connection, row.gives)
    if row.kind == Kind.CALL and (total := yielded_of(row.result)) is not None:
        values = values_from(connection, row.id, first, most)
        yielded = [Member(at, Over(row.id, "succeeded", value)) for at, value in enumerate(values, first)]
        return Members(row.id, total, yielded)
    if row.kind == Kind.CALL:
        return Members(row.id, single=over_of(row) if row.state >= OVER else None)
    query = _OVER.add_columns(_C.position).where(_C.parent == row.id, _C.position >= first).order_by(_C.position)
    members: list[Member] = []
    for member in connection.execute(query.limit(min(most, MOST_MEMBERS))):
        if member.state < OVER or member.position != first + len(members):
            break
        members.append(Member(member.position, over_of(member)))
    return Members(row.id, row.total, members)


def failure_of(connection: Connection, node: int) -> Over | None:
    """Return the call whose failure is that of a node, or the map of which no more calls could be made."""
    row = _node(connection, node)
    while row.kind != Kind.CALL and row.gives is not None:
        row = _node(connection, row.gives)
    return over_of(row) if row.problem is not None and row.state == State.FAILED else None


class CallRow(msgspec.Struct, frozen=True):
    """A node as it stands. Times in microseconds. Of a join `total` parts, of which `over` and `failed`."""

    id: int
    root: int
    kind: str
    state: str
    name: str
    recipe: int | None
    pool: int | None
    total: int
    over: int
    failed: int
    attempt: int
    failures: int
    losses: int
    job: int | None
    job_attempt: int | None
    entered_us: int
    started_us: int | None
    ended_us: int | None
    due_us: int | None
    took_us: int | None
    problem: Problem | None
    log: str | None


def row_of(connection: Connection, node: int) -> CallRow:
    """Return a node as it stands. NotFoundError: there is none."""
    return _row(_node(connection, node))


def open_part(connection: Connection, row: CallRow) -> CallRow:
    """Return the first call of a join that is not over, at any depth; a map of which no call is open, itself."""
    found = row
    while found.kind != "call":
        query = select(_CALL).where(_C.parent == found.id, _C.state < int(OVER)).order_by(_C.position).limit(1)
        part = connection.execute(query).one_or_none()
        if part is None:
            break
        found = _row(part)
    return found


def rows(connection: Connection, most: int, *, everything: bool) -> list[CallRow]:
    """Return roots, newest first: those that are not over, and with `everything` those that are."""
    query = select(_CALL).order_by(_C.id.desc()).limit(most)
    if not everything:
        return [_row(row) for row in connection.execute(query.where(schema.is_open_root))]
    newest = select(_C.id).where(schema.is_root).order_by(_C.id.desc()).limit(most)
    return [_row(row) for row in connection.execute(query.where(_C.id.in_(newest)))]


def later(connection: Connection) -> int:
    """Return how many calls wait for the time of their next try."""
    return connection.scalar(select(func.count()).where(schema.is_later)) or 0


def _row(row: Row[Any]) -> CallRow:
    problem = None if row.problem is None else msgspec.msgpack.decode(row.problem, type=Problem)
    state, over = SHOWN[State(row.state)], row.total - row.left if row.total else 0
    if row.kind != Kind.CALL and row.state == State.HELD and not over:
        state = SHOWN[State.PENDING] if not row.given else state
    return CallRow(
        row.id, row.root, Kind(row.kind).name.lower(), state, "", row.recipe, row.pool, row.total, over, row.failed,
        row.attempt, row.failures, row.losses, row.worker, row.worker_attempt, row.entered_us, row.started_us,
        row.ended_us, row.due_us, row.took_us, problem, row.log,
    )  # fmt: skip


def _node(connection: Connection, node: int) -> Row[Any]:
    row = connection.execute(select(_CALL).where(_C.id == node)).one_or_none()
    if row is None:
        raise NotFoundError(f"there is no call {node}")
    return row
