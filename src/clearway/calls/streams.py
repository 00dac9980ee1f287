"""What calls of generators yield while they run: kept as it comes, and handed to whoever waits for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import insert, select, update

from clearway.calls import schema
from clearway.calls.answers import tell
from clearway.calls.states import OVER, Kind
from clearway.calls.wire import Value, Yielded
from clearway.model.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from concurrent.futures import Future

    from sqlalchemy import Connection

    from clearway.calls.wire import Items

_C, _ITEM = schema.call.c, schema.item
MOST_ITEMS = 1000
MOST_BYTES = 8 << 20
"""So many items, or bytes of them, go into one answer."""


def accept(connection: Connection, job: int, attempt: int, said: Iterable[Items]) -> set[int]:
    """Keep what calls in the hand of a worker have yielded, each position once; return the calls that have more now.

    What an earlier attempt yielded stays, and is not kept anew.
    """
    fresh = set()
    for items in said:
        held = schema.is_held & (_C.worker == job) & (_C.worker_attempt == attempt)
        this = (_C.id == items.call) & (_C.attempt == items.attempt) & held
        there = connection.scalar(select(_C.given).where(this))
        if there is None or not there - len(items.values) < items.first <= there:
            continue
        rows = [
            {"node": items.call, "position": position, "value": value}
            for position, value in enumerate(items.values[there - items.first :], there)
        ]
        connection.execute(insert(_ITEM), rows)
        connection.execute(update(schema.call).where(this).values(given=there + len(rows)))
        fresh.add(items.call)
    return fresh


def values_from(connection: Connection, call: int, first: int, most: int) -> list[Value]:
    """Return what a call has yielded, from a position on."""
    query = select(_ITEM.c.value).where(_ITEM.c.node == call, _ITEM.c.position >= first).order_by(_ITEM.c.position)
    found: list[Value] = []
    size = 0
    for value in connection.scalars(query.limit(min(most, MOST_ITEMS))):
        if found and size + len(value) > MOST_BYTES:
            break
        found.append(value)
        size += len(value)
    return found


def yielded_from(connection: Connection, call: int, first: int, most: int) -> Yielded:
    """Return what there is from a position on, and whether more may come. NotFoundError: there is no such call."""
    row = connection.execute(select(_C.kind, _C.state, _C.given).where(_C.id == call)).one_or_none()
    if row is None:
        raise NotFoundError(f"there is no call {call}")
    if row.kind != Kind.CALL:
        return Yielded(over=True, whole=True)
    values = values_from(connection, call, first, most)
    return Yielded(values, row.state >= OVER and first + len(values) >= row.given)


class Reader:
    """One who waits for what a call yields next."""

    def __init__(self, call: int, first: int, most: int, wait_ms: int, answer: Future[Yielded]) -> None:
        self.call, self.first, self.most, self.wait_ms, self.answer = call, first, most, wait_ms, answer
        self.until_us = 0
        self.found = Yielded()

    def look(self, connection: Connection) -> None:
        """See what there is. NotFoundError: there is no such call."""
        self.found = yielded_from(connection, self.call, self.first, self.most)

    @property
    def answers(self) -> bool:
        """Whether what was found is an answer."""
        return bool(self.found.values or self.found.over)


class Streams:
    """Who waits for items, and who is to be answered when the transaction is committed."""

    def __init__(self) -> None:
        self._waiting: dict[Reader, None] = {}
        self._ready: list[Reader] = []
        self.fresh: set[int] = set()
        """Calls that have yielded more in this transaction."""

    @property
    def next_us(self) -> int | None:
        """When the next one is to be answered at the latest."""
        return min((one.until_us for one in self._waiting), default=None)

    def begin(self, one: Reader, now_us: int) -> None:
        """Answer with what it has found already, or wait."""
        if one.answers or not one.wait_ms:
            self._ready.append(one)
            return
        one.until_us = now_us + one.wait_ms * 1000
        self._waiting[one] = None
        one.answer.add_done_callback(lambda _: self._waiting.pop(one, None))

    def look(self, connection: Connection, ended: Iterable[int], now_us: int) -> None:
        """See who waits for what came, or ended, in this transaction."""
        changed, self.fresh = self.fresh.union(ended), set()
        for one in list(self._waiting):
            if one.call in changed:
                one.look(connection)
            if one.answers or now_us >= one.until_us:
                self._waiting.pop(one, None)
                self._ready.append(one)

    def answer(self) -> None:
        """Answer those who are ready: what they are told is on disk."""
        ready, self._ready = self._ready, []
        for one in ready:
            tell(one.answer, one.found)

    def forget(self) -> None:
        """Answer all who wait with nothing: they ask again."""
        self._ready, self._waiting = [*self._ready, *self._waiting], {}
        for one in self._ready:
            one.found = Yielded()
        self.fresh = set()
        self.answer()
