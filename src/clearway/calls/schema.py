"""The tables of calls, beside the journal: in a file of their own, or in the same PostgreSQL database."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    func,
    literal_column,
)

VERSION = 3
"""Version of these tables. Those of an earlier one are brought up to it, those of a later one are refused."""

TABLES = MetaData()

_NUMBER = BigInteger().with_variant(Integer(), "sqlite")

meta = Table("calls_meta", TABLES, Column("key", Text, primary_key=True), Column("value", Text, nullable=False))

function = Table(
    "calls_function",
    TABLES,
    Column("digest", Text, primary_key=True),
    Column("body", LargeBinary, nullable=False),
)
"""Functions by the digest of their bytes."""

pool = Table(
    "calls_pool",
    TABLES,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("words", Text, nullable=False),
    Column("actor", Text),
    Column("over", Integer, nullable=False, server_default="0"),
    Column("over_us", BigInteger),
    UniqueConstraint("words", "actor"),
)
"""What one kind of workers is: the words of their jobs as JSON. `actor`: it is one actor, which is `over` for good."""

recipe = Table(
    "calls_recipe",
    TABLES,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("said", Text, nullable=False, unique=True),
    Column("pool", Integer, nullable=False),
    Column("last", BigInteger, nullable=False, server_default="0"),
)
"""What calls of one function with the same options share, as JSON. `last`: no root with a higher number uses it."""

worker = Table(
    "calls_worker",
    TABLES,
    Column("job", _NUMBER, primary_key=True, autoincrement=False),
    Column("pool", Integer, nullable=False),
)
"""The jobs that are leases of workers, until they are over."""

entry = Table(
    "calls_entry",
    TABLES,
    Column("key", Text, primary_key=True),
    Column("first", _NUMBER, nullable=False),
    Column("at_us", BigInteger, nullable=False),
)
"""What was entered under which key."""

call = Table(
    "calls_call",
    TABLES,
    Column("id", _NUMBER, primary_key=True, autoincrement=False),
    Column("root", BigInteger, nullable=False),
    Column("parent", BigInteger),
    Column("position", Integer, nullable=False),
    Column("kind", SmallInteger, nullable=False),
    Column("state", SmallInteger, nullable=False),
    Column("recipe", Integer),
    Column("pool", Integer),
    Column("value", LargeBinary),
    Column("input", BigInteger),
    Column("total", Integer, nullable=False, server_default="0"),
    Column("given", Integer, nullable=False, server_default="0"),
    Column("left", Integer, nullable=False, server_default="0"),
    Column("failed", Integer, nullable=False, server_default="0"),
    Column("attempt", Integer, nullable=False, server_default="0"),
    Column("failures", Integer, nullable=False, server_default="0"),
    Column("losses", Integer, nullable=False, server_default="0"),
    Column("worker", BigInteger),
    Column("worker_attempt", Integer),
    Column("due_us", BigInteger),
    Column("entered_us", BigInteger, nullable=False),
    Column("started_us", BigInteger),
    Column("ended_us", BigInteger),
    Column("took_us", BigInteger),
    Column("gives", BigInteger),
    Column("result", LargeBinary),
    Column("problem", LargeBinary),
    Column("log", Text),
)
"""One node a row: a call, or a join of others (chain, group, map).

`parent` and `position`: where it is part of. `input`: the node whose result it is given. Of a join: `total` parts,
`given` of them made so far, `left` not over, `failed` of those that are; `gives`: the part whose result, or failure, is
its own. `attempt` grows with each hand-over; a result of another attempt is not accepted.
"""

page = Table(
    "calls_page",
    TABLES,
    Column("node", _NUMBER, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("body", LargeBinary, nullable=False),
)
"""Values of a map's items, until calls are made of them."""

part = Table(
    "calls_part",
    TABLES,
    Column("key", Text, primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("count", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("at_us", BigInteger, nullable=False),
)
"""Pages of items that were sent before the map that they are for."""

gone = Table("calls_gone", TABLES, Column("root", _NUMBER, primary_key=True, autoincrement=False))
"""Roots that were dropped while there still are parts of theirs."""

item = Table(
    "calls_item",
    TABLES,
    Column("node", _NUMBER, primary_key=True, autoincrement=False),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("value", LargeBinary, nullable=False),
)
"""What a call of a generator has yielded; its row's `given` counts them."""

_row = call.c
LATER, PENDING, HELD, _LARGE = (literal_column(number, Integer) for number in ("0", "1", "2", "33"))
is_later = _row.state == LATER
is_pending = _row.state == PENDING
is_held = (_row.state == HELD) & _row.worker.is_not(None)
is_root = _row.parent.is_(None)
is_open_root = is_root & _row.ended_us.is_(None)
has_large = (func.length(_row.value) == _LARGE) | (func.length(_row.result) == _LARGE)
"""Conditions in the very words of the indexes below: a database must see without values that it may use one.

A value that is kept in a file is 33 bytes long (`wire.file_of`).
"""

for _name, _columns, _where in (
    ("calls_pending", (_row.pool, _row.id), is_pending),
    ("calls_later", (_row.due_us,), is_later),
    ("calls_held", (_row.worker,), _row.state == HELD),
    ("calls_parent", (_row.parent, _row.position), _row.parent.is_not(None)),
    ("calls_root", (_row.root,), None),
    ("calls_roots", (_row.id,), is_root),
    ("calls_ended", (_row.ended_us, _row.id), is_root),
    ("calls_large", (_row.root,), has_large),
):
    Index(_name, *_columns, sqlite_where=_where, postgresql_where=_where)
Index("calls_entry_at", entry.c.at_us)
