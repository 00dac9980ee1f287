"""Who asks: known from the door on, for as long as a request is answered."""

from __future__ import annotations

from contextvars import ContextVar
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from clearway.model.errors import NotAllowedError

if TYPE_CHECKING:
    from collections.abc import Iterable


class Role(IntEnum):
    """What somebody may do; each may also do what those before it may."""

    viewer = 1
    """Look at everything."""
    submitter = 2
    """Enter jobs of the own tenant, and change those."""
    operator = 3
    """Change anybody's jobs, queues, nodes and bookings, and read who changed what."""
    admin = 4
    """Everything, also tokens and the controller itself."""


class Who(NamedTuple):
    """A person or a program. `via`: how it came in; `key`: what its rate is counted by; `scopes`: only these nouns.

    `root` is the token, or whom an issuer vouched for, by which it came in before all: kept by the sessions and links
    that follow from it, however many stand between, and empty for the owner.
    """

    name: str
    role: Role
    tenant: str = ""
    via: str = "socket"
    key: str = ""
    scopes: frozenset[str] = frozenset()
    address: str = ""
    until_us: int | None = None
    """When this way in ends: what is handed on (a link, a session) ends then at the latest."""
    root: str = ""

    def owns(self, user: str, tenant: str) -> bool:
        """Whether somebody's work is in its hands: everybody's for operators, else its tenant's, else its own."""
        if self.role >= Role.operator:
            return True
        return tenant == self.tenant if self.tenant else user == self.name

    def check_owns(self, owners: Iterable[tuple[str, str]], what: str) -> None:
        """Raise NotAllowedError for work of others, given as pairs of user and tenant."""
        if not all(self.owns(user, tenant) for user, tenant in owners):
            mine = f"of tenant {self.tenant!r}" if self.tenant else f"of user {self.name!r}"
            raise NotAllowedError(f"{what} is not {mine}; a {self.role.name} changes no other's work")


WHO: ContextVar[Who] = ContextVar("who")
NOTES: ContextVar[dict[str, Any]] = ContextVar("notes")


def noted(**what: object) -> None:
    """Add to the line that says who changed what: what a request was about."""
    NOTES.get({}).update(what)
