"""The settings of who may come in from where: addresses, TLS, a reverse proxy, an issuer of identities."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from clearway.model import values as v
from clearway.model.errors import InputError
from clearway.model.words import Word, read_words

LOOPBACK = ("127.0.0.1", "localhost", "::1")
ROLES = ("viewer", "submitter", "operator", "admin")
MAX_RATE = 1_000_000


class Oidc(msgspec.Struct, frozen=True):
    """Whose identities are believed. `roles` maps a value of the claim `role` to a role; others have `other`."""

    issuer: str
    audience: str
    user: str = "sub"
    role: str = ""
    tenant: str = ""
    roles: tuple[tuple[str, str], ...] = ()
    other: str = ""


def read_listen(field: str, value: object) -> tuple[str, int]:
    """Read `ADDRESS:PORT`; port 0 lets the system choose. What holds beyond loopback is looked at by `check_reach`."""
    rule = "ADDRESS:PORT like 127.0.0.1:8080, [::1]:8080 or 0.0.0.0:8443, with a port from 0 to 65535"
    host, _, port = v.text(field, value).rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not _is_address(host) or not port.isascii() or not port.isdigit() or int(port) >= 2**16:
        raise InputError(field, value, rule)
    return host, int(port)


def _is_address(host: str) -> bool:
    try:
        return host == "localhost" or bool(ipaddress.ip_address(host))
    except ValueError:
        return False


def read_tls(field: str, value: object) -> tuple[Path, Path]:
    """Read `{cert: FILE, key: FILE}`."""
    words = {"cert": Word(_path, "text", "certificate chain"), "key": Word(_path, "text", "its private key")}
    found = read_words(field, value, words)
    if set(found) != set(words):
        raise InputError(field, value, "{cert: FILE, key: FILE}, both in PEM")
    return found["cert"], found["key"]


def _path(field: str, value: object) -> Path:
    found = Path(v.name(field, value)).expanduser()
    if not found.is_absolute():
        raise InputError(field, value, "a path that begins with / or ~")
    return found


def read_proxies(field: str, value: object) -> tuple[str, ...]:
    """Read the addresses or networks of the reverse proxies that are believed."""
    found = v.names(field, value)
    for one in found:
        try:
            ipaddress.ip_network(one)
        except ValueError:
            raise InputError(field, one, "an address or a network, like 10.0.0.5 or 10.0.0.0/24") from None
    return tuple(found)


def read_url(field: str, value: object) -> str:
    """Read an address of HTTP: https, or http on loopback."""
    said = v.text(field, value)
    parts = urlsplit(said)
    plain = parts.scheme == "http" and parts.hostname in LOOPBACK
    if not parts.hostname or not (parts.scheme == "https" or plain) or parts.query or parts.fragment:
        raise InputError(field, value, "https://HOST, or http on loopback")
    return said.rstrip("/")


def read_rate(field: str, value: object) -> int:
    """Read how many requests a second are allowed."""
    return v.count(field, value, 1, MAX_RATE)


def _roles(field: str, value: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, dict):
        raise InputError(field, value, "{VALUE: ROLE, ..}")
    return tuple((v.name(field, claim), v.choice(field, role, ROLES)) for claim, role in value.items())


OIDC_WORDS = {
    "issuer": Word(read_url, "text", "its address, below which /.well-known/openid-configuration lies"),
    "audience": Word(v.name, "text", "for whom its tokens are made"),
    "user": Word(v.name, "text", "the claim that names the user [sub]"),
    "role": Word(v.name, "text", "the claim that decides the role: a text or a list"),
    "tenant": Word(v.name, "text", "the claim that names the tenant"),
    "roles": Word(_roles, "nested", "which value of that claim is which role"),
    "other": Word(lambda field, value: v.choice(field, value, ROLES), "text", "the role of everybody else [none]"),
}


def read_oidc(field: str, value: object) -> Oidc:
    """Read whose identities are believed."""
    found: dict[str, Any] = read_words(field, value, OIDC_WORDS)
    for word in ("issuer", "audience"):
        if word not in found:
            raise InputError(word, None, "an issuer has one", field)
    if not found.get("other") and not (found.get("role") and found.get("roles")):
        raise InputError("roles", None, "`role` and `roles`, or `other`: else nobody would have a role", field)
    return Oidc(**found)


def check_reach(listen: tuple[str, int] | None, tls: object, behind_proxy: object) -> None:
    """Raise InputError where others than this machine could come in and a token would travel in clear."""
    if listen is not None and listen[0] not in LOOPBACK and not tls and not behind_proxy:
        rule = "beyond loopback with tls: {cert, key}, or with behind_proxy: [ADDRESS] of what speaks TLS before it"
        raise InputError("listen", f"{listen[0]}:{listen[1]}", rule)
