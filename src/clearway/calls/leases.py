"""Leases of workers: ordinary jobs, asked for and given back as there is work."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

from sqlalchemy import delete, insert, select, update

from clearway.calls import schema
from clearway.calls.pools import Job
from clearway.calls.wire import Problem
from clearway.model.asks import Cancel, Submit
from clearway.model.errors import ClearwayError, ControllerError, FullError, NotFoundError, StoreError
from clearway.model.ids import JobId
from clearway.model.states import State

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from sqlalchemy import Connection

    from clearway.calls.book import Book
    from clearway.calls.pools import Pool
    from clearway.control import Controller, JobRow
    from clearway.model.job import JobSpec

LOG = logging.getLogger("clearway.calls")
IDLE_US = 30_000_000
"""A worker without work leaves after so long .."""
ACTOR_IDLE_US = 600_000_000
"""An actor that nobody calls for so long ends, unless it is detached: its program is gone, or has forgotten it."""
WANTED_US = 200_000
""".. and after so long where others wait for what it holds."""
WHO = "the queue of calls"
EARLY_ENDS = 5
"""So many workers in a row may end before they took a call; then the calls fail that wait for them."""
FIRST_PAUSE_US = 500_000
MOST_DOUBLED = 6
_FOR_NOW = (StoreError, ControllerError, FullError)
"""Of a request that was refused so another one may be granted."""
LOOK_US = 1_000_000
"""So often is looked whether others wait for what idle workers hold."""
_WORKER = schema.worker


class _Asking(NamedTuple):
    """A request for a worker, told from others: what follows from its answer may be done twice."""

    pool: int
    number: int


class Leases:
    """The jobs of workers. `put` has a change made in the next turn of the queue."""

    def __init__(
        self,
        book: Book,
        controller: Controller,
        spec_of: Callable[[Pool, int], JobSpec],
        pool_of: Callable[[JobRow], int | None],
        put: Callable[[Callable[[Connection, int], object]], None],
    ) -> None:
        self._book, self._controller, self._spec_of, self._put = book, controller, spec_of, put
        self._whose = pool_of
        self._pool_of: dict[int, int] = {}
        self._count = 0
        self._looked_us, self._others = 0, False
        self._cancel_us = 0
        self.next_us: int | None = None

    def has(self, job: int) -> bool:
        """Whether a job is a worker's; from any thread."""
        return job in self._pool_of

    def job(self, job: int) -> Job | None:
        """Return what is known of a worker."""
        pool = self._pool_of.get(job)
        return None if pool is None else self._book.pools[pool].jobs.get(job)

    def restore(self, connection: Connection, now_us: int) -> None:
        """Know the workers that there are, of an earlier controller or before a transaction that failed.

        One that was asked for when the controller ended is on the board alone. What those had that are gone, and
        attempts that are over, goes back.
        """
        written = {row.job: row.pool for row in connection.execute(select(_WORKER)).all()}
        for job, pool in {**self._on_board(), **written}.items():
            if job not in self._pool_of and pool in self._book.pools:
                self._add(job, pool)
        for job, pool in list(self._pool_of.items()):
            if pool not in self._book.pools:
                del self._pool_of[job]
                continue
            if job not in written:
                self._write(connection, job, pool)
            self._look_after(connection, job, now_us)

    def _on_board(self) -> dict[int, int]:
        """Return the jobs of workers that the board has and that are not over, with their pools."""
        rows = [row for row in list(self._controller.board.jobs.values()) if not row.over]
        found = {int(row.id): self._whose(row) for row in rows if row.id not in self._pool_of}
        return {job: pool for job, pool in found.items() if pool is not None}

    def heard(self, connection: Connection, pool: int, job: int, attempt: int, now_us: int) -> bool:
        """Note that a process of a worker spoke. False: it is nobody's, or an older attempt, and is to leave."""
        known = self.job(job)
        if known is None:
            row = self._controller.board.jobs.get(JobId(job))
            if row is None or row.over or not self._free(pool):
                return False
            known = self._add(job, pool)
            self._write(connection, job, pool)
        if attempt < known.attempt or known.pool != pool:
            return False
        if attempt > known.attempt:
            self._lost(connection, job, attempt - 1, now_us)
            known.attempt, known.told, known.idle_since_us = attempt, set(), None
            self._book.pools[pool].early_ends = 0
        return True

    def _free(self, pool: int) -> bool:
        """Whether a pool may have one worker more: an actor has one."""
        known = self._book.pools.get(pool)
        return known is not None and (known.actor is None or not known.jobs)

    def attempt_over(self, connection: Connection, job: int, attempt: int, now_us: int) -> None:
        """Take back what an attempt had that is over."""
        self._lost(connection, job, attempt, now_us)
        self._look_after(connection, job, now_us)

    def _look_after(self, connection: Connection, job: int, now_us: int) -> None:
        row = self._controller.board.jobs.get(JobId(job))
        if job not in self._pool_of:
            return
        if row is not None and not row.over:
            self._lost(connection, job, row.attempt - (row.state is not State.PENDING), now_us)
            return
        pool = self._book.pools[self._pool_of.pop(job)]
        known = pool.jobs.pop(job)
        connection.execute(delete(_WORKER).where(_WORKER.c.job == job))
        self._lost(connection, job, 2**31 - 1, now_us)
        if pool.actor is not None:
            told = "" if row is None or row.reason is None else f": {row.reason.code}"
            state = "over" if row is None else str(row.state)
            self._actor_over(connection, pool, f"it is {state} (job {job}){told}", now_us)
        elif not known.attempt and not known.leaving:
            self._ended_early(connection, pool, job, now_us)

    def known_actor(self, key: str) -> Pool:
        """Return the pool of an actor. NotFoundError: there is none with this key."""
        pool = self._book.actor(key)
        if pool is None:
            raise NotFoundError(f"there is no actor {key}")
        return pool

    def end_actor(self, connection: Connection, key: str, now_us: int) -> None:
        """End an actor that is known."""
        pool = self.known_actor(key)
        self._actor_over(connection, pool, "it was ended", now_us)

    def _actor_over(self, connection: Connection, pool: Pool, told: str, now_us: int) -> None:
        if not pool.over:
            pool.over, pool.over_us = True, now_us
            connection.execute(update(schema.pool).where(schema.pool.c.id == pool.id).values(over=1, over_us=now_us))
        problem = Problem(["ActorDiedError"], f"its actor has ended: {told}")
        self._book.fail_pool(connection, pool, problem, now_us, held=True)

    def _ended_early(self, connection: Connection, pool: Pool, job: int, now_us: int) -> None:
        pool.early_ends += 1
        pool.not_before_us = now_us + (FIRST_PAUSE_US << pool.early_ends)
        if pool.early_ends >= EARLY_ENDS:
            told = f"its workers end before they take a call; the last was job {job}: clearway logs --stderr {job}"
            self._book.fail_pool(connection, pool, Problem(["WorkerError"], told), now_us, held=False)
            pool.early_ends = 0

    def lost_some(
        self, connection: Connection, job: int, attempt: int, which: list[tuple[int, int]], now_us: int
    ) -> None:
        """Take back calls whose process is gone, though their worker is not."""
        self._spend(connection, self._book.lost_some(connection, job, attempt, which), now_us)

    def _lost(self, connection: Connection, job: int, upto: int, now_us: int) -> None:
        self._spend(connection, self._book.lost(connection, job, upto), now_us)

    def _spend(self, connection: Connection, spent: list[int], now_us: int) -> None:
        if spent:
            told = "its worker was lost, as were all before it (max_losses)"
            where = schema.is_held & schema.call.c.id.in_(spent)
            self._book.fail(connection, where, Problem(["WorkerLostError"], told), now_us)

    # --- how many ------------------------------------------------------------------------------

    def size(self, now_us: int) -> None:
        """Ask for workers where there is work for them, and have those leave that have none."""
        self.next_us = None
        for pool in self._book.pools.values():
            if pool.busy:
                self._size(pool, now_us)
        if any(job.idle_since_us is not None for pool in self._book.pools.values() for job in pool.jobs.values()):
            self._let_go(now_us)

    def _size(self, pool: Pool, now_us: int) -> None:
        if pool.backlog and now_us < pool.not_before_us:
            self._look_at(pool.not_before_us)
        for _ in range(self._more(pool, now_us)):
            self._ask(pool)
        if pool.over and pool.backlog:
            self._put(partial(self._too_late, pool=pool.id))
        if pool.over or (not pool.backlog and pool.actor is None):
            self._give_up(pool, now_us)

    def _look_at(self, moment_us: int) -> None:
        self.next_us = moment_us if self.next_us is None else min(self.next_us, moment_us)

    def _more(self, pool: Pool, now_us: int) -> int:
        if not pool.backlog:
            return 0
        far_us = self._book.rates.far(pool, now_us)
        if far_us is not None and pool.actor is None:
            self._look_at(min(far_us, now_us + LOOK_US))
            return 0
        return pool.more(now_us, self._book.rates.fed(pool, now_us))

    def _give_up(self, pool: Pool, now_us: int) -> None:
        """Cancel leases that have no place yet and are not needed any more, and those of an actor that was ended."""
        for number, job in pool.jobs.items():
            if job.leaving or (job.attempt and not pool.over):
                continue
            if now_us < self._cancel_us:
                self._look_at(self._cancel_us)
                return
            job.leaving = True
            self._cancel(number)

    def _cancel(self, job: int) -> None:
        asked = self._controller.ask(Cancel(JobId(job), WHO))
        asked.add_done_callback(lambda done: self._cancelled(job, done))

    def _cancelled(self, job: int, done: Future[object]) -> None:
        """Have a job cancelled once more, later, where that was refused; one that is over is no more looked after."""
        error = _error(done)
        if error is not None:
            LOG.warning("worker %d cannot be cancelled now: %s", job, error)
            self._put(lambda connection, now_us: self._once_more(connection, job, now_us))

    def _once_more(self, connection: Connection, job: int, now_us: int) -> None:
        self._cancel_us = now_us + LOOK_US
        self._look_after(connection, job, now_us)
        known = self.job(job)
        if known is not None:
            known.leaving = False

    def _too_late(self, connection: Connection, now_us: int, *, pool: int) -> None:
        known = self._book.pools.get(pool)
        if known is not None:
            self._actor_over(connection, known, "it ended before this call was made", now_us)

    def _ask(self, pool: Pool) -> None:
        self._count += 1
        asking = _Asking(pool.id, self._count)
        pool.asked.add(asking.number)
        try:
            spec = self._spec_of(pool, self._count)
        except ClearwayError as error:
            refused = error
            self._put(lambda connection, now_us: self._refused(connection, asking, refused, now_us))
            return
        asked: Future[object] = self._controller.ask(Submit((spec,)))
        asked.add_done_callback(lambda done: self._asked(asking, done))

    def _asked(self, asking: _Asking, done: Future[object]) -> None:
        error = _error(done)
        if error is not None:
            self._put(lambda connection, now_us: self._refused(connection, asking, error, now_us))
            return
        (job,) = cast("tuple[int, ...]", done.result())
        self._put(lambda connection, now_us: self._granted(connection, asking, job, now_us))

    def _granted(self, connection: Connection, asking: _Asking, job: int, now_us: int) -> None:
        pool = self._book.pools.get(asking.pool)
        if pool is not None:
            pool.asked.discard(asking.number)
            pool.refusals = 0
        if job not in self._pool_of:
            if not self._free(asking.pool):
                self._cancel(job)
                return
            self._add(job, asking.pool)
        self._write(connection, job, asking.pool)
        self._look_after(connection, job, now_us)

    def _refused(self, connection: Connection, asking: _Asking, error: ClearwayError, now_us: int) -> None:
        """Wait before it is asked again; where no worker can be had, ever, end what waits for one."""
        pool = self._book.pools.get(asking.pool)
        if pool is None:
            return
        pool.asked.discard(asking.number)
        pool.refusals += 1
        pool.not_before_us = now_us + (FIRST_PAUSE_US << min(pool.refusals, MOST_DOUBLED))
        if isinstance(error, _FOR_NOW) or pool.jobs:
            LOG.warning("a worker of pool %d cannot be had now: %s", pool.id, error)
            return
        told = Problem(["WorkerError"], f"no worker can be had: {error}")
        self._book.fail_pool(connection, pool, told, now_us, held=False)

    def _let_go(self, now_us: int) -> None:
        if now_us >= self._looked_us + LOOK_US:
            self._looked_us = now_us
            rows = list(self._controller.board.jobs.values())
            self._others = any(row.state is State.PENDING and row.held_by is None for row in rows)
        patience_us = WANTED_US if self._others else IDLE_US
        for pool in self._book.pools.values():
            for number, job in pool.jobs.items():
                since_us = job.idle_since_us
                if since_us is None or job.leaving or pool.detached or self._soon(pool, now_us):
                    continue
                if now_us - since_us >= (ACTOR_IDLE_US if pool.actor is not None else patience_us):
                    job.idle_since_us = None
                    self._put(partial(self._leave_unless_busy, job=number))
                self._look_at(max(now_us, self._looked_us) + LOOK_US)

    def _leave_unless_busy(self, connection: Connection, _now_us: int, *, job: int) -> None:
        """Have a worker leave that has nothing to do. One whose call waits for others has room too, and stays."""
        column = schema.call.c
        held = select(column.id).where(schema.is_held, column.worker == job).limit(1)
        if (lease := self.job(job)) is not None and connection.scalar(held) is None:
            lease.leaving = True

    def _soon(self, pool: Pool, now_us: int) -> bool:
        return pool.backlog > 0 and self._book.rates.far(pool, now_us) is None

    @staticmethod
    def _write(connection: Connection, job: int, pool: int) -> None:
        connection.execute(delete(_WORKER).where(_WORKER.c.job == job))
        connection.execute(insert(_WORKER).values(job=job, pool=pool))

    def _add(self, job: int, pool: int) -> Job:
        self._pool_of[job] = pool
        known = self._book.pools[pool].jobs[job] = Job(pool)
        return known


def _error(done: Future[object]) -> ClearwayError | None:
    """Return what was wrong with a request, None where nothing was."""
    if done.cancelled():
        return ControllerError("the request was taken back")
    error = done.exception()
    if error is None or isinstance(error, ClearwayError):
        return error
    return ControllerError(f"it failed: {error!r}")
