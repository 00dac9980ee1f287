"""Where spans go."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from clearway.model import values as v
from clearway.model.errors import InputError
from clearway.model.words import Word, read_words


class Telemetry(msgspec.Struct, frozen=True):
    """A collector that speaks OTLP over HTTP, and the file with the token that it wants to see."""

    endpoint: str
    token_file: Path | None = None

    def headers(self) -> dict[str, str]:
        """Return what each request shows. Raises InputError where the token cannot be read."""
        if self.token_file is None:
            return {}
        return {"Authorization": f"Bearer {read_secret('token_file', self.token_file)}"}


def read_url(field: str, value: object) -> str:
    """Read `http://..` or `https://..` without user and password: these belong into a file."""
    said = v.text(field, value)
    parts = urlsplit(said)
    try:
        port_fits = parts.port is None or parts.port > 0
    except ValueError:
        port_fits = False
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_fits:
        raise InputError(field, said, "http://HOST:PORT/PATH or https://HOST:PORT/PATH")
    if parts.username is not None or parts.password is not None:
        raise InputError(field, "another text", "no user and no password in the address: name a file that holds them")
    return said


def read_file(field: str, value: object) -> Path:
    """Read the whole path of a file."""
    found = Path(v.name(field, value)).expanduser()
    if not found.is_absolute():
        raise InputError(field, str(value), "a path that begins with / or ~")
    return found


def read_secret(field: str, path: Path) -> str:
    """Return the text of a file that holds a secret. InputError where it cannot be read or is empty."""
    try:
        found = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(field, str(path), f"a file that can be read: {error}") from error
    if not found:
        raise InputError(field, str(path), "a file that is not empty")
    return found


TELEMETRY_WORDS: dict[str, Word] = {
    "endpoint": Word(read_url, "address", "where a collector takes OTLP over HTTP; /v1/traces is put behind it"),
    "token_file": Word(read_file, "path", "a file with a token that is shown as `Authorization: Bearer ..`"),
}


def read_telemetry(field: str, value: object) -> Telemetry:
    """Read `{endpoint: .., token_file: ..}`. Raises InputError."""
    found = read_words(field, value, TELEMETRY_WORDS)
    if "endpoint" not in found:
        raise InputError("endpoint", None, "http://HOST:PORT", field)
    return Telemetry(**found)
