"""A provider of machines in invented time: each takes as long to come as the scenario says, or never comes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.model.actions import Order
from clearway.ports.provider import OrderFailed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clearway.model.actions import Supply
    from clearway.model.fleet import NodeSpec
    from clearway.model.type_words import Boots
    from clearway.sim.engine import SimEngine

SOLD_OUT = "the provider has none to give"


class _Boot:
    """A machine on its way; raising `version` takes it back."""

    __slots__ = ("spec", "version")

    def __init__(self, spec: NodeSpec) -> None:
        self.spec, self.version = spec, 0


class SimProvider:
    """Behind the port that every provider has. `sold_out` are the types of which an order fails at once."""

    def __init__(self, engine: SimEngine, boots: Mapping[str, Boots]) -> None:
        """Let machines join an engine; `boots` says for each type how long they take, in the order of the orders."""
        self._engine, self._boots = engine, boots
        self._on_their_way: dict[str, _Boot] = {}
        self._failed: list[OrderFailed] = []
        self.sold_out: set[str] = set()

    def carry_out(self, orders: Sequence[Supply]) -> None:
        """Order and give back."""
        for order in orders:
            if isinstance(order, Order):
                self._order(order)
            else:
                self._give_back(order.name)

    def reports(self) -> list[OrderFailed]:
        """Return what failed since the last call."""
        told, self._failed = self._failed, []
        return told

    @property
    def has_told(self) -> bool:
        """Whether there is something to tell now."""
        return bool(self._failed)

    def _order(self, order: Order) -> None:
        name = order.spec.name
        if name in self._on_their_way or self._engine.has(name):
            return
        if order.kind in self.sold_out:
            self._failed.append(OrderFailed(name, SOLD_OUT))
            return
        boot = self._on_their_way[name] = _Boot(order.spec)
        boots = self._boots[order.kind]
        number = int(name.rpartition("-")[2])
        boot_us = boots[min(number, len(boots)) - 1]
        if boot_us is not None:
            self._engine.later(self._engine.clock.now_us() + boot_us, self._arrive, boot)

    def _arrive(self, boot: _Boot) -> None:
        del self._on_their_way[boot.spec.name]
        self._engine.join(boot.spec)

    def _give_back(self, name: str) -> None:
        boot = self._on_their_way.pop(name, None)
        if boot is not None:
            boot.version += 1
        elif self._engine.has(name):
            self._engine.leave(name)

    # --- faults --------------------------------------------------------------------------------

    def lose(self, name: str) -> None:
        """Let a machine that is on its way never come, without a word."""
        boot = self._on_their_way.get(name)
        if boot is not None:
            boot.version += 1

    def fail(self, name: str) -> None:
        """Take a machine that is on its way away, and say so."""
        if name in self._on_their_way:
            self._give_back(name)
            self._failed.append(OrderFailed(name, "the provider took it away before it was there"))
