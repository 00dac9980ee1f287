"""What a queue does beside its calls, a little after each turn: what is long over is dropped, and files nobody has."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from sqlalchemy import select

from clearway.calls import parts, schema
from clearway.calls.tidy import EVERY_US, KEPT_US, names_in_use

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from clearway.calls.book import Book
    from clearway.calls.tables import Tables

LOG = logging.getLogger("clearway.calls")
SWEEP_US = 3600 * 1_000_000
_C = schema.call.c


class Upkeep:
    """Tidies a book, one piece in each transaction, so that calls wait for no more than one."""

    def __init__(
        self,
        book: Book,
        tables: Tables,
        drop: Callable[[list[str]], None],
        sweep: Callable[[int, set[str]], None],
    ) -> None:
        self._book, self._tables, self._drop, self._sweep = book, tables, drop, sweep
        self.next_us, self._sweep_us = 0, 0

    def look(self, now_us: int) -> None:
        """Do the next piece, if it is time. StoreError: what is in memory must be read anew."""
        if now_us < self.next_us:
            return
        self.next_us = now_us + EVERY_US
        with self._tables.writing() as connection:
            names, more = self._book.tidy(connection, now_us - KEPT_US)
            if not more:
                self._book.drop(connection, now_us)
                parts.drop(connection, now_us - KEPT_US)
        try:
            self._drop(names)
        except OSError as error:
            LOG.warning("files of calls that are long over cannot be removed: %s", error)
        if more:
            self.next_us = now_us
        elif now_us >= self._sweep_us:
            self._sweep_us = now_us + SWEEP_US
            self._sweep_files(now_us)

    def _sweep_files(self, now_us: int) -> None:
        """Remove files that belong to no call that is there.

        A value is written before the call that it is for is entered, or while that call is there: one that is older
        than all calls by as long as they are kept belongs to none of them.
        """
        with self._tables.reading() as connection:
            age_us = KEPT_US + now_us - _oldest_us(connection, now_us)
            keep = names_in_use(connection)
        threading.Thread(target=self._sweep, args=(age_us, keep), name="clearway-values", daemon=True).start()


def _oldest_us(connection: Connection, now_us: int) -> int:
    """Return when the oldest call that is there was entered."""
    found = connection.scalar(select(_C.entered_us).order_by(_C.id).limit(1))
    return now_us if found is None else min(found, now_us)
