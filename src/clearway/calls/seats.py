"""Workers that wait for calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clearway.calls.answers import tell
from clearway.calls.wire import Given, Hand, Told

if TYPE_CHECKING:
    from concurrent.futures import Future

    from sqlalchemy import Connection

    from clearway.calls.book import Book
    from clearway.calls.leases import Leases
    from clearway.calls.wire import Turn


@dataclass(eq=False)
class _Seat:
    pool: int
    job: int
    attempt: int
    answer: Future[Hand]
    until_us: int
    calls: list[Given] = field(default_factory=list)
    recipes: dict[int, Told] = field(default_factory=dict)
    functions: dict[str, bytes] = field(default_factory=dict)
    stop: list[int] = field(default_factory=list)
    leave: bool = False

    @property
    def served(self) -> bool:
        return bool(self.calls or self.stop or self.leave)


_NEVER = (0, 0), 0


class Seats:
    """One seat a worker: its newest request for calls. A worker without one has room all the same, as it said last."""

    def __init__(self, book: Book, leases: Leases) -> None:
        self._book, self._leases = book, leases
        self._seats: dict[int, _Seat] = {}
        self._rooms: dict[int, tuple[tuple[int, int], int]] = {}
        self._ready: list[_Seat] = []

    def sit(self, connection: Connection, said: Turn, answer: Future[Hand], now_us: int) -> None:
        """Take a worker's request for calls."""
        known = self._leases.heard(connection, said.pool, said.job, said.attempt, now_us)
        if said.holds is not None:
            if (lease := self._leases.job(said.job)) is not None:
                lease.told = set()  # what it was told may have been lost with its connection
                lease.stop += self._book.not_theirs(connection, said.job, said.attempt, said.holds)
            self._book.keep_only(connection, said.job, said.attempt, said.holds)
        seat = _Seat(said.pool, said.job, said.attempt, answer, now_us + said.wait_ms * 1000)
        seat.leave = not known
        if (before := self._seats.pop(said.job, None)) is not None:
            self._ready.append(before)  # its connection is gone, or it would not ask again
        self._seats[said.job] = seat
        self.room(said.job, (said.attempt, said.serial), said.room)

    def room(self, job: int, said: tuple[int, int], room: int) -> None:
        """Hear how many calls more a worker has room for, by its attempt and serial, unless it has said more since."""
        if said >= self._rooms.get(job, _NEVER)[0]:
            self._rooms[job] = said, room

    def stop(self, job: int | None, call: int) -> None:
        """Have a worker told that a call is cancelled."""
        if job is not None and (lease := self._leases.job(job)) is not None:
            lease.stop.append(call)

    def serve(self, connection: Connection, now_us: int) -> None:
        """Hand calls to those who wait, in turn."""
        self._book.rates.next_us = None
        for number, seat in list(self._seats.items()):
            pool, lease = self._book.pools.get(seat.pool), self._leases.job(number)
            if lease is None or pool is None:
                seat.leave = True
            else:
                seat.stop, lease.stop = lease.stop, []
                heard, room = self._rooms.get(number, _NEVER)
                if room > 0 and pool.backlog and not lease.leaving and not pool.over:
                    most = pool.share(room)
                    seat.calls = self._book.take(connection, pool, number, seat.attempt, most, now_us)
                    told = {given.recipe for given in seat.calls}
                    seat.recipes, seat.functions = self._book.recipes.tell(connection, told, lease)
                    self._rooms[number] = heard, room - len(seat.calls)
                seat.leave = seat.leave or pool.over or (lease.leaving and not seat.calls)
                lease.idle_since_us = self._idle_since(lease.idle_since_us, seat, room, now_us)
            if seat.served or now_us >= seat.until_us:
                self._ready.append(seat)
                del self._seats[number]

    @staticmethod
    def _idle_since(before: int | None, seat: _Seat, room: int, now_us: int) -> int | None:
        if seat.calls or not room:
            return None
        return now_us if before is None else before

    @property
    def next_us(self) -> int | None:
        """When the next one is to be answered at the latest."""
        return min((seat.until_us for seat in self._seats.values()), default=None)

    def answer(self) -> list[_Seat]:
        """Answer those who were served: what they are handed is on disk as theirs. Returns those who are gone."""
        ready, self._ready = self._ready, []
        gone = []
        for seat in ready:
            hand = Hand(seat.calls, seat.recipes, seat.functions, seat.stop, seat.leave)
            if not tell(seat.answer, hand) and seat.calls:
                gone.append(seat)
        return gone

    def forget(self) -> None:
        """Answer all with nothing: they ask again, and say what they hold."""
        seats = [*self._ready, *self._seats.values()]
        self._ready, self._seats = [], {}
        for seat in seats:
            tell(seat.answer, Hand(again=True))

    def close(self) -> None:
        """Answer all who wait: nothing comes any more."""
        self.forget()
