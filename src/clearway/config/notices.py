"""Who is told of what: webhooks and mail."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from clearway.config.telemetry import read_file, read_url
from clearway.model import values as v
from clearway.model.errors import InputError
from clearway.model.words import Word, read_words

if TYPE_CHECKING:
    from collections.abc import Iterable

OF_JOBS = ("started", "succeeded", "failed", "cancelled", "preempted", "evicted", "lost", "timed_out")
KINDS = (*OF_JOBS, "deadline", "idle", "overrun", "stalled", "budget", "policy", "waste", "drift", "trouble")
"""What can be told: the moves of jobs, deadlines at risk or missed, jobs whose devices idle, that run far too long
or go on no more, budgets that are used, policies that are promoted and taken back, GPUs that idle while jobs wait, run
times that have changed, trouble.
"""
USUAL = ("failed", "deadline", "trouble")
SMTP, SMTPS = 587, 465


class Webhook(msgspec.Struct, frozen=True):
    """An address that takes notices as JSON, signed with the secret of a file."""

    url: str
    secret_file: Path
    on: tuple[str, ...] = USUAL
    queues: tuple[str, ...] = ()
    allow_private: bool = False


class Mail(msgspec.Struct, frozen=True):
    """A mail server, and who gets mail. `tls`: `starttls`, `tls` from the first byte, or `none`."""

    server: tuple[str, int]
    sender: str
    recipients: tuple[str, ...]
    on: tuple[str, ...] = USUAL
    queues: tuple[str, ...] = ()
    tls: str = "starttls"
    user: str = ""
    password_file: Path | None = None


def _kinds(field: str, value: object) -> tuple[str, ...]:
    return tuple(v.choice(field, one, KINDS) for one in v.names(field, value))


def _server(field: str, value: object) -> tuple[str, int]:
    host, colon, port = v.text(field, value).rpartition(":")
    if not colon:
        host, port = port, str(SMTP)
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 2**16:
        raise InputError(field, value, "HOST, or HOST:PORT")
    return host, int(port)


def _address(field: str, value: object) -> str:
    said = v.text(field, value)
    name, at, domain = said.rpartition("@")
    if not (name and at and domain) or any(not c.isprintable() or c in ' ,;<>"' for c in said):
        raise InputError(field, said, "NAME@DOMAIN")
    return said


def _addresses(field: str, value: object) -> tuple[str, ...]:
    found = tuple(_address(field, one) for one in v.names(field, value))
    if not found:
        raise InputError(field, value, "one address or more")
    return found


def _tls(field: str, value: object) -> str:
    return v.choice(field, value, ("starttls", "tls", "none"))


_BOTH = {
    "on": Word(_kinds, "names", f"what is told: {', '.join(KINDS)}; by default {', '.join(USUAL)}"),
    "queues": Word(v.names, "names", "of jobs, only those of these queues; by default all"),
}
WEBHOOK_WORDS: dict[str, Word] = {
    "webhook": Word(read_url, "address", "where notices are sent as JSON"),
    "secret_file": Word(read_file, "path", "a file with the secret that signs them"),
    "allow_private": Word(
        v.flag, "yes or no", "also where the address is not a public one: this machine, a private net"
    ),
    **_BOTH,
}
MAIL_WORDS: dict[str, Word] = {
    "mail": Word(_addresses, "addresses", "who gets mail"),
    "server": Word(_server, "host:port", "the mail server; without a port 587"),
    "from": Word(_address, "address", "from whom"),
    "tls": Word(_tls, "`starttls`, `tls`, `none`", "how the connection is secured"),
    "user": Word(v.name, "text", "as whom to log in"),
    "password_file": Word(read_file, "path", "a file with the password for that"),
    **_BOTH,
}
_INSIDE = {"webhook": "url", "mail": "recipients", "from": "sender"}


def read_notices(field: str, value: object) -> tuple[Webhook | Mail, ...]:
    """Read a list of `{webhook: .., ..}` and `{mail: .., ..}`. Raises InputError."""
    if not isinstance(value, list | tuple):
        raise InputError(field, value, "a list")
    return tuple(_read(f"{field}[{at}]", raw) for at, raw in enumerate(value))


def _read(place: str, raw: object) -> Webhook | Mail:
    if not isinstance(raw, dict) or len({"webhook", "mail"} & set(raw)) != 1:
        raise InputError("notices", raw, "each is {webhook: ADDRESS, ..} or {mail: [..], ..}", place)
    if "webhook" in raw:
        given = read_words(place, raw, WEBHOOK_WORDS)
        return Webhook(**_whole(given, ("webhook", "secret_file"), place))
    given = read_words(place, raw, MAIL_WORDS)
    if ("user" in given) != ("password_file" in given):
        raise InputError("user", given.get("user"), "user and password_file go together", place)
    if given.get("tls") == "none" and "user" in given:
        raise InputError("tls", "none", "starttls or tls where a password is sent", place)
    return Mail(**_whole(given, ("mail", "server", "from"), place))


def _whole(given: dict[str, Any], needed: Iterable[str], place: str) -> dict[str, Any]:
    for word in needed:
        if word not in given:
            raise InputError(word, None, "this word is needed", place)
    return {_INSIDE.get(word, word): value for word, value in given.items()}
