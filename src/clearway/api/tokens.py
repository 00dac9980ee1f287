"""Tokens of people and programs: a role, a tenant and an end each. What is kept is the hash, never the token.

They are kept with the journal, so that a standby that takes over knows them.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from threading import Lock
from typing import TYPE_CHECKING, Protocol

import msgspec

from clearway.api.who import Role, Who
from clearway.model.errors import ConflictError, InputError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterable

KEY = "tokens"
PREFIX = "cw_"
BYTES = 32
MOST = 10_000
"""So many tokens there may be at most: each is a line in a note of the journal that is written whole."""


class Notes(Protocol):
    """Where a text is kept under a key."""

    def remember(self, key: str, text: str) -> None:
        """Keep a text in place of an earlier one."""
        ...

    def recall(self, key: str) -> str | None:
        """Return the text, None if there is none."""
        ...


class Token(msgspec.Struct, frozen=True, omit_defaults=True):
    """A token without its secret. `scopes`: only these nouns of the API, or all. Times in microseconds."""

    id: str
    digest: str
    user: str
    role: str
    tenant: str
    created_us: int
    expires_us: int | None = None
    scopes: tuple[str, ...] = ()
    by: str = ""

    def who(self, address: str) -> Who:
        """Return who shows it."""
        scopes = frozenset(self.scopes)
        via, until_us = f"token {self.id}", self.expires_us
        return Who(self.user, Role[self.role], self.tenant, via, self.id, scopes, address, until_us, self.id)


class Tokens:
    """All tokens of a controller."""

    def __init__(self, notes: Notes) -> None:
        """Read those that are there."""
        self._notes, self._lock = notes, Lock()
        kept = notes.recall(KEY)
        found = msgspec.json.decode(kept, type=list[Token]) if kept else []
        self._all = {token.digest: token for token in found}

    def all(self) -> list[Token]:
        """Return them, the oldest first."""
        return sorted(list(self._all.values()), key=lambda token: (token.created_us, token.id))  # noqa: C414  a copy

    def add(self, token: Token) -> str:
        """Keep a new token (its id and digest are made here), and return its secret: nobody can tell it again."""
        secret = PREFIX + secrets.token_urlsafe(BYTES)
        digest = digest_of(secret)
        with self._lock:
            if len(self._all) >= MOST:
                raise ConflictError(f"there are {MOST} tokens: revoke some")
            self._keep([*self._all.values(), msgspec.structs.replace(token, id=digest[:8], digest=digest)])
        return secret

    def revoke(self, ident: str) -> Token:
        """Forget a token. NotFoundError: there is none of this id."""
        with self._lock:
            gone = next((token for token in self._all.values() if token.id == ident), None)
            if gone is None:
                raise NotFoundError(f"there is no token {ident!r}")
            self._keep(token for token in self._all.values() if token is not gone)
        return gone

    def find(self, secret: str, now_us: int) -> Token | None:
        """Return the token of a secret; None where there is none, or its time is over."""
        digest = digest_of(secret)
        token = self._all.get(digest)
        if token is None or not hmac.compare_digest(token.digest, digest):
            return None
        return token if token.expires_us is None or now_us < token.expires_us else None

    def _keep(self, tokens: Iterable[Token]) -> None:
        left = {token.digest: token for token in tokens}
        self._notes.remember(KEY, msgspec.json.encode(list(left.values())).decode())
        self._all = left


def digest_of(secret: str) -> str:
    """Return what is kept of a secret of 256 random bits: no salt and no slow hash can make it harder to find."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def role_of(field: str, value: object) -> Role:
    """Read the name of a role. Raises InputError."""
    if isinstance(value, str) and value in Role.__members__:
        return Role[value]
    raise InputError(field, value, "one of " + ", ".join(Role.__members__))
