"""Browsers: a link that opens the page once, and the session that it begins. In memory: both end with the controller.

A session is a cookie that no script can read and that no other site's page sends; changes besides need a header with
the session's second secret, which only the page's own scripts can learn.
"""

from __future__ import annotations

import secrets
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from clearway.api.tokens import digest_of

if TYPE_CHECKING:
    from clearway.api.who import Who

LINK_US = 120 * 1_000_000
"""A link is good for so long: enough to copy it, too short to be found later."""
SESSION_US = 12 * 3600 * 1_000_000
MOST = 1000
"""So many links and sessions are kept; the oldest go."""
BYTES = 32


class Session(NamedTuple):
    """Who is in, what changes must show, and until when."""

    who: Who
    csrf: str
    until_us: int


class Sessions:
    """Links and sessions, known by the hashes of their secrets."""

    def __init__(self) -> None:
        """Begin without any."""
        self._lock = Lock()
        self._links: dict[str, tuple[Who, int]] = {}
        self._open: dict[str, Session] = {}

    def link(self, who: Who, now_us: int) -> str:
        """Return the code of a new link, by which somebody comes in once as `who`."""
        code = secrets.token_urlsafe(BYTES)
        with self._lock:
            self._links = {key: link for key, link in self._links.items() if link[1] > now_us}
            self._links[digest_of(code)] = who, now_us + LINK_US
            self._links = dict(list(self._links.items())[-MOST:])
        return code

    def enter(self, code: str, now_us: int) -> str | None:
        """Return the secret of a new session for the code of a link; None: it was used, is too old, or is none."""
        with self._lock:
            who, until_us = self._links.pop(digest_of(code), (None, 0))
            if who is None or now_us >= until_us:
                return None
            secret = secrets.token_urlsafe(BYTES)
            self._open = {key: one for key, one in self._open.items() if one.until_us > now_us}
            session = Session(who._replace(via="session"), secrets.token_urlsafe(BYTES), now_us + SESSION_US)
            self._open[digest_of(secret)] = session
            self._open = dict(list(self._open.items())[-MOST:])
        return secret

    def find(self, secret: str, now_us: int) -> Session | None:
        """Return the session of a cookie, None where there is none any more."""
        session = self._open.get(digest_of(secret))
        return session if session is not None and now_us < session.until_us else None

    def end(self, csrf: str) -> None:
        """End a session, known by its second secret."""
        with self._lock:
            self._open = {key: one for key, one in self._open.items() if one.csrf != csrf}
