"""Where secrets are kept: one file each, which only the user of the controller can read, outside the journal.

HOME/secrets/
├── user-DIGEST/NAME      what the jobs of one user may have
└── tenant-DIGEST/NAME    what the jobs of all users of one tenant may have

No value is ever read here: the process that becomes a job's task reads it, and nobody else. Names of users and tenants
are any text, so a folder is called by a digest of its.
"""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from clearway.model.errors import InputError, NotFoundError, StoreError
from clearway.model.secret_words import secret_name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FOLDER = "secrets"
USER, TENANT = "user", "tenant"
MOST_BYTES = 64 * 1024
"""A variable of an environment may have no more than 128 KiB on Linux."""
_FINE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DIGITS = 32


def folder_of(home: Path, kind: str, name: str) -> Path:
    """Return where the secrets of a user or a tenant lie, be there any or not."""
    return home / FOLDER / f"{kind}-{hashlib.sha256(name.encode()).hexdigest()[:_DIGITS]}"


def places_of(home: Path, secret: str, user: str, tenant: str) -> list[Path]:
    """Return where a job of a user finds a secret: the user's own comes before the tenant's."""
    owners = [(USER, user), (TENANT, tenant)]
    return [folder_of(home, kind, name) / secret for kind, name in owners if name]


def check(home: Path, secrets: tuple[str, ...], user: str, tenant: str) -> None:
    """Raise InputError for the first secret of a job that is not there."""
    for secret in secrets:
        if not any(path.is_file() for path in places_of(home, secret, user, tenant)):
            raise InputError("secrets", secret, f"a secret that is set: clearway secret set {secret}")


def put(home: Path, kind: str, owner: str, secret: str, value: bytes) -> None:
    """Keep a secret in place of an earlier one. Raises InputError, which never shows the value, and StoreError."""
    secret_name("name", secret)
    _check_value(value)
    folder = folder_of(home, kind, owner)
    fresh = folder / f".{os.getpid()}-{os.urandom(4).hex()}"
    try:
        folder.parent.mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        with open(fresh, "xb", opener=_private) as file:
            file.write(value)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(folder / secret)
    except OSError as error:
        with suppress(OSError):
            fresh.unlink()
        raise StoreError(f"the secret {secret} cannot be kept in {folder}: {error.strerror}") from None


def names(home: Path, kind: str, owner: str) -> list[str]:
    """Return the names of the secrets of a user or a tenant, in order."""
    try:
        return sorted(_secrets(folder_of(home, kind, owner)))
    except OSError as error:
        raise StoreError(f"the secrets cannot be listed: {error.strerror}") from error


def remove(home: Path, kind: str, owner: str, secret: str) -> None:
    """Forget a secret. NotFoundError: there is none. Tasks that have it keep it."""
    secret_name("name", secret)
    try:
        (folder_of(home, kind, owner) / secret).unlink()
    except FileNotFoundError:
        raise NotFoundError(f"{kind} {owner!r} has no secret {secret}") from None
    except OSError as error:
        raise StoreError(f"the secret {secret} cannot be removed: {error.strerror}") from error


def _check_value(value: bytes) -> None:
    if not value or len(value) > MOST_BYTES or b"\0" in value:
        raise InputError("value", "(not shown)", f"1 to {MOST_BYTES} bytes without zero bytes")


def _secrets(folder: Path) -> Iterator[str]:
    if folder.is_dir():
        yield from (path.name for path in folder.iterdir() if _FINE.fullmatch(path.name))


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
