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
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import func, select

from clearway.calls import parts, read, schema
from clearway.calls.book import Book
from clearway.calls.ends import Ends
from clearway.calls.leases import Leases
from clearway.calls.polls import Polls, Waiting
from clearway.calls.seats import Seats
from clearway.calls.states import OVER
from clearway.calls.streams import Reader, Streams, accept
from clearway.calls.upkeep import Upkeep
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
    from typing import TypeAlias

    from sqlalchemy import Connection

    from clearway.calls.pools import Pool, Standing
    from clearway.calls.rates import Bound
    from clearway.calls.read import CallRow
    from clearway.calls.tables import Tables
    from clearway.calls.wire import Enter, Part, Poll, Polled, Recipe, Turn, Yielded
    from clearway.calls.words import Rules
    from clearway.control import Controller, JobRow
    from clearway.model.fleet import QueueSpec
    from clearway.model.job import JobSpec

    _Op: TypeAlias = Callable[[Connection, int], object]

LOG = logging.getLogger("clearway.calls")
STUCK_S = 0.5
_REFUSALS = (InputError, NotFoundError, ConflictError, FullError)
_C = schema.call.c


class _Letter(NamedTuple):
    """`check` refuses before anything is changed; where `op` itself fails all that was changed is undone.

    `waits` is answered later than the letter, once there is something to say. `own`: nobody waits for it who could ask
    again, so it is done once the database can be written.
    """

    op: _Op
    answer: Future[Any]
    check: Callable[[Connection], object] | None = None
    waits: Future[Any] | None = None
    own: bool = False


class Surroundings(NamedTuple):
    """What a queue needs of the controller that it is part of.

    `read_rules` reads the options of a task and `judge` refuses those that may not come in now; `spec_of` makes the
    job of a worker of a pool, with a number to tell it from others, and `pool_of` tells of which pool a job is a
    worker. `drop` removes files of values by their names; `sweep` those that are older than so many microseconds,
    but for some names.
    """

    read_rules: Callable[[Recipe], Rules]
    judge: Callable[[Rules], None]
    spec_of: Callable[[Pool, int], JobSpec]
    pool_of: Callable[[JobRow], int | None]
    drop: Callable[[list[str]], None]
    sweep: Callable[[int, set[str]], None]


class Counts(NamedTuple):
    """How many calls could start now, how many workers have in hand, and how many wait for their next try."""

    pending: int
    running: int
    later: int


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

    def __init__(self, tables: Tables, controller: Controller, around: Surroundings, most: int) -> None:
        """Use the tables. `most` calls may wait and run."""
        self._tables, self._now_us = tables, controller.now_us
        self.book = Book(around.read_rules, around.judge, partial(_words_of, controller), most)
        self._polls, self._streams = Polls(), Streams()
        self._leases = Leases(self.book, controller, around.spec_of, around.pool_of, self._later)
        self._seats = Seats(self.book, self._leases)
        self._upkeep = Upkeep(self.book, tables, around.drop, around.sweep)
        self._letters: deque[_Letter] = deque()
        self._bell, self._lock = threading.Event(), threading.Lock()
        self._closed: ClearwayError | None = None
        self._later_seen = 0
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
        return self._put(
            lambda connection, now_us: Entered(self.book.enter(connection, said, now_us)),
            lambda connection: self.book.check(connection, said),
        )

    def part(self, said: Part) -> Future[None]:
        """Keep values of a map that is entered later."""
        return self._put(
            lambda connection, now_us: parts.keep(connection, said, now_us),
            lambda connection: parts.check_part(connection, said, self.book.most),
        )

    def turn(self, said: Turn) -> Future[Hand]:
        """Hand calls to a worker, once there are some."""
        hand: Future[Hand] = Future()
        self._put(lambda connection, now_us: self._seats.sit(connection, said, hand, now_us), waits=hand)
        return hand

    def report(self, said: Report) -> Future[None]:
        """Take in what a worker has done."""
        return self._put(lambda connection, now_us: self._take_in(connection, said, now_us))

    def poll(self, said: Poll) -> Future[Polled]:
        """Wait for the ends of calls."""
        found: Future[Polled] = Future()
        one = Waiting(said, found)
        self._put(lambda _, now_us: self._polls.begin(one, now_us), one.check, waits=found)
        return found

    def items(self, call: int, first: int, most: int, wait_ms: int) -> Future[Yielded]:
        """Wait for what a call yields, from a position on."""
        found: Future[Yielded] = Future()
        one = Reader(call, first, most, wait_ms, found)
        self._put(lambda _, now_us: self._streams.begin(one, now_us), one.look, waits=found)
        return found

    def cancel(self, node: int) -> Future[None]:
        """Cancel a root and all its parts."""
        return self._put(
            lambda connection, now_us: self._cancel(connection, node, now_us),
            lambda connection: _check_root(connection, node),
        )

    def end_actor(self, key: str) -> Future[None]:
        """End an actor for good."""
        return self._put(
            lambda connection, now_us: self._leases.end_actor(connection, key, now_us),
            lambda _: self._leases.known_actor(key),
        )

    def place(self, row: CallRow) -> Future[Place]:
        """Say what is before a call that waits, and who works on it."""
        return self._put(lambda connection, now_us: self._place(connection, row, now_us))

    def counts(self) -> Counts:
        """Count calls; parts of chains whose turn has not come are none yet.

        While the tables cannot be read as many wait for their next try as when they were last counted.
        """
        with suppress(StoreError), self.reading() as connection:  # its state tells of it; `status` has to answer
            self._later_seen = read.later(connection)
        return Counts(*self.book.counts(), self._later_seen)

    def pools(self) -> list[Standing]:
        """Tell how pools stand that have calls or workers, those first for which most wait."""
        return self.book.standing()

    def name_of(self, row: CallRow) -> str:
        """Return the name of a node's function; of a join without one what it is."""
        name = None if row.recipe is None else self.book.recipes.name_of(row.recipe)
        return row.kind if name is None else name

    def reading(self) -> Any:  # noqa: ANN401  a context of a connection
        """Return a context in which the tables can be read, in any thread."""
        return self._tables.reading()

    def attempt_over(self, job: int, attempt: int) -> None:
        """Be told, by the deciding loop, that an attempt of a job is over."""
        if self._leases.has(job) or not self._thread.is_alive():  # before it begins it knows no worker
            self._later(lambda connection, now_us: self._leases.attempt_over(connection, job, attempt, now_us))

    def _later(self, op: _Op) -> None:
        self._put(op, own=True)

    def _put(
        self,
        op: _Op,
        check: Callable[[Connection], object] | None = None,
        *,
        waits: Future[Any] | None = None,
        own: bool = False,
    ) -> Future[Any]:
        answer: Future[Any] = Future()
        if waits is not None:
            answer.add_done_callback(lambda done: _pass_on(done, waits))
        with self._lock:
            closed = self._closed
            if closed is None:
                self._letters.append(_Letter(op, answer, check, waits, own))
        if closed is not None:
            answer.set_exception(closed)
        self._bell.set()
        return answer

    # --- the thread ----------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while self._closed is None:
                try:
                    self._go_round()
                except Exception:
                    LOG.exception("the queue of calls has a defect, and begins anew from its tables")
                    self._again()
                    self._bell.set()
                    time.sleep(STUCK_S)
        finally:
            self._close()

    def _go_round(self) -> None:
        self._bell.wait(self._pause_s())
        self._bell.clear()
        letters = [self._letters.popleft() for _ in range(len(self._letters))]
        letters = [letter for letter in letters if letter.answer.set_running_or_notify_cancel()]
        now_us = self._now_us()
        try:
            if letters or any(moment is not None and moment <= now_us for moment in self._due()):
                self._go(letters)
            else:
                self._leases.size(now_us)
            self._keep_up(now_us)
        finally:
            for letter in letters:  # a defect: nobody is left to wait for ever
                if not letter.answer.done():
                    letter.answer.set_exception(StoreError("calls cannot be changed: the controller has a defect"))

    def _keep_up(self, now_us: int) -> None:
        try:
            self._upkeep.look(now_us)
        except StoreError as error:
            LOG.warning("calls that are long over cannot be dropped now: %s", error)
            self._again()

    def _close(self) -> None:
        """Answer all who wait, whatever has ended the thread."""
        with self._lock:
            closed = self._closed = self._closed or ControllerError("the queue of calls has failed; see the log")
        self._polls.close()
        self._streams.forget()
        self._seats.close()
        for letter in self._letters:
            if not letter.answer.done():
                letter.answer.set_exception(closed)

    def _pause_s(self) -> float | None:
        moments = [m for m in (*self._due(), self._leases.next_us, self._upkeep.next_us) if m is not None]
        return max(0.0, (min(moments) - self._now_us()) / 1e6) if moments else None

    def _due(self) -> tuple[int | None, ...]:
        waiting = self._polls.next_us, self._streams.next_us, self._seats.next_us
        return self.book.next_due_us, self.book.rates.next_us, *waiting

    def _go(self, letters: Sequence[_Letter]) -> None:
        try:
            answers = self._turn(letters)
        except Exception as error:
            self._again()
            if len(letters) > 1:  # one of them cannot be done: the others must not suffer
                for letter in letters:
                    self._go_alone(letter)
            elif letters:
                self._failed(letters[0], error)
            else:
                LOG.exception("calls cannot be changed")
                time.sleep(STUCK_S)
            return
        for letter, answer in zip(letters, answers, strict=True):
            if isinstance(answer, ClearwayError):
                letter.answer.set_exception(answer)
            else:
                letter.answer.set_result(answer)
        self._tell()

    def _go_alone(self, letter: _Letter) -> None:
        """Do a letter of a turn that failed. Who was told meanwhile to ask again is not served twice."""
        if letter.waits is not None and letter.waits.done():
            letter.answer.set_result(None)
        else:
            self._go([letter])

    def _failed(self, letter: _Letter, error: Exception) -> None:
        """Answer a letter that cannot be done. One of our own is kept while that is for the database."""
        if letter.own and isinstance(error, StoreError):
            LOG.warning("calls cannot be changed now: %s", error)
            letter.answer.set_result(None)
            self._letters.appendleft(letter._replace(answer=Future()))
            self._bell.set()
            time.sleep(STUCK_S)
        elif isinstance(error, ClearwayError):  # where it was refused late, all that it had changed is undone
            letter.answer.set_exception(error)
        else:
            LOG.error("calls cannot be changed", exc_info=error)
            letter.answer.set_exception(StoreError(f"calls cannot be changed: {error!r}"))

    def _turn(self, letters: Sequence[_Letter]) -> list[object]:
        now_us = self._now_us()
        answers: list[object] = []
        with self._tables.writing() as connection:
            self.book.ended = []
            self.book.wake(connection, now_us)
            for letter in letters:
                try:
                    if letter.check is not None:
                        letter.check(connection)
                except _REFUSALS as error:
                    answers.append(error)
                else:
                    answers.append(letter.op(connection, now_us))
            self._seats.serve(connection, now_us)
            self._polls.look(connection, self.book.ended, now_us)
            self._streams.look(connection, self.book.ended, now_us)
        return answers

    def _tell(self) -> None:
        """Answer those who waited for what is on disk now, and see how many workers that is worth."""
        for seat in self._seats.answer():
            back = [(given.call, given.attempt) for given in seat.calls]
            self.report(Report(seat.pool, seat.job, seat.attempt, serial=0, back=back))
        self._polls.answer()
        self._streams.answer()
        self._leases.size(self._now_us())

    def _again(self) -> None:
        """Forget what a transaction that failed left in memory; nothing is done before that."""
        self._seats.forget()
        self._polls.forget()
        self._streams.forget()
        while self._closed is None:
            try:
                with self._tables.writing() as connection:
                    self.book.reload(connection)
                    self._leases.restore(connection, self._now_us())
            except Exception:
                LOG.exception("calls cannot be read")
                time.sleep(STUCK_S)
            else:
                return

    def _take_in(self, connection: Connection, said: Report, now_us: int) -> None:
        self._leases.heard(connection, said.pool, said.job, said.attempt, now_us)
        if said.items:
            self._streams.fresh |= accept(connection, said.job, said.attempt, said.items)
        self.book.done(connection, said.job, said.attempt, said.done, now_us)
        if said.back:
            self.book.back(connection, said.job, said.attempt, said.back)
        if said.lost:
            self._leases.lost_some(connection, said.job, said.attempt, said.lost, now_us)
        self._seats.room(said.job, (said.attempt, said.serial), said.room)

    def _place(self, connection: Connection, row: CallRow, now_us: int) -> Place:
        pool = None if row.pool is None else self.book.pools.get(row.pool)
        if pool is None:
            return Place(0, 0, (), 0)
        count = select(func.count()).where(_C.pool == pool.id, schema.is_pending, _C.id < row.id)
        waiting = tuple(job for job, lease in pool.jobs.items() if not lease.attempt)
        bound = self.book.rates.latest(pool, now_us)
        took_us = None if row.recipe is None else self.book.took.get(row.recipe)
        return Place(connection.scalar(count) or 0, pool.started, waiting, pool.mean_us, bound, took_us)

    def _cancel(self, connection: Connection, node: int, now_us: int) -> None:
        for number, worker in Ends(self.book, connection, now_us).cancel(node):
            self._seats.stop(worker, number)


def _check_root(connection: Connection, node: int) -> None:
    """Raise NotFoundError or ConflictError for a node that cannot be cancelled."""
    row = connection.execute(select(_C.root, _C.state).where(_C.id == node)).one_or_none()
    if row is None:
        raise NotFoundError(f"there is no call {node}")
    if row.root != node and row.state < OVER:
        raise ConflictError(f"call {node} is part of {row.root}: cancel that")


def _words_of(controller: Controller, queue: str) -> QueueSpec | None:
    row = controller.board.queues.get(queue)
    return None if row is None else row.spec


def _pass_on(done: Future[Any], failing: Future[Any]) -> None:
    error = done.exception()
    if error is not None and not failing.done() and failing.set_running_or_notify_cancel():
        failing.set_exception(error)
