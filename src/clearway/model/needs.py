"""What tasks took beside what they asked for, and what such a job is thought to need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clearway.model.job import Demand, JobSpec, Role

WORDS = ("memory", "gpu_memory", "cpus", "gpus")
"""The words of a job that can be compared with what was measured: bytes, thousandths of a CPU, whole devices."""


class Amounts(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """So much of each of WORDS for one task; None where nothing is known of it."""

    memory: int | None = None
    gpu_memory: int | None = None
    cpus: int | None = None
    gpus: int | None = None

    def of(self, word: str) -> int | None:
        """Return the amount of one word."""
        found: int | None = getattr(self, word)
        return found


class Took(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What one of the tasks of a role took at most in an attempt (`took`), beside what each of them had (`had`).

    `oom`: one of them ran out of memory, so that it would have taken more; `lowered`: it had less than it asks for.
    """

    role: str
    tasks: int
    had: Amounts
    took: Amounts
    oom: bool = False
    lowered: bool = False


class Need(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What is thought to be `enough` of a word for one task of a role that asks for another amount.

    `most`: 95 in 100 of the last `runs` of the like (`basis`: which these were) took at most that; `ooms`: so many ran
    out of it since one last did well with more. `own`: all of them were runs of the same user's. `applied`: the job
    has `enough` instead of what it asks for.
    """

    role: str
    word: str
    asked: int
    enough: int
    most: int = 0
    runs: int = 0
    basis: str = ""
    ooms: int = 0
    own: bool = False
    applied: bool = False


def asked_of(role: Role) -> Amounts:
    """Return what each task of a role asks for."""
    demand = role.demand
    return Amounts(demand.memory, demand.gpu_memory, demand.cpus, demand.gpus)


def sized(spec: JobSpec, needs: Iterable[Need]) -> JobSpec:
    """Return a job with what is enough where that is applied, and with what it asks for where it is not."""
    roles = sized_roles(spec.roles, needs)
    return spec if roles == spec.roles else replace(spec, roles=roles)


def sized_roles(roles: tuple[Role, ...], needs: Iterable[Need]) -> tuple[Role, ...]:
    """Return the roles of a job in the same way."""
    by_role: dict[str, dict[str, int]] = {}
    for need in needs:
        by_role.setdefault(need.role, {})[need.word] = need.enough if need.applied else need.asked
    return tuple(
        replace(role, demand=_with(role.demand, by_role[role.name])) if role.name in by_role else role for role in roles
    )


def _with(demand: Demand, amounts: dict[str, int]) -> Demand:
    return replace(demand, **amounts)


def as_asked(needs: Iterable[Need]) -> tuple[Need, ...]:
    """Return needs of which none is applied."""
    return tuple(replace(need, applied=False) for need in needs)
