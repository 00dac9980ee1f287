"""Bookings by people: made, cancelled, over when their time is, and moved where a node that they keep is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.core.bookings import WHOLE_NODE
from clearway.model import asks
from clearway.model import events as ev
from clearway.model.errors import ConflictError, InputError, NotFoundError
from clearway.model.ids import NodeId

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clearway.core.bookings import Kept
    from clearway.loop.world import World
    from clearway.model.fleet import BookingSpec

Places = tuple[tuple[NodeId, int], ...]


def answer(world: World, ask: asks.Book | asks.Unbook) -> None:
    """Make or cancel a booking."""
    kept = world.state.view.bookings.kept
    if isinstance(ask, asks.Book):
        _book(world, ask.booking)
    elif ask.name not in kept:
        raise NotFoundError(f"there is no booking {ask.name!r}")
    else:
        world.emit(ev.BookingOver(world.now_us, ask.name, ask.by))


def _book(world: World, booking: BookingSpec) -> None:
    place = f"booking {booking.name:.60}"
    if booking.name in world.state.view.bookings.kept:
        raise ConflictError(f"there is a booking {booking.name!r} already")
    if booking.to_us <= world.now_us:
        raise InputError("to", booking.to_us, "a moment that is still to come", place)
    for name in booking.nodes:
        if world.node_named(name) is None:
            raise InputError("nodes", name, "a node that is there", place)
    for other in _beside(world, booking):
        if any(world.node_named(name) in other.places for name in booking.nodes):
            raise ConflictError(f"booking {other.booking.name!r} keeps one of these nodes in that time")
    places = _places(world, booking)
    if booking.gpus and sum(many for _, many in places) < booking.gpus:
        most = sum(many for _, many in places)
        raise InputError("gpus", booking.gpus, f"at most what is there and not booked in that time: {most}", place)
    world.emit(ev.Booked(world.now_us, booking, places))


def _beside(world: World, booking: BookingSpec) -> list[Kept]:
    kept = world.state.view.bookings.kept.values()
    return [one for one in kept if one.booking.name != booking.name and one.overlaps(booking.from_us, booking.to_us)]


def see_to(world: World) -> None:
    """Record which bookings are over, and which keep other places from now on because the fleet has changed."""
    view = world.state.view
    for name, kept in sorted(view.bookings.kept.items()):
        if kept.booking.to_us <= world.now_us:
            world.emit(ev.BookingOver(world.now_us, name))
            continue
        now = tuple(kept.places.items())
        better = _places(world, kept.booking)
        if kept.booking.gpus and _usable(world, kept.booking, now) >= _usable(world, kept.booking, better):
            continue  # it moves only where it gains by that: others count on where it stands
        if better != now:
            world.emit(ev.Booked(world.now_us, kept.booking, better))


def _places(world: World, booking: BookingSpec) -> Places:
    if booking.nodes:
        found = [world.node_named(name) for name in booking.nodes]
        return tuple((node, WHOLE_NODE) for node in found if node is not None)
    return _choose(world, booking)


def _usable(world: World, booking: BookingSpec, places: Iterable[tuple[NodeId, int]]) -> int:
    return sum(min(many, _there(world, booking, node)) for node, many in places)


def _there(world: World, booking: BookingSpec, node: NodeId) -> int:
    """Return how many devices of a node a booking could keep: healthy ones that no other keeps in its time."""
    ledger = world.ledger
    if not ledger.open[node] or ledger.drained[node]:
        return 0
    left = ledger.specs[node].gpus - len(ledger.sick[node])
    for other in _beside(world, booking):
        many = other.places.get(node, 0)
        left -= left if many == WHOLE_NODE else many
    return max(left, 0)


def _idle(world: World, booking: BookingSpec, node: NodeId) -> int:
    """Return how many of them are expected to be idle when it begins."""
    ledger, ends = world.ledger, world.state.view.ends.jobs
    busy = sum(
        len(one.grant.devices)
        for job in ledger.on_node[node]
        if (expected := ends.get(job)) is None or expected.end_us > booking.from_us
        for one in ledger.holdings[job]
        if one.grant.node == node
    )
    return max(_there(world, booking, node) - busy, 0)


def _choose(world: World, booking: BookingSpec) -> Places:
    """Choose devices: idle ones first, on as few nodes as possible, the fullest node that has them all."""
    chosen: dict[NodeId, int] = {}
    left = booking.gpus
    nodes = [NodeId(node) for node in range(world.ledger.count)]
    for count in (_idle, _there):
        have = {node: count(world, booking, node) - chosen.get(node, 0) for node in nodes}
        while left and any(many > 0 for many in have.values()):
            enough = [node for node in nodes if have[node] >= left]
            node = min((have[n], n) for n in enough)[1] if enough else NodeId(-max((have[n], -n) for n in nodes)[1])
            many = min(have[node], left)
            chosen[node] = chosen.get(node, 0) + many
            have[node], left = 0, left - many
    return tuple(sorted(chosen.items()))
