"""What a worker says of its room: the newest word of its newest process holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from clearway.calls.seats import Seats

if TYPE_CHECKING:
    from clearway.calls.book import Book
    from clearway.calls.leases import Leases


def _seats() -> Seats:
    return Seats(cast("Book", None), cast("Leases", None))


def test_a_word_that_comes_late_changes_nothing() -> None:
    seats = _seats()
    seats.room(1, (1, 7), 512)
    seats.room(1, (1, 6), 0)
    assert seats._rooms[1] == ((1, 7), 512)


def test_a_new_process_of_a_worker_begins_to_count_anew() -> None:
    seats = _seats()
    seats.room(1, (1, 700), 0)
    seats.room(1, (2, 1), 512)
    assert seats._rooms[1] == ((2, 1), 512)
