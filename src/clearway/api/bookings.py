"""Routes of bookings: list, make, cancel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import unquote

from fastapi import Depends, Request, Response

from clearway.api.body import read_json
from clearway.api.desk import TheDesk, answer
from clearway.api.moments import iso
from clearway.api.roles import guarded
from clearway.api.who import noted
from clearway.core.bookings import WHOLE_NODE
from clearway.model.asks import Book, Unbook
from clearway.model.errors import InputError
from clearway.model.verb_words import read_booking

if TYPE_CHECKING:
    from clearway.api.desk import Desk
    from clearway.model.events import Booked

router = guarded()


async def _name(request: Request) -> str:
    return unquote(request.path_params["booking"], errors="replace")


TheBooking = Annotated[str, Depends(_name)]


def booking_row(desk: Desk, record: Booked) -> dict[str, Any]:
    """Return a booking in its own words, with the nodes that it keeps: devices by node, null for all of it."""
    spec = record.booking
    kept = {desk.node_name(node): None if many == WHOLE_NODE else many for node, many in record.places}
    return {
        "name": spec.name,
        "from": iso(spec.from_us),
        "to": iso(spec.to_us),
        "nodes": list(spec.nodes) or None,
        "gpus": spec.gpus or None,
        "for": list(spec.whom),
        "keeps": kept,
    }


@router.get("/bookings")
def bookings(desk: TheDesk) -> Response:
    """List bookings that are not over, the first to begin first."""
    records = sorted(desk.board.bookings.copy().values(), key=lambda r: (r.booking.from_us, r.booking.name))
    return answer({"bookings": [booking_row(desk, record) for record in records]})


@router.post("/bookings")
async def book(desk: TheDesk, request: Request) -> Response:
    """Make a booking: the body is a map of its words."""
    raw = await read_json(request)
    if not isinstance(raw, dict):
        raise InputError("body", raw, "a map of the words of a booking")
    booking = read_booking(raw)
    await desk.ask(Book(booking))
    noted(booking=booking.name)
    return answer(booking_row(desk, desk.board.bookings[booking.name]), 201)


@router.post("/bookings/{booking}/cancel")
async def cancel(desk: TheDesk, booking: TheBooking) -> Response:
    """Cancel a booking: from now on it keeps nothing."""
    await desk.ask(Unbook(booking, desk.login))
    return answer({"name": booking, "cancelled": True})
