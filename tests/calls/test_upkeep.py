"""What is dropped, and what is not: numbers are never given twice, and nothing that is in use goes."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event, func, select, text

from clearway.api.call_files import FOLDER, sweep_values
from clearway.calls import parts, read, recipes, schema
from clearway.calls.tables import prepare
from clearway.calls.tidy import KEPT_US, MOST_ROWS
from clearway.calls.upkeep import SWEEP_US, Upkeep
from clearway.calls.wire import ChainSpec, Enter, MapSpec, Part, Recipe
from clearway.model.errors import InputError
from clearway.store.beside import SqliteBeside
from tests.calls.books import BAD, Desk, call

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def tables(tmp_path: Path) -> Iterator[SqliteBeside]:
    found = SqliteBeside(tmp_path / "calls.db")
    yield found
    found.close()


@pytest.fixture
def desk(tables: SqliteBeside) -> Desk:
    return Desk(tables)


def _tidy(desk: Desk, before_us: int = 1) -> tuple[list[str], bool]:
    with desk.tables.writing() as connection:
        return desk.book.tidy(connection, before_us)


def _drop(desk: Desk) -> None:
    with desk.tables.writing() as connection:
        desk.book.drop(connection, desk.now_us)


def _count(desk: Desk, table: Any) -> int:
    with desk.tables.reading() as connection:
        return connection.scalar(select(func.count()).select_from(table)) or 0


def test_a_number_is_never_given_again(desk: Desk) -> None:
    first = desk.enter(call(), call())
    desk.done(*desk.take())
    assert _tidy(desk) == ([], False)
    again = Desk(desk.tables)
    assert again.rows() == []
    assert again.enter(call(), key="another") == first + 2


def test_a_large_whole_goes_at_once_and_its_parts_a_piece_at_a_time(desk: Desk) -> None:
    root = desk.enter(MapSpec(0, [b"f" + b"%032d" % n for n in range(MOST_ROWS + 10)]))
    while given := desk.take(most=500):
        desk.done(*given)
    names, more = _tidy(desk)
    assert more
    assert root not in {row.id for row in desk.rows()}
    assert len(desk.rows()) == 10
    rest, more = _tidy(desk)
    assert not more
    assert (sorted(names + rest), desk.rows()) == ([f"{n:032d}" for n in range(MOST_ROWS + 10)], [])
    assert _count(desk, schema.gone) == 0


def test_functions_and_pools_go_with_the_last_calls_of_theirs(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipes, "SPAN", 1)
    desk.enter(call(), cpus=1)
    later = desk.enter(call(recipe=1), functions=2, cpus=2)
    desk.done(*desk.take())
    desk.now_us = 10
    _tidy(desk)
    _drop(desk)
    assert [_count(desk, table) for table in (schema.recipe, schema.function, schema.pool)] == [2, 2, 1]
    desk.done(*desk.take(pool=2))
    _tidy(desk, before_us=11)
    _drop(desk)
    assert [_count(desk, table) for table in (schema.recipe, schema.function, schema.pool)] == [0, 0, 0]
    with pytest.raises(InputError, match="was sent"):
        desk.put(Enter("without", [Recipe("f1", "f1")], [call()]))
    again = Desk(desk.tables)
    assert again.enter(call(), key="again") == later + 1
    ((number, pool),) = again.book.recipes.pool_of.items()
    assert (number, pool) == (4, 3)
    assert [given.recipe for given in again.take(pool=3)] == [4]


def test_an_actor_that_is_over_is_not_made_anew(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipes, "SPAN", 1)
    said = Enter("k", [Recipe("f", "f", "method", actor="key")], [call()], {"f": b"code"})
    desk.put(said)
    desk.done(*desk.take())
    desk.book.pools[1].over = True
    _tidy(desk)
    _drop(desk)
    assert _count(desk, schema.recipe) == 0
    assert desk.book.actor("key") is not None
    desk.now_us = 31 * 24 * 3600 * 1_000_000
    _drop(desk)
    assert desk.book.actor("key") is None


def test_files_that_belong_to_no_call_go_once_they_are_older_than_all_calls(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir()
    for name, age_s in (("old", 200_000), ("used", 200_000), ("fresh", 1000)):
        (folder / name).write_bytes(b"x")
        os.utime(folder / name, (time.time() - age_s,) * 2)
    sweep_values(tmp_path, 100_000 * 1_000_000, {"used"})
    assert sorted(path.name for path in folder.iterdir()) == ["fresh", "used"]
    sweep_values(tmp_path / "nowhere", 1, set())


def test_files_are_kept_as_long_as_calls_of_their_time(desk: Desk) -> None:
    told: list[tuple[int, set[str]]] = []
    upkeep = Upkeep(desk.book, desk.tables, lambda _: None, lambda age_us, keep: told.append((age_us, keep)))
    desk.now_us = 1_000
    desk.enter(call(b"f" + b"a" * 32))
    for now_us in (5_000, 10_000, SWEEP_US + 5_000):
        upkeep.look(now_us)
    end = time.monotonic() + 30
    while len(told) < 2 and time.monotonic() < end:
        time.sleep(0.01)
    assert told == [(KEPT_US + 4_000, {"a" * 32}), (KEPT_US + SWEEP_US + 4_000, {"a" * 32})]


# --- values in parts -----------------------------------------------------------------------------


def _part(desk: Desk, said: Part) -> None:
    with desk.tables.writing() as connection:
        parts.check_part(connection, said, desk.book.most)
        parts.keep(connection, said, desk.now_us)


def _send(desk: Desk, key: str, count: int, size: int = 300) -> None:
    values = [b"%d" % n for n in range(count)]
    for number, first in enumerate(range(0, count, size)):
        _part(desk, Part(key, number, values[first : first + size]))


def test_a_map_whose_values_were_sent_in_parts_is_as_any(desk: Desk) -> None:
    _send(desk, "key", 2700)
    _send(desk, "key", 2700)
    root = desk.enter(MapSpec(0, [], "key", 2700))
    assert _count(desk, schema.part) == 0
    values = []
    while given := desk.take(most=400):
        values += [int(one.value) for one in given]
        desk.done(*given)
    assert values == list(range(2700))
    assert desk.state(root) == "succeeded"


def test_a_later_step_of_a_chain_keeps_its_values(desk: Desk) -> None:
    _send(desk, "key", 700)
    root = desk.enter(ChainSpec([call(), ChainSpec([MapSpec(0, [], "key", 700), call()])]))
    assert _count(desk, schema.part) == 0
    while given := desk.take(most=400):
        desk.done(*given)
    assert desk.state(root) == "succeeded"
    assert len(desk.rows()) == 705


@pytest.mark.parametrize(
    "spec",
    [
        MapSpec(0, [], "key", 1999),
        MapSpec(0, [b"x"], "key", 2000),
        MapSpec(0, [], "another", 5),
        ChainSpec([MapSpec(0, [], "key", 2000), MapSpec(0, [], "key", 2000)]),
    ],
)
def test_a_map_that_is_not_what_was_sent_is_refused(desk: Desk, spec: MapSpec | ChainSpec) -> None:
    _send(desk, "key", 2000)
    with pytest.raises(InputError, match="sent"):
        desk.enter(spec)
    assert desk.enter(MapSpec(0, [], "key", 2000))


@pytest.mark.parametrize(
    "said",
    [Part("", 0, [b"x"]), Part("k", 0, []), Part("k", 0, [b"x"] * 501), Part("k", 2, [b"x"]), Part("k", 1, [b"x"] * 2)],
)
def test_a_part_that_cannot_be_of_a_map_is_refused(tables: SqliteBeside, said: Part) -> None:
    desk = Desk(tables, most=2)
    _part(desk, Part("k", 0, [b"x"]))
    with pytest.raises(InputError):
        _part(desk, said)


def test_parts_that_no_map_took_go(desk: Desk) -> None:
    _send(desk, "key", 10)
    Upkeep(desk.book, desk.tables, lambda _: None, lambda *_: None).look(KEPT_US + 1)
    assert _count(desk, schema.part) == 0


# --- tables --------------------------------------------------------------------------------------


def test_no_question_reads_all_calls(desk: Desk) -> None:
    desk.enter(*[call()] * 3, MapSpec(0, [b"x"] * 600))
    desk.take(most=2)
    asked: list[tuple[str, Any]] = []

    def note(_conn: Any, _cursor: Any, statement: str, given: Any, _context: Any, _many: bool) -> None:  # noqa: FBT001
        asked.append((statement, given))

    with desk.tables.writing() as connection:
        event.listen(connection, "before_cursor_execute", note)
        desk.book.reload(connection)
        read.rows(connection, 10, everything=False)
        read.rows(connection, 10, everything=True)
        read.later(connection)
        desk.book.keep_only(connection, 1, 1, [])
        desk.book.lost(connection, 1, 1)
        desk.book.fail_pool(connection, desk.book.pools[1], BAD, 5, held=True)
        desk.book.tidy(connection, 100)
        desk.book.drop(connection, 0)
    plans = []
    with desk.tables.reading() as connection:
        for statement, given in asked:
            if "calls_call" in statement and not statement.startswith("INSERT"):
                found = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", given).all()
                plans += [(statement, row[3]) for row in found]
    scans = [(said, plan) for said, plan in plans if plan.startswith("SCAN calls_call") and "INDEX" not in plan]
    assert plans
    assert not [one for one in scans if "LIMIT" not in one[0]], scans


def test_tables_of_the_version_before_are_brought_up(tables: SqliteBeside) -> None:
    prepare(tables)
    added = {"calls_roots", "calls_ended", "calls_large", "calls_entry_at"}
    with tables.writing() as connection:
        for index in sorted(added):
            connection.execute(text(f"DROP INDEX {index}"))
        connection.execute(text("DROP TABLE calls_part"))
        connection.execute(text("DROP TABLE calls_gone"))
        connection.execute(text("ALTER TABLE calls_pool DROP COLUMN over_us"))
        connection.execute(text("ALTER TABLE calls_recipe DROP COLUMN last"))
        connection.execute(text('INSERT INTO calls_recipe VALUES (1, \'{"function":"f","name":"f"}\', 1)'))
        connection.execute(text("INSERT INTO calls_pool VALUES (1, '{}', NULL, 0)"))
        connection.execute(text("UPDATE calls_meta SET value = '1' WHERE key = 'version'"))
    desk = Desk(tables)
    assert desk.book.recipes.pool_of == {1: 1}
    desk.enter(call())
    with tables.reading() as connection:
        there = set(connection.scalars(text("SELECT name FROM sqlite_master WHERE type = 'index'")))
        assert connection.scalar(select(schema.meta.c.value).where(schema.meta.c.key == "version")) == str(
            schema.VERSION
        )
    assert added <= there
