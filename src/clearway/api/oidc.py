"""Identities that an issuer vouches for: signed tokens (JWT), checked with the keys that it publishes.

Loaded where the settings name an issuer. The keys are fetched when they are first needed, kept, and fetched again
when an unknown one signs, at most once in RENEW_S.
"""

from __future__ import annotations

import json
import time
import urllib.request
from threading import Lock
from typing import TYPE_CHECKING, Any

import jwt

from clearway.api.who import Role, Who
from clearway.model.errors import ControllerError

if TYPE_CHECKING:
    from clearway.config.access_words import Oidc

ALGORITHMS = {"RSA": ["RS256", "RS384", "RS512", "PS256"], "EC": ["ES256", "ES384"]}
"""By the kind of key. Only signatures by keys of which the issuer alone has the secret half."""
LEEWAY_S = 30
RENEW_S = 60.0
FETCH_S = 10.0
MOST_BYTES = 2**20


class _Stays(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: keys come from the very addresses that are looked at."""

    def redirect_request(self, *_: object) -> None:
        """Go nowhere else."""


_OPENER = urllib.request.build_opener(_Stays)


class Issuer:
    """One issuer. `who` may fetch from it: not to be called in the thread that serves HTTP."""

    def __init__(self, said: Oidc) -> None:
        """Fetch nothing yet."""
        self._said, self._lock = said, Lock()
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched_s: float | None = None

    def who(self, token: str, address: str) -> Who | None:
        """Return whom a token is of; None where it is not good, or gives no role. ControllerError: no keys."""
        try:
            key = self._key(str(jwt.get_unverified_header(token).get("kid", "")))
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
        return Who(name, max(roles), tenant, "oidc", f"oidc {name}", frozenset(), address)

    def _key(self, kid: str) -> jwt.PyJWK | None:
        with self._lock:
            late = self._fetched_s is None or time.monotonic() - self._fetched_s >= RENEW_S
            if kid not in self._keys and late:
                self._fetched_s = time.monotonic()
                self._keys = self._fetched()
            return self._keys.get(kid)

    def _fetched(self) -> dict[str, jwt.PyJWK]:
        try:
            about = _json(self._said.issuer + "/.well-known/openid-configuration")
            if about["issuer"] != self._said.issuer:
                raise ControllerError(f"the issuer {self._said.issuer} calls itself {about['issuer']!r}")
            found = _json(str(about["jwks_uri"]))["keys"]
            return {str(key.get("kid", "")): jwt.PyJWK(key) for key in found if key.get("use", "sig") == "sig"}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, jwt.PyJWTError) as error:
            raise ControllerError(f"the keys of {self._said.issuer} cannot be had: {error}") from error


def _json(url: str) -> Any:  # noqa: ANN401  whatever the issuer says
    if not url.startswith(("https://", "http://127.0.0.1:", "http://localhost:", "http://[::1]:")):
        raise ControllerError(f"{url}: keys come by https")
    with _OPENER.open(url, timeout=FETCH_S) as answer:
        return json.loads(answer.read(MOST_BYTES))
