"""Policies by people: tried beside the one in force, promoted, taken back; and what a guard has done by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from clearway.model import events as ev
from clearway.model import policies as p
from clearway.model import policy_events as pe
from clearway.model.asks import SetPolicy
from clearway.model.errors import ConflictError, InputError
from clearway.policies.registry import name_of, rules_for

if TYPE_CHECKING:
    from clearway.loop.world import World
    from clearway.model.fleet import PolicySpec

Ask = SetPolicy | p.SetShadow | p.EndShadow | p.Promote | p.Rollback
MOST_PERCENT = 100_000


def _set_policy(world: World, policy: PolicySpec) -> None:
    """Take in what the settings say: what they said before does not undo what was promoted since."""
    rules_for(policy)
    standing = world.state.policies
    if standing.how == p.SETTINGS or standing.settings != policy:
        world.emit(ev.PolicyChanged(world.now_us, policy))


def answer(world: World, ask: Ask) -> None:
    """Carry out what the settings say, or a person or the guard asks."""
    match ask:
        case SetPolicy():
            _set_policy(world, ask.policy)
        case p.SetShadow():
            _set_shadow(world, ask)
        case p.EndShadow():
            candidate = world.state.policies.candidate
            if candidate is None:
                raise ConflictError("no policy decides beside the one in force")
            world.emit(pe.ShadowEnded(world.now_us, candidate.name, ask.by))
        case p.Promote():
            _promote(world, ask)
        case p.Rollback():
            _rollback(world, ask)


def _set_shadow(world: World, ask: p.SetShadow) -> None:
    rules_for(ask.policy)
    if ask.policy.estimate == "oracle":
        raise InputError("estimate", "oracle", "user or forecast: only a replay knows how long a job really runs")
    if world.state.policies.guard is not None:
        raise ConflictError(
            "the guard goes by the policy before the promotion: clearway policy rollback ends that, too"
        )
    if ask.policy == world.policy:
        raise InputError("policy", ask.name, "another one than the policy in force")
    world.emit(pe.ShadowSet(world.now_us, ask.name, ask.policy, ask.by))


def _promote(world: World, ask: p.Promote) -> None:
    standing = world.state.policies
    candidate = standing.candidate
    if candidate is None:
        raise ConflictError("no policy decides beside the one in force: clearway policy shadow POLICY first")
    if standing.guard is not None:
        raise ConflictError(f"{candidate.name} was in force before: clearway policy rollback puts it in force again")
    for field, value, least, most in (
        ("bound", ask.percent, 1, MOST_PERCENT), ("jobs", ask.jobs, 1, 1 << 31), ("for", ask.for_us, 1, 1 << 52),
        ("least", ask.least_us, 0, 1 << 52),
    ):  # fmt: skip
        if not least <= value <= most:
            raise InputError(field, value, f"at least {least} and at most {most}")
    guard = p.Guard(world.now_us + ask.for_us, ask.percent, ask.least_us, ask.jobs)
    before = p.Named(standing.name or name_of(world.policy), world.policy)
    world.emit(pe.Promoted(world.now_us, candidate.name, candidate.policy, before, guard, ask.by))


def _rollback(world: World, ask: p.Rollback) -> None:
    standing = world.state.policies
    if standing.before is None:
        raise ConflictError("no policy was promoted that could be taken back")
    if ask.worse is not None and (standing.guard is None or standing.promoted != ask.promoted):
        raise ConflictError("what the guard looked at is not in force any more")
    world.emit(pe.RolledBack(world.now_us, standing.before.name, standing.before.policy, ask.by, ask.worse))


def guard_due(world: World) -> None:
    """End a guard whose time is over."""
    standing = world.state.policies
    if standing.guard is not None and standing.guard.until_us <= world.now_us:
        world.emit(pe.GuardEnded(world.now_us, standing.name))


# --- how records change how it stands ------------------------------------------------------------


def begun(policy: PolicySpec) -> p.PolicyStanding:
    """Return how it stands before anything was changed."""
    return p.PolicyStanding(name=name_of(policy))


def after(standing: p.PolicyStanding, record: ev.PolicyChanged | pe.PolicyRecord, number: int) -> p.PolicyStanding:
    """Return how it stands behind a record, which is the `number`-th of the journal."""
    at_us = record.at_us
    match record:
        case ev.PolicyChanged():
            candidate = standing.candidate if standing.guard is None else None
            if candidate is not None:  # it is compared with another one from here on
                candidate = None if candidate.policy == record.policy else replace(candidate, record=number)
            found = p.PolicyStanding(record.policy, name=name_of(record.policy), since_us=at_us, candidate=candidate)
            return _noted(found, standing, p.PolicyChange(at_us, "set by the settings", found.name))
        case pe.ShadowSet():
            candidate = p.Candidate(record.name, record.policy, at_us, number, record.by)
            change = p.PolicyChange(at_us, "tried beside it", record.name, record.by)
            return _noted(replace(standing, candidate=candidate), standing, change)
        case pe.ShadowEnded():
            change = p.PolicyChange(at_us, "tried no longer", record.name, record.by)
            return _noted(replace(standing, candidate=None, guard=None), standing, change)
        case pe.Promoted():
            return _promoted(standing, record, number)
        case pe.RolledBack():
            found = replace(
                standing, how=p.ROLLED_BACK, name=record.name, since_us=at_us, by=record.by, candidate=None,
                before=None, guard=None,
            )  # fmt: skip
            change = p.PolicyChange(at_us, "put in force again", record.name, record.by, record.worse)
            return _noted(found, standing, change)
        case pe.GuardEnded():
            change = p.PolicyChange(at_us, "guarded no longer", record.name)
            return _noted(replace(standing, candidate=None, guard=None), standing, change)


def _promoted(standing: p.PolicyStanding, record: pe.Promoted, number: int) -> p.PolicyStanding:
    before = record.before
    found = replace(
        standing, how=p.PROMOTED, name=record.name, since_us=record.at_us, by=record.by, before=before,
        candidate=p.Candidate(before.name, before.policy, record.at_us, number, record.by), guard=record.guard,
        promoted=number,
    )  # fmt: skip
    return _noted(found, standing, p.PolicyChange(record.at_us, "promoted", record.name, record.by))


def _noted(found: p.PolicyStanding, was: p.PolicyStanding, change: p.PolicyChange) -> p.PolicyStanding:
    return replace(found, changes=(*was.changes, change)[-p.MOST_CHANGES :])
