"""The queue of calls beside a database that refuses for a while."""

from __future__ import annotations

import time
from concurrent.futures import Future
from contextlib import contextmanager
from queue import Queue
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from clearway.calls.service import CallService
from clearway.calls.wire import CallSpec, Enter, Poll, Recipe, Turn
from clearway.calls.words import plain_words, read_rules
from clearway.model.asks import Submit
from clearway.model.errors import StoreError
from clearway.store.beside import SqliteBeside

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy import Connection

    from clearway.control import Controller
    from clearway.model.job import JobSpec

WAIT_S = 30


class _Refusing(SqliteBeside):
    """Refuses as many transactions at their end as it is told."""

    refuse = 0

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        with super().writing() as connection:
            yield connection
            if self.refuse:
                self.refuse -= 1
                raise StoreError("the disk is full")


class _Place:
    """The jobs of workers, started by hand."""

    def __init__(self) -> None:
        self.board = SimpleNamespace(jobs={}, queues={})
        self.asked: Queue[Future[object]] = Queue()

    @staticmethod
    def now_us() -> int:
        return time.monotonic_ns() // 1000

    def ask(self, said: object) -> Future[object]:
        answer: Future[object] = Future()
        if isinstance(said, Submit):
            self.asked.put(answer)
        return answer

    def grant(self, job: int) -> SimpleNamespace:
        answer = self.asked.get(timeout=WAIT_S)
        row = self.board.jobs[job] = SimpleNamespace(over=False, state=None, held_by=None, reason=None)
        answer.set_result((job,))
        return row


@pytest.fixture
def place() -> _Place:
    return _Place()


@pytest.fixture
def tables(tmp_path: Path) -> _Refusing:
    return _Refusing(tmp_path / "calls.db")


@pytest.fixture
def service(place: _Place, tables: _Refusing) -> Iterator[CallService]:
    from clearway.calls.tables import prepare  # noqa: PLC0415

    prepare(tables)
    found = CallService(
        tables, cast("Controller", place), lambda recipe: read_rules(plain_words(recipe.words), {"user": "ann"}),
        lambda _: None, lambda *_: cast("JobSpec", None), lambda _: None, 1000,
    )  # fmt: skip
    found.start()
    yield found
    found.stop()
    tables.close()


def test_calls_of_a_worker_come_back_once_the_database_can_be_written(
    service: CallService, place: _Place, tables: _Refusing
) -> None:
    call = service.enter(Enter("k", [Recipe("f", "f")], [CallSpec(0, b"v")], {"f": b"code"})).result(WAIT_S).first
    worker = place.grant(5)
    given = service.turn(Turn(1, 5, 1, 1, wait_ms=WAIT_S * 1000)).result(WAIT_S).calls
    assert [(one.call, one.attempt) for one in given] == [(call, 1)]
    worker.over = True
    tables.refuse = 3
    service.attempt_over(5, 1)
    place.grant(6)
    given = service.turn(Turn(1, 6, 1, 1, wait_ms=WAIT_S * 1000)).result(WAIT_S).calls
    assert [(one.call, one.attempt) for one in given] == [(call, 2)]


def test_a_worker_that_was_granted_meanwhile_is_known(service: CallService, place: _Place, tables: _Refusing) -> None:
    service.enter(Enter("k", [Recipe("f", "f")], [CallSpec(0, b"v")], {"f": b"code"})).result(WAIT_S)
    tables.refuse = 2
    place.grant(5).over = True
    place.grant(6)
    assert service.turn(Turn(1, 6, 1, 1, wait_ms=WAIT_S * 1000)).result(WAIT_S).calls


def test_an_actor_that_was_ended_is_handed_nothing_more(service: CallService, place: _Place) -> None:
    recipe = Recipe("f", "f", "method", actor="key")
    service.enter(Enter("k", [recipe], [CallSpec(0, b"v")], {"f": b"code"})).result(WAIT_S)
    place.grant(5)
    assert service.turn(Turn(1, 5, 1, 1, wait_ms=WAIT_S * 1000)).result(WAIT_S).calls
    service.turn(Turn(1, 5, 1, 1, serial=1, wait_ms=WAIT_S * 1000))
    service.end_actor("key").result(WAIT_S)
    call = service.enter(Enter("l", [recipe], [CallSpec(0, b"w")])).result(WAIT_S).first
    over = service.poll(Poll([(call, call)], wait_ms=WAIT_S * 1000)).result(WAIT_S).over
    assert [(one.state, one.problem is not None and one.problem.types) for one in over] == [
        ("failed", ["ActorDiedError"])
    ]
