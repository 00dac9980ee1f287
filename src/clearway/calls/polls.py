"""Who waits for the ends of calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.calls import read
from clearway.calls.answers import tell
from clearway.calls.wire import Polled
from clearway.model.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from concurrent.futures import Future

    from sqlalchemy import Connection

    from clearway.calls.wire import Over, Poll


class Waiting:
    """One poll: what it asks for, and what was found so far."""

    def __init__(self, said: Poll, answer: Future[Polled]) -> None:
        self.said, self.answer = said, answer
        self.watched: set[int] = set()
        self.over: list[Over] = []
        self.until_us = 0

    def check(self, connection: Connection) -> None:
        """See what is over already. NotFoundError: nothing is, and a call is not there."""
        self.over = read.over_among(connection, self.said.ranges)
        count = sum(last - first + 1 for first, last in self.said.ranges)
        if not self.over and read.existing(connection, self.said.ranges) < count:
            raise NotFoundError("some of these calls are not there any more")

    @property
    def full(self) -> bool:
        """Whether it is to be answered at once."""
        return len(self.over) >= self.said.least or not self.watched


class Polls:
    """Polls that wait, and those that are to be answered when the transaction is committed."""

    def __init__(self) -> None:
        self._waiting: dict[Waiting, None] = {}
        self._ready: list[Waiting] = []

    @property
    def next_us(self) -> int | None:
        """When the next one is to be answered at the latest."""
        return min((one.until_us for one in self._waiting), default=None)

    def begin(self, one: Waiting, now_us: int) -> None:
        """Answer with what is over already, or wait."""
        if one.over or not one.said.wait_ms:
            self._ready.append(one)
            return
        one.watched = {n for first, last in one.said.ranges for n in range(first, last + 1)}
        one.until_us = now_us + one.said.wait_ms * 1000
        self._waiting[one] = None
        one.answer.add_done_callback(lambda _: self._waiting.pop(one, None))

    def look(self, connection: Connection, ended: Iterable[int], now_us: int) -> None:
        """See who waits for what has ended in this transaction."""
        fresh = set(ended)
        for one in list(self._waiting) if self._waiting else ():
            if hits := one.watched & fresh:
                one.watched -= hits
                first = not one.over
                one.over += read.over_of_these(connection, hits)
                if first:
                    one.until_us = min(one.until_us, now_us + one.said.linger_ms * 1000)
            if one.full or now_us >= one.until_us:
                self._ready.append(one)
                del self._waiting[one]

    def answer(self) -> None:
        """Answer those who are ready: what they are told is on disk."""
        ready, self._ready = self._ready, []
        for one in ready:
            tell(one.answer, Polled(one.over))

    def forget(self) -> None:
        """Answer all who wait with nothing: they ask again."""
        self._ready = [*self._ready, *self._waiting]
        self._waiting = {}
        for one in self._ready:
            one.over = []
        self.answer()

    def close(self) -> None:
        """Answer all who wait: nothing comes any more."""
        self.forget()
