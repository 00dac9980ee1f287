"""The port to whoever has machines to give: a cloud, or one in invented time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.model.actions import Supply


class OrderFailed(msgspec.Struct, frozen=True, tag=True):
    """A machine that was ordered will not come, and why."""

    name: str
    error: str = ""


class Provider(Protocol):
    """Gets machines and gives them back.

    - An Order is known by its node's name: told twice, it is one order. The machine joins the engine as a node of that
      name, which the engine reports (NodeIsUp); the provider itself reports only what will not come.
    - A GiveBack ends the order or the machine, whichever it finds, and says nothing about a name that it does not
      know. The engine reports that the node is gone (NodeIsGone), if it ever reported it up.
    - `carry_out` does not wait for a machine.
    - Orders outlive the controller: a new one tells again what it does not see.
    """

    def carry_out(self, orders: Sequence[Supply]) -> None:
        """Do what can be done of each order, in order."""
        ...

    def reports(self) -> list[OrderFailed]:
        """Return what failed since the last call, oldest first; does not wait."""
        ...
