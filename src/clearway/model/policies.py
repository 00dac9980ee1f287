"""Which policy is in force and why, which one is tried beside it, and what guards a change of it."""

from __future__ import annotations

import msgspec

from clearway.model.fleet import PolicySpec
from clearway.model.values import SECOND_US

MOST_CHANGES = 20
"""So many of the last changes are told; all of them are in the journal."""
SETTINGS, PROMOTED, ROLLED_BACK = "settings", "promoted", "rolled back"
"""How a policy came to be in force."""
PERCENT, LEAST_US, JOBS = 20, 60 * SECOND_US, 20
"""What a guard bears where nobody says otherwise: as many jobs as make a mean, a minute as worth a rollback."""
FOR_US = 7 * 86_400 * SECOND_US


class Guard(msgspec.Struct, frozen=True, omit_defaults=True):
    """When a promoted policy is taken back: until `until_us`, where a tenant waits that much longer than it would.

    Both must be so of the mean wait: `percent` longer than under the policy before, and by `least_us`; of at least
    `jobs` of its jobs.
    """

    until_us: int
    percent: int = PERCENT
    least_us: int = LEAST_US
    jobs: int = JOBS


class Worse(msgspec.Struct, frozen=True):
    """Of whom it was found that he waits longer: so many jobs, their mean wait, and what it would have been."""

    tenant: str
    jobs: int
    wait_us: int
    would_us: int


class Named(msgspec.Struct, frozen=True):
    """A policy and what people call it."""

    name: str
    policy: PolicySpec


class Candidate(msgspec.Struct, frozen=True, omit_defaults=True):
    """A policy that decides beside the one in force, since record `record` of the journal."""

    name: str
    policy: PolicySpec
    since_us: int
    record: int
    by: str = ""


class PolicyChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """One change: `what` was done with the policy of this name, by whom ("": by a rule), and what led to it."""

    at_us: int
    what: str
    name: str
    by: str = ""
    worse: Worse | None = None


class PolicyStanding(msgspec.Struct, frozen=True, omit_defaults=True):
    """How it stands. `settings` is the policy that the settings named last, `how` one of those above.

    `before` is what a rollback puts in force again. `promoted` is the record of the promotion that `guard` guards.
    """

    settings: PolicySpec | None = None
    how: str = SETTINGS
    name: str = ""
    since_us: int = 0
    by: str = ""
    candidate: Candidate | None = None
    before: Named | None = None
    guard: Guard | None = None
    promoted: int = 0
    changes: tuple[PolicyChange, ...] = ()


# --- what people ask -----------------------------------------------------------------------------


class SetShadow(msgspec.Struct, frozen=True):
    """Have a policy decide beside the one in force, without acting. Answer: None."""

    name: str
    policy: PolicySpec
    by: str = ""


class EndShadow(msgspec.Struct, frozen=True):
    """Have none decide beside it any more; a guard that needs it is over then. Answer: None."""

    by: str = ""


class Promote(msgspec.Struct, frozen=True):
    """Put the candidate in force; the policy before it becomes the candidate, for the guard. Answer: None.

    `for_us`: so long the guard looks.
    """

    for_us: int = FOR_US
    percent: int = PERCENT
    least_us: int = LEAST_US
    jobs: int = JOBS
    by: str = ""


class Rollback(msgspec.Struct, frozen=True):
    """Put the policy before the last promotion in force again. Answer: None.

    `worse` is why the guard asks, about the promotion of record `promoted`; of another one it is refused.
    """

    by: str = ""
    promoted: int = 0
    worse: Worse | None = None
