"""The port to what finds good points from how earlier trials went."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from clearway.model.actions import Draw


class Sampler(Protocol):
    """Finds points.

    - The same Draw gives the same point, in every process: what it knows is in the Draw, chance comes from its seed.
    - The point lies in the space of the search, with a value for each of its dimensions, as JSON.
    - It may take its time; nobody waits for it but the search. What it raises ends the search.
    """

    def lacks(self, sampler: str) -> str:
        """Return what is to be installed before a sampler of this name can draw; empty: nothing."""
        ...

    def draw(self, wish: Draw) -> str:
        """Return a point."""
        ...
