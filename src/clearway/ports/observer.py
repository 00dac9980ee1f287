"""The port to whoever watches a controller: metrics, spans, notices."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.model.events import Record


class Heard(NamedTuple):
    """A turn that is in the journal: its records, the number of the last of them, and how long both halves took."""

    records: Sequence[Record]
    last: int
    decide_us: int
    commit_us: int


class Observer(Protocol):
    """Is told what happened, in the deciding loop's thread: both methods return at once and raise nothing."""

    def begin(self) -> None:
        """Be told that a controller knows what its journal says, before its first turn."""
        ...

    def hear(self, turn: Heard) -> None:
        """Be told of a turn, in order."""
        ...
