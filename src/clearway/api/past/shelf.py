"""What-ifs that are kept in a home, a folder each: its row, its whole answer, and that as a page."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import msgspec

from clearway.model.errors import NotFoundError, StoreError

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = "whatifs"
ROW, ANSWER, PAGE = "row.json", "answer.json", "page.html"
Row = dict[str, Any]


class Shelf:
    """The kept what-ifs of a home."""

    def __init__(self, home: Path) -> None:
        """Look in a home."""
        self._folder = home / FOLDER

    def keep(self, row: Row, answer: Row, page: str, made: Path) -> None:
        """Put one there at once, which is written to the folder `made` on the same disk first."""
        made.mkdir(mode=0o700)
        (made / ROW).write_bytes(msgspec.json.encode(row))
        (made / ANSWER).write_bytes(msgspec.json.encode(answer))
        (made / PAGE).write_text(page)
        self._folder.mkdir(mode=0o700, exist_ok=True)
        made.rename(self._folder / str(row["id"]))

    def numbers(self) -> list[int]:
        """Return the numbers of those that are there."""
        return [int(one.name) for one in self._folder.glob("[1-9]*") if one.name.isdecimal()]

    def row(self, number: int) -> Row:
        """Return the row of one: that it failed, where it is spoilt."""
        try:
            found: Row = msgspec.json.decode(self._read(number, ROW), type=Row)
        except (NotFoundError, msgspec.DecodeError) as error:
            return {"id": number, "state": "failed", "asked": None, "by": "", "words": {}, "reason": str(error)}
        return {**found, "id": number}

    def answer(self, number: int) -> Row:
        """Return the whole answer of one. NotFoundError: it is gone; StoreError: it is spoilt."""
        try:
            found: Row = msgspec.json.decode(self._read(number, ANSWER), type=Row)
        except msgspec.DecodeError as error:
            raise StoreError(f"what-if {number} is spoilt: {error}; remove it") from error
        return found

    def page(self, number: int) -> bytes:
        """Return the page of one. NotFoundError: it is gone."""
        return self._read(number, PAGE)

    def drop(self, number: int) -> None:
        """Have one there no more."""
        shutil.rmtree(self._folder / str(number), ignore_errors=True)

    def _read(self, number: int, name: str) -> bytes:
        try:
            return (self._folder / str(number) / name).read_bytes()
        except OSError as error:
            raise NotFoundError(f"what-if {number} cannot be read: {error.strerror}") from error
