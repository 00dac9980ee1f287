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
)

VERSION = 1
"""Version of these tables. Tables of a higher one are refused."""

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
    UniqueConstraint("words", "actor"),
)
"""What one kind of workers is: the words of their jobs as JSON. `actor`: it is one actor, which is `over` for good."""

recipe = Table(
    "calls_recipe",
    TABLES,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("said", Text, nullable=False, unique=True),
    Column("pool", Integer, nullable=False),
)
"""What calls of one function with the same options share, as JSON."""

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

_row = call.c
for _name, _columns, _where in (
    ("calls_pending", (_row.pool, _row.id), _row.state == 1),
    ("calls_later", (_row.due_us,), _row.state == 0),
    ("calls_held", (_row.worker,), _row.state == 2),  # noqa: PLR2004  State.HELD, as a number in an index
    ("calls_parent", (_row.parent, _row.position), _row.parent.is_not(None)),
    ("calls_root", (_row.root,), None),
):
    Index(_name, *_columns, sqlite_where=_where, postgresql_where=_where)
