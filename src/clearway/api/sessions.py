"""Browsers: a link that opens the page once, and the session that it begins. In memory: both end with the controller.

A session is a cookie that no script can read and that no other site's page sends; changes besides need a header with
the session's second secret, which only the page's own scripts can learn.
"""

from __future__ import annotations

import secrets
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from clearway.api.tokens import digest_of

if TYPE_CHECKING:
    from clearway.api.who import Who

LINK_US = 120 * 1_000_000
"""A link is good for so long: enough to copy it, too short to be found later."""
SESSION_US = 12 * 3600 * 1_000_000
MOST, MOST_EACH = 1000, 50
"""So many links and sessions are kept, and so many of one token; the oldest go."""
BYTES = 32


class Link(NamedTuple):
    """As whom somebody comes in by it, and until when."""

    who: Who
    until_us: int


class Session(NamedTuple):
    """Who is in, what changes must show, and until when."""

    who: Who
    csrf: str
    until_us: int


_Kept = TypeVar("_Kept", bound=Link | Session)


class Sessions:
    """Links and sessions, known by the hashes of their secrets."""

    def __init__(self) -> None:
        """Begin without any."""
        self._lock = Lock()
        self._links: dict[str, Link] = {}
        self._open: dict[str, Session] = {}

    def link(self, who: Who, now_us: int) -> str:
        """Return the code of a new link, by which somebody comes in once as `who`."""
        code = secrets.token_urlsafe(BYTES)
        with self._lock:
            self._links = _with(self._links, digest_of(code), Link(who, _end(who, now_us + LINK_US)), now_us)
        return code

    def behind(self, code: str, now_us: int) -> Who | None:
        """Return as whom a link lets in, without using it; None where it lets nobody in."""
        link = self._links.get(digest_of(code))
        return link.who if link is not None and now_us < link.until_us else None

    def enter(self, code: str, now_us: int) -> str | None:
        """Return the secret of a new session for the code of a link; None: it was used, is too old, or is none.

        It ends with the token, or the session, in whose name the link was made: nobody stays by handing on to oneself.
        """
        with self._lock:
            link = self._links.pop(digest_of(code), None)
            if link is None or now_us >= link.until_us:
                return None
            secret, until_us = secrets.token_urlsafe(BYTES), _end(link.who, now_us + SESSION_US)
            who = link.who._replace(via="session", until_us=until_us)
            session = Session(who, secrets.token_urlsafe(BYTES), until_us)
            self._open = _with(self._open, digest_of(secret), session, now_us)
        return secret

    def find(self, secret: str, now_us: int) -> Session | None:
        """Return the session of a cookie, None where there is none any more."""
        session = self._open.get(digest_of(secret))
        return session if session is not None and now_us < session.until_us else None

    def end(self, csrf: str) -> None:
        """End a session, known by its second secret."""
        with self._lock:
            self._open = {key: one for key, one in self._open.items() if one.csrf != csrf}

    def end_of(self, token: str) -> list[str]:
        """End all links and sessions of a token, known by its id; return the second secrets of the sessions."""
        with self._lock:
            ended = [one.csrf for one in self._open.values() if one.who.root == token]
            self._links = {code: one for code, one in self._links.items() if one.who.root != token}
            self._open = {cookie: one for cookie, one in self._open.items() if one.who.root != token}
        return ended


def _end(who: Who, until_us: int) -> int:
    return until_us if who.until_us is None else min(until_us, who.until_us)


def _with(kept: dict[str, _Kept], digest: str, new: _Kept, now_us: int) -> dict[str, _Kept]:
    """Return what is kept with one more, without those that are over; of too many the oldest go, one's own first."""
    left = {key: one for key, one in kept.items() if one.until_us > now_us}
    mine = [key for key, one in left.items() if one.who.root == new.who.root]
    for key in mine[: max(0, len(mine) + 1 - MOST_EACH)]:
        del left[key]
    return dict([*left.items(), (digest, new)][-MOST:])
