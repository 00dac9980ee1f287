"""A book of calls on a database file of a test's own, worked by hand."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from clearway.calls import read, schema
from clearway.calls.book import Book
from clearway.calls.ends import Ends
from clearway.calls.tables import prepare
from clearway.calls.wire import CallSpec, Done, Enter, Problem, Recipe
from clearway.calls.words import plain_words, read_rules

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.calls.tables import Tables
    from clearway.calls.wire import Given, Spec
    from clearway.calls.words import Rules
    from clearway.model.fleet import QueueSpec

OWN = {"user": "ann", "workdir": "/"}


class Desk:
    """Enters, hands over and takes back in one transaction each."""

    def __init__(self, tables: Tables, most: int = 1_000_000) -> None:
        self.tables = tables
        prepare(self.tables)
        self.queues: dict[str, QueueSpec] = {}
        self.judge: Callable[[Rules], None] = lambda _: None
        self.book = Book(lambda recipe: read_rules(plain_words(recipe.words), OWN), self._judge, self.queues.get, most)
        self.now_us = 0
        self._keys = 0
        with self.tables.writing() as connection:
            self.book.reload(connection)

    def _judge(self, rules: Rules) -> None:
        self.judge(rules)

    def enter(self, *roots: Spec, key: str = "", functions: int = 1, **words: object) -> int:
        self._keys += 1
        recipes = [Recipe(f"f{n}", f"f{n}", words=json.dumps(words)) for n in range(functions)]
        said = Enter(key or f"k{self._keys}", recipes, list(roots), {f"f{n}": b"code" for n in range(functions)})
        return self.put(said)

    def put(self, said: Enter) -> int:
        with self.tables.writing() as connection:
            self.book.check(connection, said)
            return self.book.enter(connection, said, self.now_us)

    def take(self, most: int = 100, job: int = 1, attempt: int = 1, pool: int = 1) -> list[Given]:
        with self.tables.writing() as connection:
            return self.book.take(connection, self.book.pools[pool], job, attempt, most, self.now_us)

    def done(self, *given: Given, job: int = 1, attempt: int = 1, problem: Problem | None = None) -> int:
        ended = [Done(one.call, one.attempt, b"r%d" % one.call, problem) for one in given]
        with self.tables.writing() as connection:
            return len(self.book.done(connection, job, attempt, ended, self.now_us))

    def lost(self, job: int = 1, upto: int = 1) -> list[int]:
        with self.tables.writing() as connection:
            return self.book.lost(connection, job, upto)

    def cancel(self, root: int) -> None:
        with self.tables.writing() as connection:
            Ends(self.book, connection, self.now_us).cancel(root)

    def wake(self) -> None:
        with self.tables.writing() as connection:
            self.book.wake(connection, self.now_us)

    def state(self, node: int) -> str:
        with self.tables.reading() as connection:
            return read.row_of(connection, node).state

    def members(self, node: int) -> list[tuple[str, bytes]]:
        with self.tables.reading() as connection:
            found = read.members_of(connection, node, 0, 1000)
            rows = [found.single] if found.single is not None else [m.over for m in found.members]
            return [(row.state, row.value) for row in rows]

    def counts(self) -> list[tuple[int, int, int]]:
        """What is known in memory of each pool: pending calls, items left, held calls."""
        return [(pool.pending, pool.left, pool.held) for pool in self.book.pools.values()]

    def check(self) -> None:
        """What is in memory is what the tables say."""
        known, maps = self.counts(), [list(pool.maps) for pool in self.book.pools.values()]
        with self.tables.writing() as connection:
            self.book.reload(connection)
        assert self.counts() == known
        assert [sorted(pool.maps) for pool in self.book.pools.values()] == [sorted(m) for m in maps]

    def rows(self) -> list[Any]:
        with self.tables.reading() as connection:
            return list(connection.execute(schema.call.select()))


def call(value: bytes = b"v", recipe: int = 0) -> CallSpec:
    """One call of the first function."""
    return CallSpec(recipe, value)


BAD = Problem(["ValueError", "Exception", "BaseException"], "bad")
