"""The tables of a journal, in words that every database of SQLAlchemy understands."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, MetaData, Table, Text

VERSION = 2
"""Version of these tables. A journal of a higher one is refused; a lower one is brought up to this by `migrations`."""

TABLES = MetaData()

# SQLite makes a rowid of INTEGER only; elsewhere numbers outgrow 32 bits.
_NUMBER = BigInteger().with_variant(Integer(), "sqlite")

journal = Table(
    "journal",
    TABLES,
    Column("number", _NUMBER, primary_key=True, autoincrement=False),
    Column("at_us", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("job", BigInteger),
    Column("cls", BigInteger),
    Column("body", LargeBinary, nullable=False),
)
"""One record a row: `kind` its type's name, `job` and `cls` what it can be found by, `body` itself as JSON."""

for _name, _column in (("journal_job", journal.c.job), ("journal_cls", journal.c.cls)):
    _named = _column.is_not(None)  # most records name no class: those need no place in its index
    Index(_name, _column, sqlite_where=_named, postgresql_where=_named)

meta = Table("meta", TABLES, Column("key", Text, primary_key=True), Column("value", Text, nullable=False))
"""Notes beside the records: the version of the tables, the clock's anchor."""

snapshot = Table(
    "snapshot",
    TABLES,
    Column("number", _NUMBER, primary_key=True, autoincrement=False),
    Column("at_us", BigInteger, nullable=False),
    Column("parts", Integer, nullable=False),
    Column("checksum", Text, nullable=False),
)
"""One snapshot a row, written when all of its parts are there."""

snapshot_part = Table(
    "snapshot_part",
    TABLES,
    Column("number", _NUMBER, primary_key=True, autoincrement=False),
    Column("part", Integer, primary_key=True, autoincrement=False),
    Column("body", LargeBinary, nullable=False),
)
"""The bytes of snapshots, in parts: no transaction is long, so that appends in between never wait for it."""

leader = Table(
    "leader",
    TABLES,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("term", BigInteger, nullable=False),
    Column("holder", Text, nullable=False),
    Column("until_us", BigInteger, nullable=False),
)
"""At most one row: who leads, in which term, until when by the clock of the database."""
