"""How it is shown which policy is in force, why, and what is tried beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway.api.moments import iso
from clearway.api.rows import policy_words
from clearway.loop.planned import hash_of
from clearway.model.values import SECOND_US
from clearway.policies.registry import BUNDLES, name_of

if TYPE_CHECKING:
    from clearway.model.fleet import PolicySpec
    from clearway.model.policies import Candidate, Guard, PolicyChange, PolicyStanding, Worse


def policy_row(spec: PolicySpec | None, standing: PolicyStanding, blind: str = "") -> dict[str, Any]:
    """Return the policy in force, with all its words; None: none was ever set. `blind`: why its guard sees nothing."""
    return {
        "name": next((name for name, bundle in BUNDLES.items() if bundle == spec), None),
        "called": standing.name or None,
        "words": None if spec is None else policy_words(spec),
        "hash": None if spec is None else hash_of(spec),
        "since": iso(standing.since_us) if standing.since_us else None,
        "how": standing.how,
        "by": standing.by or None,
        "settings": None if standing.settings is None else name_of(standing.settings),
        "before": None if standing.before is None else standing.before.name,
        "candidate": None if standing.candidate is None else candidate_row(standing.candidate),
        "guard": None if standing.guard is None else guard_row(standing.guard, blind),
        "changes": [_change(one) for one in reversed(standing.changes)],
    }


def candidate_row(one: Candidate) -> dict[str, Any]:
    """Return a policy that is tried."""
    words = policy_words(one.policy)
    return {"name": one.name, "words": words, "since": iso(one.since_us), "by": one.by or None, "record": one.record}


def guard_row(one: Guard, blind: str = "") -> dict[str, Any]:
    """Return what a guard bears, and why it sees nothing now; times in seconds."""
    return {
        "until": iso(one.until_us), "bound": one.percent, "least_s": one.least_us / SECOND_US, "jobs": one.jobs,
        "blind": blind or None,
    }  # fmt: skip


def _change(one: PolicyChange) -> dict[str, Any]:
    worse = None if one.worse is None else worse_row(one.worse)
    return {"at": iso(one.at_us), "what": one.what, "name": one.name, "by": one.by or None, "worse": worse}


def worse_row(one: Worse) -> dict[str, Any]:
    """Return who was found to wait longer; times in seconds."""
    return {
        "tenant": one.tenant or None, "jobs": one.jobs, "wait_s": one.wait_us / SECOND_US,
        "would_s": one.would_us / SECOND_US,
    }  # fmt: skip
