"""Who waits for the end of a job."""

from __future__ import annotations

from collections import defaultdict
from concurrent.futures import Future
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearway.control.rows import JobRow
    from clearway.model.errors import ClearwayError
    from clearway.model.ids import JobId


class Waiters:
    """Futures by job. A future that its owner cancels is forgotten."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._futures: defaultdict[JobId, list[Future[JobRow]]] = defaultdict(list)

    def add(self, job: JobId) -> Future[JobRow]:
        """Return a future that `resolve` or `fail` of this job ends."""
        future: Future[JobRow] = Future()
        with self._lock:
            self._futures[job].append(future)
        future.add_done_callback(lambda done: self._drop(job, done))
        return future

    def resolve(self, job: JobId, row: JobRow) -> None:
        """Give `row` to all who wait for this job."""
        for future in self._take(job):
            if future.set_running_or_notify_cancel():
                future.set_result(row)

    def fail(self, job: JobId, error: ClearwayError) -> None:
        """Raise `error` for all who wait for this job."""
        for future in self._take(job):
            if future.set_running_or_notify_cancel():
                future.set_exception(error)

    def waiting(self) -> int:
        """Return how many futures are open."""
        with self._lock:
            return sum(map(len, self._futures.values()))

    def _take(self, job: JobId) -> list[Future[JobRow]]:
        with self._lock:
            return self._futures.pop(job, [])

    def _drop(self, job: JobId, future: Future[JobRow]) -> None:
        with self._lock:
            left = [f for f in self._futures.get(job, ()) if f is not future]
            if left:
                self._futures[job] = left
            else:
                self._futures.pop(job, None)
