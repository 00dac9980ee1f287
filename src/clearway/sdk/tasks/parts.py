"""Large maps, sent in parts: what a controller takes in one request has a limit."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from clearway.calls.wire import CallSpec, ChainSpec, GroupSpec, MapSpec, Part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from clearway.calls.wire import Spec, Value

WHOLE_BYTES = 4 << 20
"""A map of so many bytes of values, or less, is sent as it is; so much of a larger one goes into one part."""
MOST_ITEMS = 500


def in_parts(spec: Spec, send: Callable[[Part], None]) -> Spec:
    """Return a spec without the values of its large maps, which are sent first."""
    match spec:
        case MapSpec(recipe, items) if sum(map(len, items)) > WHOLE_BYTES:
            key = secrets.token_hex(16)
            for number, piece in enumerate(_pieces(items)):
                send(Part(key, number, piece))
            return MapSpec(recipe, [], key, len(items))
        case ChainSpec(steps):
            return ChainSpec([in_parts(step, send) for step in steps])
        case GroupSpec(members):
            return GroupSpec([in_parts(member, send) for member in members])
        case CallSpec() | MapSpec():
            return spec


def _pieces(items: list[Value]) -> Iterator[list[Value]]:
    piece: list[Value] = []
    size = 0
    for value in items:
        if piece and (len(piece) == MOST_ITEMS or size + len(value) > WHOLE_BYTES):
            yield piece
            piece, size = [], 0
        piece.append(value)
        size += len(value)
    if piece:
        yield piece
