"""Whom the door knows: the owner, tokens, sessions, and those whom an issuer of identities vouches for."""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from clearway.api.limits import Limits
from clearway.api.moments import iso
from clearway.api.sessions import Sessions
from clearway.api.tokens import Tokens
from clearway.api.trail import Trail
from clearway.api.under_way import UnderWay
from clearway.api.who import Role, Who
from clearway.config.access_words import LOOPBACK
from clearway.model.errors import InputError, NotAllowedError
from clearway.model.values import SECOND_US

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.types import Scope

    from clearway.api.oidc import Issuer
    from clearway.api.sessions import Session
    from clearway.api.tokens import Notes
    from clearway.config.access_words import Oidc
    from clearway.config.settings import Settings


_DOTS = 2  # of a signed token: head, claims and signature
_NO_NAME = re.compile("(?<=/secrets/)(?![A-Za-z_][A-Za-z0-9_]*(/|$)).+")
"""What stands where a secret's name is to stand and is none: it may be the secret itself, by mistake."""


def _issuer(said: Oidc | None) -> Issuer | None:
    if said is None:
        return None
    try:
        from clearway.api.oidc import Issuer  # noqa: PLC0415  an extra, for those who need it
    except ImportError as error:
        raise InputError("oidc", said.issuer, "needs the extra: pip install 'clearway[oidc]'") from error
    return Issuer(said)


def _plain(address: str) -> str:
    """Return an IPv4 address as such, also where it came to a port that speaks both."""
    return address.removeprefix("::ffff:") if "." in address else address


class Doors:
    """All ways in. `token` is that of the owner's file; an empty one opens nothing."""

    def __init__(
        self, settings: Settings, login: str, notes: Notes, now_us: Callable[[], int], token: str = ""
    ) -> None:
        """Know the tokens that are kept; `login` is the owner."""
        self.token, self._login, self._now_us = token, login, now_us
        self.tokens, self.sessions = Tokens(notes), Sessions()
        self.limits = Limits(settings.rate_limit)
        self.under_way = UnderWay()
        self.trail = Trail(settings.home, settings.log_size)
        self.only_loopback = (settings.listen is None or settings.listen[0] in LOOPBACK) and not settings.behind_proxy
        self._proxies = [ipaddress.ip_network(one) for one in settings.behind_proxy]
        self._issuer = _issuer(settings.oidc)
        public = urlsplit(settings.public_url)
        self.origin = f"{public.scheme}://{public.netloc}" if settings.public_url else ""
        self._scheme = "https" if settings.tls else "http"

    def owner(self, via: str, address: str) -> Who:
        """Return the owner of the controller."""
        return Who(self._login, Role.admin, via=via, key="" if via == "socket" else via, address=address)

    async def by_token(self, secret: str, address: str) -> Who | None:
        """Return who shows a token; None: nobody knows it."""
        token = self.tokens.find(secret, self._now_us())
        if token is not None:
            return token.who(address)
        if self._issuer is None or secret.count(".") != _DOTS:
            return None
        return await self._issuer.who(secret, address)

    def left_s(self, who: Who) -> float | None:
        """Return for how long a way in is still good; None: it does not end by itself."""
        return None if who.until_us is None else (who.until_us - self._now_us()) / SECOND_US

    def session(self, cookie: str) -> Session | None:
        """Return the session of a cookie."""
        return self.sessions.find(cookie, self._now_us()) if cookie else None

    def address(self, scope: Scope, headers: Mapping[bytes, bytes]) -> str:
        """Return from where somebody asks: what the proxy says. NotAllowedError: it did not come through the proxy."""
        peer = _plain(str((scope.get("client") or ("",))[0]))
        if not self._proxies:
            return peer
        if not any(ipaddress.ip_address(peer) in network for network in self._proxies):
            raise NotAllowedError("only the reverse proxy is answered here")
        said = headers.get(b"x-forwarded-for", b"").decode("latin-1").rpartition(",")[2].strip()
        return said[:45] or peer

    def scheme(self, scope: Scope, headers: Mapping[bytes, bytes]) -> str:
        """Return http or https, as the browser sees it."""
        said = headers.get(b"x-forwarded-proto", b"").decode("latin-1") if self._proxies else ""
        return said if said in ("http", "https") else str(scope.get("scheme", self._scheme))

    def is_own_page(self, scope: Scope, headers: Mapping[bytes, bytes]) -> bool:
        """Whether a browser says that a request comes from a page of this very controller."""
        origin = headers.get(b"origin", b"").decode("latin-1")
        host = headers.get(b"host", b"").decode("latin-1")
        return bool(origin) and origin in {f"{self.scheme(scope, headers)}://{host}", self.origin}

    def write(self, who: Who, scope: Scope, status: int, notes: Mapping[str, Any]) -> None:
        """Write down a change, done or refused."""
        path = _NO_NAME.sub("(not shown)", scope["path"])
        self.trail.write(
            {
                "at": iso(self._now_us()), "who": who.name, "role": who.role.name, "via": who.via,
                "address": who.address or None, "method": scope["method"], "path": path,
                "status": status, "about": dict(notes),
            }
        )  # fmt: skip
