"""Every answer says what the controller's clock says: whoever shows how long ago something was counts by that one.

Setting the wall clock of a machine does not move the controller's, so the two may differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADER = b"clearway-now"


class TellsTheTime:
    """Adds the header `Clearway-Now` to the answers of an app."""

    def __init__(self, app: ASGIApp, now: Callable[[], str]) -> None:
        """Let `app` answer, and `now` say the time."""
        self._app, self._now = app, now

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and the time with its answer."""

        async def tell(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), (HEADER, self._now().encode())]
            await send(message)

        await self._app(scope, receive, tell)
