"""What follows from the end of a node: joins are rows, changed in the transaction in which a member ends."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select, update

from clearway.calls import schema
from clearway.calls.draft import steps_of
from clearway.calls.states import OVER, Kind, State

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from clearway.calls.book import Book
    from clearway.calls.draft import Draft

_CALL, _C = schema.call, schema.call.c
AT_ONCE = 5000
"""A database takes so many numbers, and more, in one question."""
Ended = tuple[int, int | None, int, State]
"""A node that is over: its number, its parent's, its position there, and how."""


class Ends:
    """Carries ends upwards, inside one transaction."""

    def __init__(self, book: Book, connection: Connection, now_us: int) -> None:
        self._book, self._connection, self._now_us = book, connection, now_us

    def take(self, ended: list[Ended]) -> None:
        """Do what follows from nodes that are over, and from those that are over with them."""
        while ended:
            self._book.ended += [number for number, *_ in ended]
            by_parent: defaultdict[int, list[Ended]] = defaultdict(list)
            for one in ended:
                if one[1] is not None:
                    by_parent[one[1]].append(one)
            ended = self._parents(by_parent)

    def _parents(self, by_parent: dict[int, list[Ended]]) -> list[Ended]:
        if not by_parent:
            return []
        over: list[Ended] = []
        draft = self._book.draft(self._now_us)
        for row in self._alive(list(by_parent)):
            node, ended = row._mapping, by_parent[row.id]  # noqa: SLF001  the public name of a row's columns
            state = self._chain(node, ended[0], draft) if row.kind == Kind.CHAIN else self._group(node, ended)
            if state is not None:
                over.append((row.id, row.parent, row.position, state))
        new = draft.take_over()
        self._book.settle(self._connection, draft)
        return over + new

    def _alive(self, nodes: list[int]) -> Iterator[Any]:
        for at in range(0, len(nodes), AT_ONCE):
            some = _C.id.in_(nodes[at : at + AT_ONCE])
            yield from self._connection.execute(select(_CALL).where(some, _C.state < int(OVER))).all()

    def _chain(self, node: Any, ended: Ended, draft: Draft) -> State | None:  # noqa: ANN401  a row
        number, _, position, state = ended
        following = position + 1
        if state is State.SUCCEEDED and following < node["total"]:
            self._set(node, left=node["left"] - 1, given=following + 1)
            draft.part(steps_of(node["value"])[following], node, following, number)
            return None
        failed = int(state is not State.SUCCEEDED)
        values = {"gives": number, "state": int(state), "ended_us": self._now_us, "value": None, "failed": failed}
        self._set(node, left=node["left"] - 1, **values)
        return state

    def _group(self, node: Any, ended: list[Ended]) -> State | None:  # noqa: ANN401  a row
        left = node["left"] - len(ended)
        failed = node["failed"] + sum(state is not State.SUCCEEDED for *_, state in ended)
        if left:
            self._set(node, left=left, failed=failed)
            return None
        gives, state = None, State.SUCCEEDED
        if failed:
            gives, state = self._first_that_failed(node["id"])
        self._set(node, left=0, failed=failed, gives=gives, state=int(state), ended_us=self._now_us)
        return state

    def _first_that_failed(self, node: int) -> tuple[int, State]:
        bad = (_C.parent == node) & _C.state.in_((int(State.FAILED), int(State.CANCELLED)))
        query = select(_C.id, _C.state).where(bad).order_by(_C.state, _C.position).limit(1)
        number, state = self._connection.execute(query).one()
        return number, State(state)

    def _set(self, node: Any, **values: object) -> None:  # noqa: ANN401  a row
        self._connection.execute(update(_CALL).where(_C.id == node["id"]).values(**values))

    def cancel(self, root: int) -> list[tuple[int, int]]:
        """Cancel a root with all its parts; return the calls that workers have, with these."""
        alive = (_C.root == root) & (_C.state < int(OVER))
        calls = alive & (_C.kind == int(Kind.CALL))
        counts = select(_C.pool, _C.state, func.count()).where(calls).group_by(_C.pool, _C.state)
        for number, state, count in self._connection.execute(counts).all():
            if state == State.PENDING:
                self._book.pools[number].pending -= count
            elif state == State.HELD:
                self._book.pools[number].held -= count
        held = self._connection.execute(select(_C.id, _C.worker).where(calls, _C.state == int(State.HELD))).all()
        for row in self._connection.execute(
            select(_C.id, _C.pool, _C.total, _C.given).where(alive, _C.kind == int(Kind.MAP))
        ):
            if row.given < row.total:
                self._book.pools[row.pool].maps.remove(row.id)
                self._book.pools[row.pool].left -= row.total - row.given
        ids = list(self._connection.scalars(select(_C.id).where(alive)))
        self._connection.execute(update(_CALL).where(alive).values(state=int(State.CANCELLED), ended_us=self._now_us))
        pages = schema.page.c.node.in_(select(_C.id).where(_C.root == root))
        self._connection.execute(schema.page.delete().where(pages))
        self._book.ended += ids
        return [(row.id, row.worker) for row in held]
