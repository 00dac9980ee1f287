"""The work queue of a controller: one thread that writes all changes of calls, many in one transaction.

A turn takes everything that has queued up, changes the tables, hands calls to workers that wait, commits once, and only
then answers. So a call that is entered while a worker waits is recorded and handed over in one commit.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import func, select

from clearway.calls import schema
from clearway.calls.book import Book
from clearway.calls.ends import Ends
from clearway.calls.leases import Leases
from clearway.calls.polls import Polls
from clearway.calls.seats import Seats
from clearway.calls.states import OVER, State
from clearway.calls.tidy import EVERY_US, KEPT_US, tidy
from clearway.calls.wire import Entered, Hand, Report
from clearway.model.errors import (
    ClearwayError,
    ConflictError,
    ControllerError,
    FullError,
    InputError,
    NotFoundError,
    StoreError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection

    from clearway.calls.pools import Pool
    from clearway.calls.rates import Bound
    from clearway.calls.read import CallRow
    from clearway.calls.tables import Tables
    from clearway.calls.wire import Enter, Poll, Polled, Recipe, Turn
    from clearway.calls.words import Rules
    from clearway.control import Controller
    from clearway.model.fleet import QueueSpec
    from clearway.model.job import JobSpec

LOG = logging.getLogger("clearway.calls")
STUCK_S = 0.5
_C = schema.call.c


class _Letter(NamedTuple):
    op: Callable[[Connection, int], object]
    answer: Future[Any]
    own: bool = False
    """Nobody waits for it who could ask again: it is done once the database can be written."""


class Place(NamedTuple):
    """Where a call stands: calls before it, workers that are up, jobs of those that wait, a call's mean time.

    `bound`: the rate that keeps calls like it back now, or next. `took_us`: the mean time of calls of its own function,
    None where none has ended yet.
    """

    before: int
    workers: int
    waiting: tuple[int, ...]
    mean_us: int
    bound: Bound | None = None
    took_us: int | None = None


class CallService:
    """The queue. `put`-like methods may be called from any thread, and answer with futures."""

    def __init__(
        self,
        tables: Tables,
        controller: Controller,
        read_rules: Callable[[Recipe], Rules],
        judge: Callable[[Rules], None],
        spec_of: Callable[[Pool, int], JobSpec],
        drop: Callable[[list[str]], None],
        most: int,
    ) -> None:
        """Use the tables. `most` calls may wait and run.

        `spec_of` makes the job of a worker of a pool, with a number to tell it from others; `drop` removes the files
        of values that nobody can ask for any more.
        """
        self._drop, self._tidy_us = drop, 0
        self._tables, self._now_us = tables, controller.now_us
        self.book = Book(read_rules, judge, partial(_words_of, controller), most)
        self._polls = Polls()
        self._leases = Leases(self.book, controller, spec_of, self._later)
        self._seats = Seats(self.book, self._leases)
        self._letters: deque[_Letter] = deque()
        self._bell, self._lock = threading.Event(), threading.Lock()
        self._closed: ClearwayError | None = None
        self._thread = threading.Thread(target=self._run, name="clearway-calls", daemon=True)

    # --- from any thread -----------------------------------------------------------------------

    def start(self) -> None:
        """Read what is there, and begin. The controller must have taken over."""
        with self._tables.writing() as connection:
            self.book.reload(connection)
            self._leases.restore(connection, self._now_us())
        self._thread.start()

    def stop(self) -> None:
        """End after the turn that is under way; who waits is answered."""
        with self._lock:
            self._closed = ControllerError("the controller stops; nothing was accepted")
        self._bell.set()
        if self._thread.is_alive():
            self._thread.join()

    def enter(self, said: Enter) -> Future[Entered]:
        """Enter calls: the answer comes when they are on disk."""
        return self._put(lambda connection, now_us: Entered(self.book.enter(connection, said, now_us)))

    def turn(self, said: Turn) -> Future[Hand]:
        """Hand calls to a worker, once there are some."""
        hand: Future[Hand] = Future()
        self._put(lambda connection, now_us: self._seats.sit(connection, said, hand, now_us), hand)
        return hand

    def report(self, said: Report) -> Future[None]:
        """Take in what a worker has done."""
        return self._put(lambda connection, now_us: self._take_in(connection, said, now_us))

    def poll(self, said: Poll) -> Future[Polled]:
        """Wait for the ends of calls."""
        found: Future[Polled] = Future()
        self._put(lambda connection, now_us: self._polls.begin(connection, said, found, now_us), found)
        return found

    def cancel(self, node: int) -> Future[None]:
        """Cancel a root and all its parts."""
        return self._put(lambda connection, now_us: self._cancel(connection, node, now_us))

    def end_actor(self, key: str) -> Future[None]:
        """End an actor for good."""
        return self._put(lambda connection, now_us: self._leases.end_actor(connection, key, now_us))

    def place(self, row: CallRow) -> Future[Place]:
        """Say what is before a call that waits, and who works on it."""
        return self._put(lambda connection, now_us: self._place(connection, row, now_us))

    def name_of(self, row: CallRow) -> str:
        """Return the name of a node's function; of a join without one what it is."""
        return row.kind if row.recipe is None else self.book.name_of(row.recipe)

    def reading(self) -> Any:  # noqa: ANN401  a context of a connection
        """Return a context in which the tables can be read, in any thread."""
        return self._tables.reading()

    def attempt_over(self, job: int, attempt: int) -> None:
        """Be told, by the deciding loop, that an attempt of a job is over."""
        if self._leases.has(job):
            self._later(lambda connection, now_us: self._leases.attempt_over(connection, job, attempt, now_us))

    def _later(self, op: Callable[[Connection, int], object]) -> None:
        self._put(op, own=True)

    def _put(
        self, op: Callable[[Connection, int], object], failing: Future[Any] | None = None, *, own: bool = False
    ) -> Future[Any]:
        answer: Future[Any] = Future()
        if failing is not None:
            answer.add_done_callback(lambda done: _pass_on(done, failing))
        with self._lock:
            closed = self._closed
            if closed is None:
                self._letters.append(_Letter(op, answer, own))
        if closed is not None:
            answer.set_exception(closed)
        self._bell.set()
        return answer

    # --- the thread ----------------------------------------------------------------------------

    def _run(self) -> None:
        while self._closed is None:
            self._bell.wait(self._pause_s())
            self._bell.clear()
            self._tidy()
            letters = [self._letters.popleft() for _ in range(len(self._letters))]
            now_us = self._now_us()
            if letters or any(moment is not None and moment <= now_us for moment in self._due()):
                self._go(letters)
            else:
                self._leases.size(now_us)
        self._polls.close()
        self._seats.close()
        for letter in self._letters:
            letter.answer.set_exception(self._closed)

    def _pause_s(self) -> float | None:
        moments = [m for m in (*self._due(), self._leases.next_us) if m is not None]
        return max(0.0, (min(moments) - self._now_us()) / 1e6) if moments else None

    def _due(self) -> tuple[int | None, ...]:
        return self.book.next_due_us, self.book.rates.next_us, self._polls.next_us, self._seats.next_us, self._tidy_us

    def _go(self, letters: Sequence[_Letter]) -> None:
        try:
            answers = self._turn(letters)
        except Exception as error:
            if len(letters) > 1:  # one of them cannot be done: the others must not suffer
                self._again()
                for letter in letters:
                    self._go([letter])
                return
            LOG.exception("calls cannot be changed")
            answers = [error if isinstance(error, ClearwayError) else StoreError(f"calls cannot be changed: {error!r}")]
            self._again()
            if not letters:
                time.sleep(STUCK_S)
            elif letters[0].own and isinstance(error, StoreError):
                self._letters.appendleft(letters[0])
                self._bell.set()
                time.sleep(STUCK_S)
                return
        for letter, answer in zip(letters, answers, strict=False):
            if isinstance(answer, ClearwayError):
                letter.answer.set_exception(answer)
            else:
                letter.answer.set_result(answer)

    def _turn(self, letters: Sequence[_Letter]) -> list[object]:
        now_us = self._now_us()
        answers: list[object] = []
        with self._tables.writing() as connection:
            self.book.ended = []
            self.book.wake(connection, now_us)
            for letter in letters:
                try:
                    answers.append(letter.op(connection, now_us))
                except (
                    InputError,
                    NotFoundError,
                    ConflictError,
                    FullError,
                ) as error:  # raised before anything was changed
                    answers.append(error)
            self._seats.serve(connection, now_us)
            self._polls.look(connection, self.book.ended, now_us)
        for seat in self._seats.answer():
            self.report(
                Report(seat.pool, seat.job, seat.attempt, serial=0, back=[(c.call, c.attempt) for c in seat.calls])
            )
        self._polls.answer()
        self._leases.size(now_us)
        return answers

    def _tidy(self) -> None:
        """Now and then drop what is long over."""
        now_us = self._now_us()
        if now_us < self._tidy_us:
            return
        self._tidy_us = now_us + EVERY_US
        try:
            more = True
            while more:
                with self._tables.writing() as connection:
                    names, more = tidy(connection, now_us - KEPT_US)
                self._drop(names)
        except (StoreError, OSError) as error:
            LOG.warning("calls that are long over cannot be dropped now: %s", error)

    def _again(self) -> None:
        """Forget what a transaction that failed left in memory; nothing is done before that."""
        self._seats.forget()
        self._polls.forget()
        while self._closed is None:
            try:
                with self._tables.writing() as connection:
                    self.book.reload(connection)
                    self._leases.restore(connection, self._now_us())
            except StoreError:
                LOG.exception("calls cannot be read")
                time.sleep(STUCK_S)
            else:
                return

    def _take_in(self, connection: Connection, said: Report, now_us: int) -> None:
        self._leases.heard(connection, said.pool, said.job, said.attempt, now_us)
        self.book.done(connection, said.job, said.attempt, said.done, now_us)
        if said.back:
            self.book.back(connection, said.job, said.attempt, said.back)
        self._seats.room(said.job, (said.attempt, said.serial), said.room)

    def _place(self, connection: Connection, row: CallRow, now_us: int) -> Place:
        pool = None if row.pool is None else self.book.pools.get(row.pool)
        if pool is None:
            return Place(0, 0, (), 0)
        count = select(func.count()).where(_C.pool == pool.id, _C.state == int(State.PENDING), _C.id < row.id)
        waiting = tuple(job for job, lease in pool.jobs.items() if not lease.attempt)
        bound = self.book.rates.latest(pool, now_us)
        took_us = None if row.recipe is None else self.book.took.get(row.recipe)
        return Place(connection.scalar(count) or 0, pool.started, waiting, pool.mean_us, bound, took_us)

    def _cancel(self, connection: Connection, node: int, now_us: int) -> None:
        row = connection.execute(select(_C.root, _C.state).where(_C.id == node)).one_or_none()
        if row is None:
            raise NotFoundError(f"there is no call {node}")
        if row.state >= OVER:
            return
        if row.root != node:
            raise ConflictError(f"call {node} is part of {row.root}: cancel that")
        for number, worker in Ends(self.book, connection, now_us).cancel(node):
            self._seats.stop(worker, number)


def _words_of(controller: Controller, queue: str) -> QueueSpec | None:
    row = controller.board.queues.get(queue)
    return None if row is None else row.spec


def _pass_on(done: Future[Any], failing: Future[Any]) -> None:
    error = done.exception()
    if error is not None and not failing.done():
        failing.set_exception(error)
