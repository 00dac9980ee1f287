"""Records of policies that are tried, promoted and taken back. What the settings say is a `PolicyChanged`."""

from __future__ import annotations

import msgspec

from clearway.model.fleet import PolicySpec
from clearway.model.policies import Guard, Named, Worse


class _Record(msgspec.Struct, frozen=True, tag=True):
    at_us: int


class ShadowSet(_Record, frozen=True, tag=True):
    """A policy decides beside the one in force from now on, without acting."""

    name: str
    policy: PolicySpec
    by: str = ""


class ShadowEnded(_Record, frozen=True, tag=True):
    """None decides beside the one in force any more; a guard that went by it is over, too."""

    name: str
    by: str = ""


class Promoted(_Record, frozen=True, tag=True):
    """The candidate is in force from now on. The policy `before` it decides beside it, for the guard."""

    name: str
    policy: PolicySpec
    before: Named
    guard: Guard
    by: str = ""


class RolledBack(_Record, frozen=True, tag=True):
    """The policy before the last promotion is in force again; `worse`: that is why the guard (`by` "") did it."""

    name: str
    policy: PolicySpec
    by: str = ""
    worse: Worse | None = None


class GuardEnded(_Record, frozen=True, tag=True):
    """The time of a guard is over, and the promoted policy stays."""

    name: str


PolicyRecord = ShadowSet | ShadowEnded | Promoted | RolledBack | GuardEnded
