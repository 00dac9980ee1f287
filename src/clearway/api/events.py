"""The route of live events: server-sent events, from any record of the journal on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Header, Query, Request, Response

from clearway.api.desk import TheDesk  # noqa: TC001  FastAPI reads the annotations while the program runs
from clearway.api.hub import Reader, Wish
from clearway.api.problems import HttpFault
from clearway.api.roles import guarded
from clearway.model.errors import InputError
from clearway.observe.event_rows import KINDS

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from clearway.api.desk import Desk
    from clearway.api.hub import Hub

MOST_READERS = 1000
TRANSPORT = "transport"

router = guarded()


def _wish(
    kind: Annotated[str | None, Query(description="Kinds of events, with commas between them")] = None,
    job: Annotated[int | None, Query(ge=1)] = None,
    name: str | None = None,
    queue: str | None = None,
    user: str | None = None,
    tenant: str | None = None,
    state: str | None = None,
) -> Wish:
    kinds = frozenset((kind or "").split(",")) - {""}
    for word in sorted(kinds - {*KINDS}):
        raise InputError("kind", word, "one of " + ", ".join(KINDS), "query")
    return Wish(kinds, job, name, queue, user, tenant, state)


@router.get("/events")
async def events(
    desk: TheDesk,
    request: Request,
    wish: Annotated[Wish, Depends(_wish)],
    after: Annotated[int | None, Query(ge=0, description="The number of a record: what came behind it")] = None,
    last_event_id: Annotated[str | None, Header(description="As `after`; what browsers send")] = None,
) -> Response:
    """Send what happens as it happens, as server-sent events whose ids are numbers of records.

    Begins now, or behind the record that `after` or `Last-Event-ID` names, however long ago that was.
    """
    hub: Hub = request.app.state.hub
    if hub.count >= MOST_READERS:
        raise HttpFault(503, "busy", f"{MOST_READERS} read along already; try again", {"Retry-After": "5"})
    return _Stream(hub, desk, wish, _after(desk, after, last_event_id))


def _after(desk: Desk, after: int | None, last_event_id: str | None) -> int | None:
    if after is None and last_event_id:
        if not (last_event_id.isascii() and last_event_id.isdigit() and len(last_event_id) < 19):  # noqa: PLR2004
            raise InputError("Last-Event-ID", last_event_id, "the id of an event, a number", "header")
        after = int(last_event_id)
    return None if after is None else min(after, desk.journal.last())


class _Stream(Response):
    """An answer that goes on until one of both sides leaves."""

    def __init__(self, hub: Hub, desk: Desk, wish: Wish, after: int | None) -> None:
        super().__init__(status_code=200)
        self._hub, self._desk, self._wish, self._after = hub, desk, wish, after

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kinds = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": kinds})
        reader = Reader(scope["state"][TRANSPORT], self._wish, framed=scope["http_version"] == "1.1")
        gone = asyncio.ensure_future(_gone(receive))
        stopping = asyncio.ensure_future(self._desk.stopping.wait())
        try:
            await self._hub.attend(reader, self._after)
            await asyncio.wait({gone, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._hub.leave(reader)
            gone.cancel()
            stopping.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _gone(receive: Receive) -> None:
    """Return when the other side has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
