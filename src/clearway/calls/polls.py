"""Who waits for the ends of calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clearway.calls import read
from clearway.calls.wire import Over, Polled
from clearway.model.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from concurrent.futures import Future

    from sqlalchemy import Connection

    from clearway.calls.wire import Poll


@dataclass(eq=False)
class _Waiting:
    answer: Future[Polled]
    watched: set[int]
    least: int
    linger_us: int
    until_us: int
    over: list[Over] = field(default_factory=list)

    @property
    def full(self) -> bool:
        return len(self.over) >= self.least or not self.watched


class Polls:
    """Polls that wait, and those that are to be answered when the transaction is committed."""

    def __init__(self) -> None:
        self._waiting: dict[_Waiting, None] = {}
        self._ready: list[_Waiting] = []

    @property
    def next_us(self) -> int | None:
        """When the next one is to be answered at the latest."""
        return min((one.until_us for one in self._waiting), default=None)

    def begin(self, connection: Connection, said: Poll, answer: Future[Polled], now_us: int) -> None:
        """Answer with what is over already, or wait. NotFoundError: a call is not there."""
        over = read.over_among(connection, said.ranges)
        count = sum(last - first + 1 for first, last in said.ranges)
        if not over and read.existing(connection, said.ranges) < count:
            raise NotFoundError("some of these calls are not there any more")
        waiting = _Waiting(answer, set(), said.least, said.linger_ms * 1000, now_us + said.wait_ms * 1000, over)
        if over or not said.wait_ms:
            self._ready.append(waiting)
            return
        waiting.watched = {n for first, last in said.ranges for n in range(first, last + 1)}
        self._waiting[waiting] = None
        answer.add_done_callback(lambda _: self._waiting.pop(waiting, None))

    def look(self, connection: Connection, ended: Iterable[int], now_us: int) -> None:
        """See who waits for what has ended in this transaction."""
        fresh = set(ended)
        for one in list(self._waiting) if self._waiting else ():
            if hits := one.watched & fresh:
                one.watched -= hits
                first = not one.over
                one.over += read.over_of_these(connection, hits)
                if first:
                    one.until_us = min(one.until_us, now_us + one.linger_us)
            if one.full or now_us >= one.until_us:
                self._ready.append(one)
                del self._waiting[one]

    def answer(self) -> None:
        """Answer those who are ready: what they are told is on disk."""
        ready, self._ready = self._ready, []
        for one in ready:
            if one.answer.set_running_or_notify_cancel():
                one.answer.set_result(Polled(one.over))

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
