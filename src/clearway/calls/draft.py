"""Rows of new nodes, put together in memory and written at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import insert

from clearway.calls import schema
from clearway.calls.states import Kind, State
from clearway.calls.wire import CallSpec, ChainSpec, GroupSpec, MapSpec, Spec, calls_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

PAGE = 500
"""So many items of a map become calls at once."""
_SPECS = msgspec.msgpack.Decoder(list[Spec])
_VALUES = msgspec.msgpack.Decoder(list[bytes])


class Draft:
    """New nodes. `next_id` gives their numbers, `pool_of` the pool of a recipe.

    Nodes that are over at once, such as an empty group, are in `over`; maps that have calls to make in `maps`, with
    their pool; `pending` counts new calls that can start, by pool. `sent`: keys of values that were sent before, and
    the maps whose pages they are to be.
    """

    def __init__(self, next_id: Callable[[], int], pool_of: Callable[[int], int], now_us: int) -> None:
        self._next_id, self._pool_of, self.now_us = next_id, pool_of, now_us
        self._rows: list[dict[str, Any]] = []
        self._pages: list[dict[str, Any]] = []
        self.sent: list[tuple[str, int]] = []
        self.over: list[dict[str, Any]] = []
        self.maps: list[tuple[int, int, int]] = []
        self.pending: dict[int, int] = {}

    def root(self, spec: Spec, number: int) -> None:
        """Add what a spec says as a root with a number."""
        self._add(spec, {"id": number, "root": number, "parent": None, "position": 0, "input": None})

    def part(self, spec: Spec, of: Any, position: int, input_of: int | None) -> None:  # noqa: ANN401  a row
        """Add what a spec says as a part of the node `of`."""
        place = {"root": of["root"], "parent": of["id"], "position": position, "input": input_of}
        self._add(spec, {"id": self._next_id(), **place})

    def items(self, of: Any, first: int, values: list[bytes]) -> None:  # noqa: ANN401  a row
        """Add the calls of a map's items from position `first` on."""
        pool = of["pool"]
        for position, value in enumerate(values, first):
            place = {"id": self._next_id(), "root": of["root"], "parent": of["id"], "position": position}
            self._call({**place, "input": of["input"]}, of["recipe"], pool, value)

    def take_over(self) -> list[tuple[int, int | None, int, State]]:
        """Return the nodes that are over at once, and leave none."""
        over, self.over = self.over, []
        return [(node["id"], node["parent"], node["position"], State.SUCCEEDED) for node in over]

    def write(self, connection: Connection) -> None:
        """Write all rows."""
        if self._rows:
            connection.execute(insert(schema.call), self._rows)
        if self._pages:
            connection.execute(insert(schema.page), self._pages)
        self._rows, self._pages = [], []

    def _add(self, spec: Spec, place: dict[str, Any]) -> None:
        match spec:
            case CallSpec(recipe, value):
                self._call(place, recipe, self._pool_of(recipe), value)
            case ChainSpec(steps):
                self._chain(place, steps)
            case GroupSpec(members):
                node = self._join(place, Kind.GROUP, len(members), len(members))
                for position, member in enumerate(members):
                    self.part(member, node, position, place["input"])
            case MapSpec():
                self._map(place, spec)

    def _call(self, place: dict[str, Any], recipe: int, pool: int, value: bytes) -> None:
        self.pending[pool] = self.pending.get(pool, 0) + 1
        self._rows.append(
            {
                **place, "kind": 0, "state": 1, "recipe": recipe, "pool": pool, "value": value, "total": 0, "given": 0,
                 "left": 0, "entered_us": self.now_us, "ended_us": None,
            }
        )  # fmt: skip

    def _chain(self, place: dict[str, Any], steps: list[Spec]) -> None:
        node = self._join(place, Kind.CHAIN, len(steps), 1)
        node["value"] = msgspec.msgpack.encode(steps)
        self.part(steps[0], node, 0, place["input"])

    def _map(self, place: dict[str, Any], spec: MapSpec) -> None:
        total = calls_of(spec)
        node = self._join(place, Kind.MAP, total, 0)
        node["recipe"], node["pool"] = spec.recipe, self._pool_of(spec.recipe)
        if total:
            self.maps.append((node["pool"], node["id"], total))
        if spec.sent:
            self.sent.append((spec.sent, node["id"]))
        for number, at in enumerate(range(0, len(spec.items), PAGE)):
            body = msgspec.msgpack.encode(spec.items[at : at + PAGE])
            self._pages.append({"node": node["id"], "number": number, "body": body})

    def _join(self, place: dict[str, Any], kind: Kind, total: int, given: int) -> dict[str, Any]:
        node = {
            **place, "kind": int(kind), "state": int(State.HELD), "recipe": None, "pool": None, "value": None,
            "total": total, "given": given, "left": total, "entered_us": self.now_us, "ended_us": None,
        }  # fmt: skip
        if not total:
            node["state"], node["ended_us"] = int(State.SUCCEEDED), self.now_us
            self.over.append(node)
        self._rows.append(node)
        return node


def steps_of(body: bytes) -> list[Spec]:
    """Return the parts of a chain as its row keeps them."""
    return _SPECS.decode(body)


def values_of(body: bytes) -> list[bytes]:
    """Return the values of a page."""
    return _VALUES.decode(body)
