"""Identities that an issuer vouches for: signed tokens (JWT), checked with the keys that it publishes.

Loaded where the settings name an issuer. The keys are fetched when they are first needed, kept, and fetched again
when an unknown one signs, at most once in RENEW_S. One thread of its own fetches; whoever needs a key waits for it
without holding a thread, and not for long. Known keys are good meanwhile, however slow the issuer is.
"""

from __future__ import annotations

import asyncio
import json
import time
import urllib.request
from concurrent.futures import Future
from threading import Thread
from typing import TYPE_CHECKING, Any

import jwt

from clearway.api.who import Role, Who
from clearway.model.errors import ControllerError
from clearway.model.values import SECOND_US

if TYPE_CHECKING:
    from clearway.config.access_words import Oidc

ALGORITHMS = {"RSA": ["RS256", "RS384", "RS512", "PS256"], "EC": ["ES256", "ES384"]}
"""By the kind of key. Only signatures by keys of which the issuer alone has the secret half."""
LEEWAY_S = 30
RENEW_S = 60.0
RETRY_S = 5.0
"""After a fetch that failed the next one may begin so soon."""
WAIT_S = 5.0
"""So long a request waits for keys that are being fetched."""
FETCH_S = 10.0
"""So long a fetch may take, each of its two answers."""
MOST_WAITING = 100
"""So many requests wait for keys; more are refused at once."""
MOST_BYTES, PIECE_BYTES = 2**20, 2**14


class _Stays(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: keys come from the very addresses that are looked at."""

    def redirect_request(self, *_: object) -> None:
        """Go nowhere else."""


_OPENER = urllib.request.build_opener(_Stays)


Keys = dict[str, jwt.PyJWK]


class Issuer:
    """One issuer. To be asked in one thread, that of an event loop."""

    def __init__(self, said: Oidc) -> None:
        """Fetch nothing yet."""
        self._said = said
        self._keys: Keys = {}
        self._waiting = 0
        self._next_s = float("-inf")
        self._fetch: Future[Keys | str] | None = None
        self._taken: Future[Keys | str] | None = None

    async def who(self, token: str, address: str) -> Who | None:
        """Return whom a token is of; None where it is not good, or gives no role. ControllerError: no keys."""
        try:
            key = await self._key(str(jwt.get_unverified_header(token).get("kid", "")))
            if key is None:
                return None
            algorithms = ALGORITHMS.get(key.key_type or "", [])
            claims: dict[str, Any] = jwt.decode(
                token, key.key, algorithms, audience=self._said.audience, issuer=self._said.issuer, leeway=LEEWAY_S,
                options={"require": ["exp", "iss", "aud"]},
            )  # fmt: skip
        except jwt.PyJWTError:
            return None
        return self._of(claims, address)

    def _of(self, claims: dict[str, Any], address: str) -> Who | None:
        said, name = self._said, claims.get(self._said.user)
        held = claims.get(said.role) if said.role else None
        values = {one for one in (held if isinstance(held, list) else [held]) if isinstance(one, str)}
        roles = [Role[role] for value, role in said.roles if value in values]
        if said.other:
            roles.append(Role[said.other])
        if not isinstance(name, str) or not name or not roles:
            return None
        tenant = claims.get(said.tenant, "") if said.tenant else ""
        tenant = tenant if isinstance(tenant, str) else ""
        until_us = (int(claims["exp"]) + LEEWAY_S) * SECOND_US
        key = f"oidc {name}"
        return Who(name, max(roles), tenant, "oidc", key, frozenset(), address, until_us, key)

    def renew(self) -> None:
        """Have the next unknown key fetched, however short ago keys were."""
        self._next_s = float("-inf")

    async def _key(self, kid: str) -> jwt.PyJWK | None:
        if kid not in self._keys:
            if (self._fetch is None or self._fetch.done()) and time.monotonic() >= self._next_s:
                self._begin()
            await self._wait()
        return self._keys.get(kid)

    def _begin(self) -> None:
        """Have a thread fetch: a daemon, since a controller that stops does not wait for an issuer."""
        fetch = self._fetch = Future()

        def run() -> None:
            try:
                fetch.set_result(self._fetched())
            except Exception as error:  # noqa: BLE001  whoever waits is told, whatever it is
                fetch.set_result(str(error))

        Thread(target=run, name="clearway-oidc", daemon=True).start()

    async def _wait(self) -> None:
        """Return when the fetch that is under way, if one is, has ended. ControllerError: it failed, or takes long."""
        fetch = self._fetch
        if fetch is None:
            return
        if self._waiting >= MOST_WAITING:
            raise self._fault(f"{MOST_WAITING} requests wait for them")
        self._waiting += 1
        try:
            done, _ = await asyncio.wait({asyncio.wrap_future(fetch)}, timeout=WAIT_S)
        finally:
            self._waiting -= 1
        if not done:
            raise self._fault(f"it has not answered for {WAIT_S:g} s")
        self._take(fetch)

    def _take(self, fetch: Future[Keys | str]) -> None:
        """Have what was fetched, once; raise what it failed with."""
        found = fetch.result()
        if fetch is not self._taken:
            self._taken = fetch
            self._next_s = time.monotonic() + (RETRY_S if isinstance(found, str) else RENEW_S)
        if isinstance(found, str):
            raise self._fault(found)
        self._keys = found

    def _fault(self, why: str) -> ControllerError:
        return ControllerError(f"the keys of {self._said.issuer} cannot be had: {why}")

    def _fetched(self) -> Keys:
        try:
            about = _json(self._said.issuer + "/.well-known/openid-configuration")
            if about["issuer"] != self._said.issuer:
                raise ControllerError(f"the issuer calls itself {about['issuer']!r}")
            found = _json(str(about["jwks_uri"]))["keys"]
            return {str(key.get("kid", "")): jwt.PyJWK(key) for key in found if key.get("use", "sig") == "sig"}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, jwt.PyJWTError) as error:
            raise ControllerError(str(error)) from error


def _json(url: str) -> Any:  # noqa: ANN401  whatever the issuer says
    if not url.startswith(("https://", "http://127.0.0.1:", "http://localhost:", "http://[::1]:")):
        raise ControllerError(f"{url}: keys come by https")
    end_s = time.monotonic() + FETCH_S
    with _OPENER.open(url, timeout=FETCH_S) as answer:
        found = bytearray()
        while (piece := answer.read1(PIECE_BYTES)) and len(found) <= MOST_BYTES:
            found += piece
            if time.monotonic() > end_s:
                raise ControllerError(f"{url} takes longer than {FETCH_S:g} s")
        return json.loads(found)
