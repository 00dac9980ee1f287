"""Functions, and what calls of one function with the same options share: known in memory, and in the tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import delete, func, insert, select, update

from clearway.calls import marks, schema
from clearway.calls.wire import Recipe, Told
from clearway.calls.words import Rules, plain_words, read_rules
from clearway.model.errors import ClearwayError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from clearway.calls.pools import Job
    from clearway.calls.wire import Enter

_RECIPE, _FUNCTION = schema.recipe, schema.function
AT_ONCE = 500
SPAN = 10_000
"""Which root uses a recipe last is written down so roughly: not with each call."""


class Recipes:
    """All recipes. `read` reads the options of one as they are meant here and now."""

    def __init__(self, read: Callable[[Recipe], Rules]) -> None:
        self.read = read
        self._recipes: dict[int, Recipe] = {}
        self._rules: dict[int, Rules] = {}
        self._numbers: dict[str, int] = {}
        self._last: dict[int, int] = {}
        self.pool_of: dict[int, int] = {}
        self._next = 1

    def reload(self, connection: Connection) -> None:
        """Read anew what is kept in memory."""
        self._recipes, self._rules, self._numbers, self._last, self.pool_of = {}, {}, {}, {}, {}
        for row in connection.execute(select(_RECIPE)):
            self._put(row.id, row.said, msgspec.json.decode(row.said, type=Recipe), row.pool, row.last)
        self._next = marks.next_of(connection, marks.RECIPES, max(self._recipes, default=0))

    def _put(self, number: int, said: str, recipe: Recipe, pool: int, last: int) -> None:
        self._recipes[number], self._numbers[said] = recipe, number
        self.pool_of[number], self._last[number] = pool, last

    def check(self, connection: Connection, said: Enter) -> None:
        """Raise InputError where a function of a message is neither there nor in it."""
        wanted = {recipe.function for recipe in said.recipes} - set(said.functions)
        if not wanted:
            return
        there = set(connection.scalars(select(_FUNCTION.c.digest).where(_FUNCTION.c.digest.in_(wanted))))
        for digest in sorted(wanted - there):
            raise InputError("function", digest, "a function that was sent to this controller before")

    def keep_functions(self, connection: Connection, said: Enter) -> None:
        """Write down functions that are new."""
        wanted = {recipe.function for recipe in said.recipes} & set(said.functions)
        if not wanted:
            return
        there = set(connection.scalars(select(_FUNCTION.c.digest).where(_FUNCTION.c.digest.in_(wanted))))
        for digest in sorted(wanted - there):
            connection.execute(insert(_FUNCTION).values(digest=digest, body=said.functions[digest]))

    def number(self, connection: Connection, recipe: Recipe, root: int, pool: Callable[[Rules], int]) -> int:
        """Return the number of a recipe that is used by roots up to `root`; `pool` finds the pool of a new one."""
        said = msgspec.json.encode(recipe).decode()
        number = self._numbers.get(said)
        last = (root // SPAN + 1) * SPAN - 1
        if number is None:
            number, self._next = self._next, self._next + 1
            rules = self.read(recipe)
            self._put(number, said, recipe, pool(rules), last)
            values = {"id": number, "said": said, "pool": self.pool_of[number], "last": last}
            connection.execute(insert(_RECIPE).values(**values))
        elif self._last[number] < root:
            self._last[number] = last
            connection.execute(update(_RECIPE).where(_RECIPE.c.id == number).values(last=last))
        return number

    def rules(self, number: int) -> Rules:
        """Return what holds for calls of a recipe. Its words were taken once, and are not refused any more."""
        rules = self._rules.get(number)
        if rules is None:
            rules = self._rules[number] = self._kept_rules(self._recipes[number])
        return rules

    def _kept_rules(self, recipe: Recipe) -> Rules:
        try:
            return self.read(recipe)
        except ClearwayError:  # the defaults of its queue, or who may do what, are others since
            pass
        try:
            return read_rules(plain_words(recipe.words), {}, actor=bool(recipe.actor))
        except ClearwayError:  # words that this version does not know any more
            return Rules(pool="{}")

    def name_of(self, number: int) -> str | None:
        """Return the name of a recipe's function; None where the recipe is dropped."""
        recipe = self._recipes.get(number)
        return None if recipe is None else recipe.name

    def tell(self, connection: Connection, recipes: set[int], job: Job) -> tuple[dict[int, Told], dict[str, bytes]]:
        """Return recipes and functions that a worker has not seen yet."""
        fresh = {number: self._recipes[number] for number in sorted(recipes - job.told)}
        if not fresh:
            return {}, {}
        job.told |= set(fresh)
        wanted = {recipe.function for recipe in fresh.values()}
        rows = connection.execute(select(_FUNCTION).where(_FUNCTION.c.digest.in_(wanted)))
        told = {n: Told(r.function, r.name, r.how, self.rules(n).limit_us) for n, r in fresh.items()}
        return told, {row.digest: row.body for row in rows}

    def drop(self, connection: Connection, following: int) -> None:
        """Drop recipes, and their functions, that no node uses: all that are there, or come, are of later roots."""
        oldest = connection.scalar(select(func.min(schema.call.c.id))) or following
        unused = [number for number, last in self._last.items() if last < oldest][:AT_ONCE]
        if not unused:
            return
        marks.keep(connection, marks.RECIPES, self._next)
        functions = {self._recipes[number].function for number in unused}
        connection.execute(delete(_RECIPE).where(_RECIPE.c.id.in_(unused)))
        self.reload(connection)
        functions -= {recipe.function for recipe in self._recipes.values()}
        connection.execute(delete(_FUNCTION).where(_FUNCTION.c.digest.in_(functions)))
