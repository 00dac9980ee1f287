"""Rates of queues: evenly, over pools and workers, and over restarts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clearway.calls.pools import Pool
from clearway.calls.rates import SOON_US
from clearway.model.fleet import QueueSpec
from clearway.model.machine_words import read_queue
from clearway.model.values import SECOND_US, rate_text
from clearway.store.beside import SqliteBeside
from tests.calls.books import Desk, call

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    tables = SqliteBeside(tmp_path / "calls.db")
    yield Desk(tables)
    tables.close()


def _rated(desk: Desk, rate: str, queue: str = "api", parent: str = "") -> None:
    words = {"name": queue, "call_rate": rate, **({"parent": parent} if parent else {})}
    desk.queues[queue] = read_queue(words)


def test_one_after_the_other_whoever_takes_them(desk: Desk) -> None:
    _rated(desk, "60/m")
    desk.enter(*[call()] * 5, queue="api")
    desk.enter(*[call()] * 5, queue="api", cpus=2)
    taken = []
    for desk.now_us in range(0, 5 * SECOND_US, 100_000):
        taken += [(desk.now_us, len(given)) for pool in (1, 2) if (given := desk.take(job=pool, pool=pool))]
    assert taken == [(second * SECOND_US, 1) for second in range(5)]


def test_what_was_not_used_is_not_saved_up(desk: Desk) -> None:
    _rated(desk, "100/s")
    desk.now_us = 3600 * SECOND_US
    desk.enter(*[call()] * 50, queue="api")
    assert [len(desk.take()), len(desk.take())] == [5, 0]
    desk.now_us += 49_999
    assert not desk.take()
    desk.now_us += 1
    assert len(desk.take()) == 5


def test_in_no_second_more_than_its_rate_and_what_goes_at_once(desk: Desk) -> None:
    _rated(desk, "300/s")
    desk.enter(*[call()] * 2000, queue="api")
    moments: list[int] = []
    for desk.now_us in range(0, 4 * SECOND_US, 1000):
        moments += [desk.now_us] * len(desk.take(most=7))
    most = max(sum(begin <= at < begin + SECOND_US for at in moments) for begin in set(moments))
    assert 290 <= most <= 315
    assert 1160 <= len(moments) <= 1200 + 15


def test_a_queue_above_bounds_all_below_it(desk: Desk) -> None:
    _rated(desk, "1/s", "all")
    _rated(desk, "100/s", "one", "all")
    desk.queues["other"] = QueueSpec("other", "all")
    desk.enter(*[call()] * 3, queue="one")
    desk.enter(*[call()] * 3, queue="other")
    assert [len(desk.take(pool=1)), len(desk.take(pool=2))] == [1, 0]
    desk.now_us = SECOND_US
    assert [len(desk.take(pool=2)), len(desk.take(pool=1))] == [1, 0]


def test_a_restart_and_a_clock_set_back_make_nobody_faster_and_nobody_wait_longer(desk: Desk) -> None:
    _rated(desk, "60/m")
    desk.enter(*[call()] * 3, queue="api")
    desk.now_us = 3600 * SECOND_US
    assert len(desk.take()) == 1
    again = Desk(desk.tables)
    again.queues["api"] = desk.queues["api"]
    again.now_us = desk.now_us + SECOND_US - 1
    assert not again.take()
    again.now_us += 1
    assert len(again.take()) == 1
    again.now_us = 10 * SECOND_US
    bound = again.book.rates.latest(again.book.pools[1], again.now_us)
    assert bound is not None
    assert bound.next_us == 11 * SECOND_US


def test_a_transaction_that_fails_takes_nothing_from_the_rate(desk: Desk) -> None:
    _rated(desk, "60/m")
    desk.enter(call(), queue="api")
    taken = 0
    with desk.tables.writing() as connection:
        taken = len(desk.book.take(connection, desk.book.pools[1], 1, 1, 5, 0))
        connection.rollback()
    assert taken == 1
    with desk.tables.writing() as connection:
        desk.book.reload(connection)
    assert len(desk.take()) == 1


def test_another_rate_holds_at_once(desk: Desk) -> None:
    _rated(desk, "1/d")
    desk.enter(*[call()] * 3, queue="api")
    desk.now_us = SECOND_US
    assert [len(desk.take()), len(desk.take())] == [1, 0]
    assert desk.book.rates.next_us == 2 * SECOND_US, "it is looked again soon"
    desk.now_us += SECOND_US
    _rated(desk, "1/s")
    assert len(desk.take()) == 1
    desk.queues["api"] = read_queue({"name": "api", "call_rate": "none"})
    assert len(desk.take()) == 1


def test_no_more_workers_than_the_rate_keeps_at_work(desk: Desk) -> None:
    _rated(desk, "30/m")
    desk.enter(*[call()] * 1000, queue="api")
    pool = desk.book.pools[1]
    rates = desk.book.rates
    assert pool.more(0) == 2
    assert pool.more(0, rates.fed(pool, 0)) == 1
    pool.mean_us = 20 * SECOND_US
    assert rates.fed(pool, 0) == 10
    assert rates.fed(Pool(9, "{}"), 0) == 256


def test_no_worker_for_a_call_that_goes_much_later(desk: Desk) -> None:
    _rated(desk, "1/h")
    desk.enter(*[call()] * 2, queue="api")
    assert len(desk.take()) == 1
    pool = desk.book.pools[1]
    assert desk.book.rates.far(pool, 0) == 3600 * SECOND_US - SOON_US
    assert desk.book.rates.far(pool, 3595 * SECOND_US) is None


def test_a_rate_is_told_as_it_is_read() -> None:
    for text in ("1/s", "60/m", "1000/h", "1000000/d"):
        assert rate_text(read_queue({"name": "q", "call_rate": text}).call_rate) == text
    assert rate_text(()) == ""
