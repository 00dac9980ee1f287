"""Something that two who should agree say differently, as it was found."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Between(StrEnum):
    """Who disagrees. The first two are settled by the engine, the board by the world, the others by the journal."""

    NO_PROCESS = "no_process"
    """A node does not name a task that is up by the books."""
    NO_GRANT = "no_grant"
    """A node runs a task that holds nothing by the books."""
    BOOKS = "books"
    """What is held and free is not the sum of the live grants."""
    BOARD = "board"
    """What readers are shown is not what decisions rest on."""
    STORE = "store"
    """A job, or the number of records, is not what the journal says."""


class Difference(NamedTuple):
    """Between whom, and what in a sentence."""

    between: Between
    text: str
