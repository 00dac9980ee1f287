"""The tables of calls, changed. One thread writes; each change happens inside the transaction that it is given."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import bindparam, delete, func, insert, select, update

from clearway.calls import marks, parts, schema
from clearway.calls.draft import Draft, values_of
from clearway.calls.ends import Ends
from clearway.calls.pools import Pool, Standing, smoothed
from clearway.calls.rates import Rates
from clearway.calls.recipes import Recipes
from clearway.calls.states import Kind, State
from clearway.calls.tidy import tidy
from clearway.calls.wire import Enter, Given, Problem, calls_of, check, file_of, numbered, yielded_of
from clearway.model.errors import FullError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from sqlalchemy import Connection, Row

    from clearway.calls.ends import Ended
    from clearway.calls.wire import Done, Recipe
    from clearway.calls.words import Rules
    from clearway.model.fleet import QueueSpec

_CALL = schema.call
_C = schema.call.c
_DONE = (
    update(_CALL)
    .where(_C.id == bindparam("b_id"))
    .values(
        state=bindparam("b_state"), ended_us=bindparam("b_ended"), took_us=bindparam("b_took"),
        result=bindparam("b_result"), problem=bindparam("b_problem"),
        log=bindparam("b_log"), worker=bindparam("b_worker"), value=bindparam("b_value"),
    )
)  # fmt: skip
_LATER = (
    update(_CALL)
    .where(_C.id == bindparam("b_id"))
    .values(
        state=int(State.LATER), due_us=bindparam("b_due"), failures=bindparam("b_failures"),
        problem=bindparam("b_problem"), log=bindparam("b_log"), worker=None,
    )
)  # fmt: skip
OVER_KEPT_US = 30 * 24 * 3600 * 1_000_000
"""So long it is known of an actor that it is over."""


class Book:
    """Nodes, recipes and pools. What it keeps in memory follows from the tables: `reload` reads it anew."""

    def __init__(
        self,
        read_rules: Callable[[Recipe], Rules],
        judge: Callable[[Rules], None],
        queue_of: Callable[[str], QueueSpec | None],
        most: int,
    ) -> None:
        """Use `read_rules` to read the options of a task; `queue_of` tells the words of a queue as they are now.

        `judge` raises InputError for what may not come in now. What is in is not judged again: the place may have
        other rules since. `most` calls may wait and run.
        """
        self.recipes, self.rates = Recipes(read_rules), Rates(queue_of)
        self._judge, self.most = judge, most
        self.pools: dict[int, Pool] = {}
        self._by_words: dict[tuple[str, str | None], int] = {}
        self.took: dict[int, int] = {}
        """How long calls of each recipe take, of those of which one has ended."""
        self._next = self._next_pool = 1
        self.next_due_us: int | None = None
        self.ended: list[int] = []
        """Nodes that ended in this transaction."""

    def reload(self, connection: Connection) -> None:
        """Read anew what is kept in memory; workers that are known, or asked for, stay. What they know is forgotten."""
        before = self.pools
        self.pools, self._by_words = {}, {}
        for row in connection.execute(select(schema.pool)):
            pool = before.get(row.id, Pool(row.id, row.words, row.actor))
            pool = replace(pool, over=bool(row.over), over_us=row.over_us)
            self.pools[row.id] = replace(pool, pending=0, held=0, left=0, maps=deque())
            self._by_words[row.words, row.actor] = row.id
            for job in pool.jobs.values():
                job.told = set()
        self.recipes.reload(connection)
        self._next = marks.next_of(connection, marks.NODES, connection.scalar(select(func.max(_C.id))))
        self._next_pool = marks.next_of(connection, marks.POOLS, max(self.pools, default=0))
        self._count(connection)
        self.rates.reload(connection)
        self.next_due_us = connection.scalar(select(func.min(_C.due_us)).where(schema.is_later))
        self.ended = []

    def _count(self, connection: Connection) -> None:
        for number, count in connection.execute(_per_pool(schema.is_pending)):
            self.pools[number].pending = count
        for number, count in connection.execute(_per_pool(schema.is_held)):
            self.pools[number].held = count
        open_maps = select(_C.id, _C.pool, _C.total, _C.given).where(
            _C.state == schema.HELD, _C.worker.is_(None), _C.kind == int(Kind.MAP), _C.given < _C.total
        )
        for row in connection.execute(open_maps.order_by(_C.id)):
            self.pools[row.pool].maps.append(row.id)
            self.pools[row.pool].left += row.total - row.given

    # --- entering ------------------------------------------------------------------------------

    def check(self, connection: Connection, said: Enter) -> None:
        """Raise InputError or FullError for what may not be entered; nothing is changed."""
        if _entered(connection, said.key) is not None:
            return
        self.recipes.check(connection, said)
        for recipe in said.recipes:
            self._judge(self.recipes.read(recipe))
        for spec in said.roots:
            check(spec, len(said.recipes))
        parts.check(connection, said.roots)
        self._check_room(sum(map(calls_of, said.roots)))

    def enter(self, connection: Connection, said: Enter, now_us: int) -> int:
        """Enter calls that were checked; return the number of the first root."""
        first = _entered(connection, said.key)
        if first is not None:
            return first
        self.recipes.keep_functions(connection, said)
        first, self._next = self._next, self._next + len(said.roots)
        numbers = [
            self.recipes.number(connection, recipe, self._next - 1, partial(self._pool, connection, recipe.actor))
            for recipe in said.recipes
        ]
        draft = self.draft(now_us)
        for at, spec in enumerate(said.roots):
            draft.root(numbered(parts.inlined(connection, spec), numbers), first + at)
        self.settle(connection, draft)
        connection.execute(insert(schema.entry).values(key=said.key, first=first, at_us=now_us))
        return first

    def _check_room(self, more: int) -> None:
        if more > self.most:
            raise InputError("calls", more, f"at most {self.most} at once: as many as may wait here (most_calls)")
        there = sum(pool.backlog + pool.held for pool in self.pools.values())
        if there + more > self.most:
            raise FullError(f"{there} calls wait and run, and {more} more are too many: most_calls is {self.most}")

    def draft(self, now_us: int) -> Draft:
        """Return an empty draft of new nodes."""
        return Draft(self._number_node, self.recipes.pool_of.__getitem__, now_us)

    def settle(self, connection: Connection, draft: Draft) -> None:
        """Write a draft, and what follows from nodes of it that are over at once."""
        draft.write(connection)
        for key, node in draft.sent:
            parts.move(connection, key, node)
        for pool, count in draft.pending.items():
            self.pools[pool].pending += count
        for pool, node, total in draft.maps:
            self.pools[pool].maps.append(node)
            self.pools[pool].left += total
        if over := draft.take_over():
            Ends(self, connection, draft.now_us).take(over)

    def _number_node(self) -> int:
        self._next += 1
        return self._next - 1

    def _pool(self, connection: Connection, actor: str, rules: Rules) -> int:
        known = rules.pool, actor or None
        number = self._by_words.get(known)
        if number is None:
            number, self._next_pool = self._next_pool, self._next_pool + 1
            connection.execute(insert(schema.pool).values(id=number, words=rules.pool, actor=known[1]))
            self.pools[number] = Pool(number, *known)
            self._by_words[known] = number
        return number

    # --- handing over --------------------------------------------------------------------------

    def take(self, connection: Connection, pool: Pool, job: int, attempt: int, most: int, now_us: int) -> list[Given]:
        """Hand up to `most` calls of a pool to a worker, the oldest first, and as its rate allows."""
        bounds = self.rates.bounds(pool, now_us)
        most = self.rates.allowed(bounds, most, now_us)
        if not most:
            return []
        if pool.pending < most and pool.left:
            self._unfold(connection, pool, now_us)
        if not pool.pending:
            return []
        rows = self._suspects_alone(connection.execute(_next_calls(pool.id, most)).all())
        ids = [row.id for row in rows]
        connection.execute(
            update(_CALL)
            .where(_C.id.in_(ids))
            .values(
                state=int(State.HELD), attempt=_C.attempt + 1, worker=job, worker_attempt=attempt, started_us=now_us
            )
        )
        pool.pending -= len(rows)
        pool.held += len(rows)
        self.rates.took(connection, bounds, len(rows), now_us)
        inputs = self._inputs(connection, rows)
        return [Given(r.id, r.attempt + 1, r.recipe, r.value, *inputs.get(r.input, (None, 0))) for r in rows]

    @staticmethod
    def _suspects_alone(rows: Sequence[Row[Any]]) -> Sequence[Row[Any]]:
        """Of calls whose worker was lost each is handed over alone: one that ends its worker takes no other with it."""
        for at, row in enumerate(rows):
            if row.losses:
                return rows[: max(at, 1)]
        return rows

    def _inputs(self, connection: Connection, rows: Sequence[Row[Any]]) -> dict[int | None, tuple[Any, int]]:
        wanted = {row.input for row in rows if row.input is not None}
        if not wanted:
            return {}
        found: dict[int | None, tuple[Any, int]] = {}
        query = select(_C.id, _C.kind, _C.result).where(_C.id.in_(wanted))
        for row in connection.execute(query):
            alone = row.kind == Kind.CALL and yielded_of(row.result) is None
            found[row.id] = (row.result if alone else None, row.id)
        return found

    def _unfold(self, connection: Connection, pool: Pool, now_us: int) -> None:
        """Make calls of the next items of the map whose turn it is."""
        node = connection.execute(select(_CALL).where(_C.id == pool.maps[0])).one()._mapping  # noqa: SLF001
        mine = schema.page.c.node == node["id"]
        page = connection.execute(select(schema.page).where(mine).order_by(schema.page.c.number).limit(1)).one()
        values = values_of(page.body)
        draft = self.draft(now_us)
        draft.items(node, node["given"], values)
        given = node["given"] + len(values)
        connection.execute(update(_CALL).where(_C.id == node["id"]).values(given=given))
        connection.execute(delete(schema.page).where(mine, schema.page.c.number == page.number))
        pool.left -= len(values)
        pool.maps.rotate(-1)  # maps take turns
        if given >= node["total"]:
            pool.maps.remove(node["id"])
        self.settle(connection, draft)

    def wake(self, connection: Connection, now_us: int) -> None:
        """Let calls go on whose delay is over."""
        if self.next_due_us is None or now_us < self.next_due_us:
            return
        due = schema.is_later & (_C.due_us <= now_us)
        for number, count in connection.execute(_per_pool(due)):
            self.pools[number].pending += count
        connection.execute(update(_CALL).where(due).values(state=int(State.PENDING), due_us=None))
        self.next_due_us = connection.scalar(select(func.min(_C.due_us)).where(schema.is_later))

    # --- taking back ---------------------------------------------------------------------------

    def done(self, connection: Connection, job: int, attempt: int, done: Iterable[Done], now_us: int) -> list[Done]:
        """Accept how calls ended, each once and of its newest attempt; return those accepted whose call is over."""
        told = {one.call: one for one in done}
        rows = connection.execute(select(_CALL).where(_C.id.in_(list(told)), *_held_by(job, attempt))).all()
        ends, later, over = [], [], []
        for row in rows:
            one = told[row.id]
            if row.attempt != one.attempt:
                continue
            count = yielded_of(one.value)
            if count is not None and count != row.given:
                one = told[row.id] = _too_few(one, row.given, count)
            pool = self.pools[row.pool]
            pool.held -= 1
            pool.took(one.took_us)
            self.took[row.recipe] = smoothed(self.took.get(row.recipe, one.took_us), one.took_us)
            rules = self.recipes.rules(row.recipe)
            if one.problem is not None and rules.retries(one.problem.types, row.failures + 1):
                later.append(self._later(row, one, rules, now_us))
            else:
                ends.append(_end(row, one, now_us))
                over.append((row.id, row.parent, row.position, State.FAILED if one.problem else State.SUCCEEDED))
        if later:
            connection.execute(_LATER, later)
        if ends:
            connection.execute(_DONE, ends)
            Ends(self, connection, now_us).take(over)
        return [told[number] for number, *_ in over]

    def _later(self, row: Row[Any], one: Done, rules: Rules, now_us: int) -> dict[str, Any]:
        due_us = now_us + rules.delay_us(row.failures + 1)
        self.next_due_us = due_us if self.next_due_us is None else min(due_us, self.next_due_us)
        return {
            "b_id": row.id, "b_due": due_us, "b_failures": row.failures + 1,
            "b_problem": msgspec.msgpack.encode(one.problem), "b_log": _log(row, one),
        }  # fmt: skip

    def back(self, connection: Connection, job: int, attempt: int, which: Iterable[tuple[int, int]]) -> None:
        """Take back calls that a worker has not begun."""
        mine = [row.id for row in self._theirs(connection, job, attempt, which)]
        self._return(connection, _C.id.in_(mine), job, attempt, lost=False)

    def lost_some(self, connection: Connection, job: int, attempt: int, which: Iterable[tuple[int, int]]) -> list[int]:
        """Take back some calls of a worker that were lost; return those that were once too often."""
        gone = self._theirs(connection, job, attempt, which)
        spent = [row.id for row in gone if row.losses >= self.recipes.rules(row.recipe).max_losses]
        rest = [row.id for row in gone if row.id not in spent]
        self._return(connection, _C.id.in_(rest), job, attempt, lost=True)
        return spent

    @staticmethod
    def _theirs(connection: Connection, job: int, attempt: int, which: Iterable[tuple[int, int]]) -> list[Any]:
        """Return those of some calls that a worker has, and that were not handed over anew since."""
        told = dict(which)
        query = select(_C.id, _C.attempt, _C.recipe, _C.losses).where(_C.id.in_(list(told)), *_held_by(job, attempt))
        return [row for row in connection.execute(query) if row.attempt == told[row.id]]

    @staticmethod
    def not_theirs(connection: Connection, job: int, attempt: int, holds: Iterable[tuple[int, int]]) -> list[int]:
        """Return what a worker holds and should not: it was cancelled, or is over, or was handed over anew since."""
        return sorted(number for number, _ in set(holds) - _hands(connection, job, attempt))

    def keep_only(self, connection: Connection, job: int, attempt: int, holds: Iterable[tuple[int, int]]) -> None:
        """Take back what a worker was handed and never got."""
        missing = [number for number, _ in _hands(connection, job, attempt) - set(holds)]
        self._return(connection, _C.id.in_(missing), job, attempt, lost=False)

    def lost(self, connection: Connection, job: int, upto: int) -> list[int]:
        """Take back all that attempts of a worker up to `upto` had; return the calls that were lost once too often."""
        gone = connection.execute(
            select(_C.id, _C.recipe, _C.losses).where(
                _C.worker == job, _C.worker_attempt <= upto, _C.state == schema.HELD
            )
        ).all()
        spent = [row.id for row in gone if row.losses >= self.recipes.rules(row.recipe).max_losses]
        where = (_C.worker == job) & (_C.worker_attempt <= upto)
        self._return(connection, where & _C.id.not_in(spent), job, None, lost=True)
        return spent

    def _return(self, connection: Connection, where: Any, job: int, attempt: int | None, *, lost: bool) -> None:  # noqa: ANN401
        held = (_C.state == schema.HELD) & (_C.worker == job) & where
        if attempt is not None:
            held &= _C.worker_attempt == attempt
        for number, count in connection.execute(select(_C.pool, func.count()).where(held).group_by(_C.pool)).all():
            self.pools[number].held -= count
            self.pools[number].pending += count
        values = {"state": int(State.PENDING), "worker": None, **({"losses": _C.losses + 1} if lost else {})}
        connection.execute(update(_CALL).where(held).values(**values))

    def fail(self, connection: Connection, where: Any, problem: Problem, now_us: int) -> None:  # noqa: ANN401
        """End calls as failed, for a reason of ours. `where` says which: of one state, that an index knows."""
        rows = connection.execute(select(_C.id, _C.parent, _C.position, _C.pool, _C.state).where(where)).all()
        for row in rows:
            self.pools[row.pool].pending -= row.state == State.PENDING
            self.pools[row.pool].held -= row.state == State.HELD
        told = msgspec.msgpack.encode(problem)
        values = {"state": int(State.FAILED), "ended_us": now_us, "problem": told}
        connection.execute(update(_CALL).where(where).values(**values))
        Ends(self, connection, now_us).take([(r.id, r.parent, r.position, State.FAILED) for r in rows])

    def fail_pool(self, connection: Connection, pool: Pool, problem: Problem, now_us: int, *, held: bool) -> None:
        """End all calls of a pool as failed, and its maps of which calls are still to be made.

        `held`: also those that workers have in hand.
        """
        self._fail_maps(connection, pool, msgspec.msgpack.encode(problem), now_us)
        for state in (schema.is_pending, schema.is_later, *([schema.is_held] if held else ())):
            self.fail(connection, state & (_C.pool == pool.id), problem, now_us)

    def _fail_maps(self, connection: Connection, pool: Pool, problem: bytes, now_us: int) -> None:
        ended: list[Ended] = []
        for node in pool.maps:
            row = connection.execute(select(_CALL).where(_C.id == node)).one()
            ended.append((row.id, row.parent, row.position, State.FAILED))
            values = {"state": int(State.FAILED), "ended_us": now_us, "problem": problem}
            counts = {"left": 0, "failed": row.failed + row.left}
            connection.execute(update(_CALL).where(_C.id == node).values(**values, **counts))
            connection.execute(delete(schema.page).where(schema.page.c.node == node))
        pool.maps, pool.left = deque(), 0
        Ends(self, connection, now_us).take(ended)

    # --- for others ----------------------------------------------------------------------------

    def actor(self, key: str) -> Pool | None:
        """Return the pool that is an actor."""
        return next((pool for pool in self.pools.values() if pool.actor == key), None)

    def counts(self) -> tuple[int, int]:
        """Return how many calls could start, and how many workers have in hand; from any thread."""
        pools = list(self.pools.values())
        return sum(pool.backlog for pool in pools), sum(pool.held for pool in pools)

    def standing(self) -> list[Standing]:
        """Return how each pool stands that has calls or workers; from any thread."""
        names: dict[int, set[str]] = {}
        for recipe, number in self.recipes.pool_of.copy().items():
            names.setdefault(number, set()).add(self.recipes.name_of(recipe) or "")
        busy = sorted((p for p in list(self.pools.values()) if p.busy), key=lambda p: (-p.backlog, p.id))
        return [Standing(p.id, tuple(sorted(names.get(p.id, ()))), p.backlog, p.held, p.started) for p in busy]

    def drop(self, connection: Connection, now_us: int) -> None:
        """Drop recipes that nothing uses, and pools that have neither recipes nor workers any more.

        That an actor is over is known for longer: whoever calls it late must not make it anew.
        """
        self.recipes.drop(connection, self._next)
        self.took = {number: us for number, us in self.took.items() if number in self.recipes.pool_of}
        used = set(self.recipes.pool_of.values())
        for pool in [one for one in self.pools.values() if one.id not in used and not one.busy]:
            if pool.over and pool.over_us is None:
                pool.over_us = now_us
                connection.execute(update(schema.pool).where(schema.pool.c.id == pool.id).values(over_us=now_us))
            if pool.over_us is None or pool.over_us < now_us - OVER_KEPT_US:
                marks.keep(connection, marks.POOLS, self._next_pool)
                connection.execute(delete(schema.pool).where(schema.pool.c.id == pool.id))
                del self.pools[pool.id], self._by_words[pool.words, pool.actor]

    def tidy(self, connection: Connection, before_us: int) -> tuple[list[str], bool]:
        """Drop roots that were over before a moment. Returns the files of their values, and whether there are more."""
        marks.keep(connection, marks.NODES, self._next)
        return tidy(connection, before_us)


def _entered(connection: Connection, key: str) -> int | None:
    """Return the first root of what was entered under a key."""
    first = connection.scalar(select(schema.entry.c.first).where(schema.entry.c.key == key))
    return None if first is None else int(first)


def _per_pool(where: Any) -> Any:  # noqa: ANN401  SQLAlchemy's own types say nothing more
    return select(_C.pool, func.count()).where(where).group_by(_C.pool)


def _hands(connection: Connection, job: int, attempt: int) -> set[tuple[int, int]]:
    """Return what a worker was handed: calls, each with the number of the hand-over."""
    rows = connection.execute(select(_C.id, _C.attempt).where(*_held_by(job, attempt)))
    return {(row.id, row.attempt) for row in rows}


def _next_calls(pool: int, most: int) -> Any:  # noqa: ANN401  SQLAlchemy's own type says nothing more
    return (
        select(_C.id, _C.recipe, _C.value, _C.input, _C.attempt, _C.losses)
        .where(_C.pool == pool, schema.is_pending)
        .order_by(_C.id)
        .limit(most)
        .with_for_update(skip_locked=True)
    )


def _too_few(one: Done, there: int, count: int) -> Done:
    told = f"it yielded {count} items, and {there} of them are here: an earlier attempt of it yielded others"
    return msgspec.structs.replace(one, value=b"", problem=Problem(["CallError", "Exception"], told))


def _held_by(job: int, attempt: int) -> tuple[Any, ...]:
    return _C.state == schema.HELD, _C.worker == job, _C.worker_attempt == attempt


def _end(row: Row[Any], one: Done, now_us: int) -> dict[str, Any]:
    return {
        "b_id": row.id, "b_state": int(State.FAILED if one.problem else State.SUCCEEDED), "b_ended": now_us,
        "b_took": one.took_us, "b_result": one.value, "b_log": _log(row, one), "b_worker": row.worker,
        "b_value": row.value if row.value is not None and file_of(row.value) else None,
        "b_problem": msgspec.msgpack.encode(one.problem) if one.problem else None,
    }  # fmt: skip


def _log(row: Row[Any], one: Done) -> str:
    return f"{row.worker}.{row.worker_attempt}:" + ",".join(map(str, one.log))
