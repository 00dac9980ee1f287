"""Tenants: which users belong to which, and which queues are theirs alone.

Without tenants in the settings every user may use every queue, and a job's `tenant` is whatever it says.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from clearway.model import values as v
from clearway.model.errors import InputError
from clearway.model.machine_words import QUEUE_WORDS
from clearway.model.words import Word, named, read_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.model.job import JobSpec

_DEEPEST = 100  # of queues; more levels than that are a circle


class Tenant(msgspec.Struct, frozen=True):
    """One tenant: its users, the queues that it owns (with all below them), and job words for its users' jobs."""

    name: str
    users: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    defaults: bytes = b"{}"
    max_priority: int | None = None


TENANT_WORDS: dict[str, Word] = {
    "name": Word(v.name, "text", "name of the tenant"),
    "users": Word(v.names, "names", "who belongs to it"),
    "queues": Word(v.names, "names", "queues that are its own, with all below them"),
    "max_priority": Word(v.priority, "number", "highest priority that its submitters may ask for [the setting's]"),
    "defaults": Word(QUEUE_WORDS["defaults"].read, "nested", "job words for jobs of its users that do not say"),
}


def read_tenants(field: str, value: object) -> tuple[Tenant, ...]:
    """Read a list of tenants. A user belongs to one, and a queue is one's. Raises InputError."""
    if not isinstance(value, list | tuple):
        raise InputError(field, value, "a list")
    found = tuple(map(_read, value))
    for word in ("name", "users", "queues"):
        seen: set[str] = set()
        for tenant in found:
            said = (tenant.name,) if word == "name" else getattr(tenant, word)
            for one in said:
                if one in seen:
                    raise InputError(word, one, f"each stands once in all of {field}")
                seen.add(one)
    return found


def _read(raw: object) -> Tenant:
    given = read_words(named("tenant", raw), raw, TENANT_WORDS)
    if "name" not in given:
        raise InputError("name", None, "every tenant has a name", "tenants")
    return Tenant(**given)


def tenant_of(tenants: tuple[Tenant, ...], user: str) -> Tenant | None:
    """Return the tenant that a user belongs to; None: to none."""
    return next((tenant for tenant in tenants if user in tenant.users), None)


def owner_of(tenants: tuple[Tenant, ...], queue: str, parent: Callable[[str], str]) -> Tenant | None:
    """Return whose a queue is: the nearest upwards that somebody owns decides it; None: everybody's.

    `parent` tells the queue above one, "" where there is none.
    """
    at = queue
    for _ in range(_DEEPEST):
        owner = next((tenant for tenant in tenants if at in tenant.queues), None)
        if owner is not None or not at:
            return owner
        at = parent(at)
    return None


def defaults_of(tenants: tuple[Tenant, ...], user: str) -> dict[str, Any]:
    """Return the job words that hold for a user's jobs where neither they nor their queue say."""
    mine = tenant_of(tenants, user)
    return {} if mine is None else {**json.loads(mine.defaults), "tenant": mine.name}


def check_tenant(tenants: tuple[Tenant, ...], job: JobSpec) -> None:
    """Raise InputError for a job that names another tenant than its user's."""
    mine = tenant_of(tenants, job.user)
    if tenants and job.tenant != (mine.name if mine else ""):
        raise InputError("tenant", job.tenant, f"the tenant of its user: {_belongs(mine, job.user)}", f"job {job.name}")


def check_queue(tenants: tuple[Tenant, ...], user: str, queue: str, parent: Callable[[str], str], place: str) -> None:
    """Raise InputError where a user's job may not wait in a queue, since that is another tenant's."""
    mine, owner = tenant_of(tenants, user), owner_of(tenants, queue, parent)
    if owner is not None and owner != mine:
        own = f"a queue of its own tenant, or nobody's: this one belongs to tenant {owner.name!r}"
        raise InputError("queue", queue, f"{own}, and {_belongs(mine, user)}", place)


def _belongs(tenant: Tenant | None, user: str) -> str:
    return f"user {user!r} belongs to " + (f"tenant {tenant.name!r}" if tenant else "no tenant")
