"""A queue of calls on a database file of a test's own, whose workers and their jobs are played by hand."""

from __future__ import annotations

import time
from concurrent.futures import Future
from contextlib import contextmanager
from queue import Queue
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from clearway.calls.service import CallService, Surroundings
from clearway.calls.tables import prepare
from clearway.calls.wire import CallSpec, Enter, Given, Poll, Recipe, Turn
from clearway.calls.words import plain_words, read_rules
from clearway.model.asks import Submit
from clearway.model.errors import StoreError
from clearway.model.states import State
from clearway.store.beside import SqliteBeside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from clearway.calls.wire import Hand, Over, Spec
    from clearway.control import Controller
    from clearway.model.asks import Ask
    from clearway.model.job import JobSpec

WAIT_S = 30


class Refusing(SqliteBeside):
    """Refuses as many transactions at their end as it is told."""

    refuse = 0

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        with super().writing() as connection:
            yield connection
            if self.refuse:
                self.refuse -= 1
                raise StoreError("the disk is full")


class Place:
    """The jobs of workers, started by hand."""

    def __init__(self) -> None:
        self.board = SimpleNamespace(jobs={}, queues={})
        self.asked: Queue[Future[object]] = Queue()
        self.cancelled: Queue[tuple[Ask, Future[object]]] = Queue()

    @staticmethod
    def now_us() -> int:
        return time.monotonic_ns() // 1000

    def ask(self, said: Ask) -> Future[object]:
        answer: Future[object] = Future()
        if isinstance(said, Submit):
            self.asked.put(answer)
        else:
            self.cancelled.put((said, answer))
        return answer

    def job(self, job: int, worker_of: int | None = None, state: State = State.RUNNING) -> SimpleNamespace:
        """Have a job on the board."""
        row = SimpleNamespace(
            id=job, over=False, state=state, held_by=None, reason=None, attempt=1, worker_of=worker_of
        )
        self.board.jobs[job] = row
        return row

    def grant(self, job: int) -> SimpleNamespace:
        """Answer the next request for a worker with a job."""
        answer = self.asked.get(timeout=WAIT_S)
        row = self.job(job)
        answer.set_result((job,))
        return row


def queue(tables: SqliteBeside, place: Place) -> CallService:
    """Return a queue that is not started yet."""
    prepare(tables)
    around = Surroundings(
        lambda recipe: read_rules(plain_words(recipe.words), {"user": "ann"}), lambda _: None,
        lambda *_: cast("JobSpec", None), lambda row: cast("Any", row).worker_of, lambda _: None, lambda *_: None,
    )  # fmt: skip
    return CallService(tables, cast("Controller", place), around, 100_000)


class Asking:
    """Asks a queue, and waits for its answers."""

    def __init__(self, service: CallService) -> None:
        self.service = service
        self._keys = 0

    def enter(self, *roots: Spec, how: str = "call", actor: str = "") -> int:
        self._keys += 1
        said = Enter(f"k{self._keys}", [Recipe("f", "f", how, actor=actor)], list(roots), {"f": b"code"})
        return self.service.enter(said).result(WAIT_S).first

    def hand(self, job: int, *, attempt: int = 1, serial: int = 0, room: int = 1, **words: Any) -> Hand:
        turn = Turn(words.pop("pool", 1), job, attempt, room, serial, WAIT_S * 1000, **words)
        return self.service.turn(turn).result(WAIT_S)

    def given(self, job: int, *, attempt: int = 1, serial: int = 0) -> list[Given]:
        return self.hand(job, attempt=attempt, serial=serial).calls

    def over(self, call: int) -> Over:
        (found,) = self.service.poll(Poll([(call, call)], wait_ms=WAIT_S * 1000)).result(WAIT_S).over
        return found


def call(value: bytes = b"v") -> CallSpec:
    """One call."""
    return CallSpec(0, value)
