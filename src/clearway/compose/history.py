"""The journal of a home, read while a controller may be writing it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from clearway.config.home import home_dir
from clearway.model.errors import NotFoundError, StoreError
from clearway.store.codec import decode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clearway.model.events import Record


def records(home: Path | None = None) -> Iterator[Record]:
    """Yield the records of a home's journal in order, those that are there when it begins.

    Errors: NotFoundError where there is no journal, StoreError where it cannot be read.
    """
    path = (home_dir(home)) / "journal.db"
    if not path.is_file():
        raise NotFoundError(f"there is no journal at {path}: no controller has run there yet")
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            for number, body in database.execute("SELECT number, body FROM journal ORDER BY number"):
                yield decode(body, f"record {number} of the journal {path}")
    except sqlite3.Error as error:
        raise StoreError(f"the journal {path} cannot be read: {error}") from error
