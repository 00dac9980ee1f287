"""Policies by people: what is in force and why, also after a restart; and what a guard may do."""

from __future__ import annotations

from clearway.loop.snapshot import restore, take
from clearway.model.asks import SetPolicy
from clearway.model.errors import ConflictError, InputError
from clearway.model.events import PolicyChanged
from clearway.model.fleet import PolicySpec
from clearway.model.policies import EndShadow, Promote, Rollback, SetShadow, Worse
from clearway.model.policy_events import GuardEnded, Promoted, RolledBack
from clearway.model.values import SECOND_US
from clearway.policies.registry import BUNDLES
from clearway.testing.builders import Bench, job, node

FAIR, SJF, LAS = BUNDLES["fair"], PolicySpec(("sjf",)), PolicySpec(("las",))
WORSE = Worse("lab", 30, 900 * SECOND_US, 300 * SECOND_US)


def bench() -> Bench:
    made = Bench(node("n", 4))
    made.step(SetPolicy(FAIR))
    return made


def promoted(for_us: int = 3600 * SECOND_US) -> Bench:
    made = bench()
    made.step(SetShadow("sjf", SJF, "ann"))
    made.step(Promote(for_us, by="ann"))
    return made


def refusal(made: Bench, ask: object) -> object:
    return made.step(ask).answers[0]  # type: ignore[arg-type]  # whatever is asked


def test_a_candidate_decides_nothing_until_it_is_promoted() -> None:
    made = bench()
    made.step(SetShadow("sjf", SJF, "ann"))
    standing = made.world.state.policies
    assert standing.candidate is not None
    assert (made.world.policy, standing.candidate.name, standing.candidate.by) == (FAIR, "sjf", "ann")
    assert standing.candidate.record == made.world.state.revision
    made.step(Promote(SECOND_US, by="bob"))
    standing = made.world.state.policies
    assert (made.world.policy, standing.name, standing.how, standing.by) == (SJF, "sjf", "promoted", "bob")
    assert standing.candidate is not None
    assert standing.candidate.policy == FAIR  # for the guard


def test_the_policy_in_force_and_nothing_are_no_candidates() -> None:
    made = bench()
    assert isinstance(refusal(made, SetShadow("fair", FAIR)), InputError)
    for ask in (EndShadow(), Promote(1), Rollback()):
        assert isinstance(refusal(made, ask), ConflictError)


def test_a_promoted_policy_stays_until_the_settings_say_another_one() -> None:
    made = promoted()
    assert made.step(SetPolicy(FAIR)).records == []  # as at a start with unchanged settings
    assert made.world.policy == SJF
    (record,) = made.step(SetPolicy(LAS)).records
    assert record == PolicyChanged(made.world.now_us, LAS)
    standing = made.world.state.policies
    assert (standing.how, standing.guard, standing.candidate, standing.before) == ("settings", None, None, None)


def test_a_rollback_stays_too_and_can_be_done_once() -> None:
    made = promoted()
    (record,) = made.step(Rollback("ann")).records
    assert isinstance(record, RolledBack)
    assert (made.world.policy, made.world.state.policies.guard) == (FAIR, None)
    assert isinstance(refusal(made, Rollback("ann")), ConflictError)
    assert made.world.state.policies.how == "rolled back"
    assert made.step(SetPolicy(FAIR)).records == []


def test_the_guard_takes_back_only_what_it_looked_at() -> None:
    made = promoted()
    number = made.world.state.policies.promoted
    assert isinstance(refusal(made, Rollback("", number + 1, WORSE)), ConflictError)
    assert made.world.policy == SJF
    (record,) = made.step(Rollback("", number, WORSE)).records
    assert isinstance(record, RolledBack)
    assert record.worse == WORSE
    assert isinstance(refusal(made, Rollback("", number, WORSE)), ConflictError)
    assert made.world.state.policies.changes[-1].worse == WORSE


def test_the_guard_ends_and_the_policy_stays_and_can_be_taken_back_by_hand() -> None:
    made = promoted(60 * SECOND_US)
    made.at(61)
    assert len(made.all(GuardEnded)) == 1
    standing = made.world.state.policies
    assert (standing.guard, standing.candidate, made.world.policy) == (None, None, SJF)
    made.step(Rollback("ann"))
    assert made.world.policy == FAIR


def test_while_a_guard_looks_nothing_else_is_tried_or_promoted() -> None:
    made = promoted()
    assert isinstance(refusal(made, SetShadow("las", LAS)), ConflictError)
    assert isinstance(refusal(made, Promote(1)), ConflictError)
    made.step(EndShadow("ann"))
    assert made.world.state.policies.guard is None
    made.step(SetShadow("las", LAS))


def test_bounds_are_refused_by_name() -> None:
    made = bench()
    made.step(SetShadow("sjf", SJF))
    for ask, field in ((Promote(1, percent=0), "bound"), (Promote(0), "for"), (Promote(1, jobs=0), "jobs")):
        found = refusal(made, ask)
        assert isinstance(found, InputError)
        assert found.field == field


def test_a_candidate_is_compared_anew_when_the_settings_change() -> None:
    made = bench()
    made.step(SetShadow("sjf", SJF))
    made.step(SetPolicy(LAS))
    candidate = made.world.state.policies.candidate
    assert candidate is not None
    assert candidate.record == made.world.state.revision
    made.step(SetPolicy(SJF))
    assert made.world.state.policies.candidate is None


def test_snapshot_and_journal_lead_to_the_same() -> None:
    made = promoted()
    made.submit(job("a", 4), job("b", 4))
    assert restore(take(made.world)).state.policies == made.world.state.policies
    assert made.last(Promoted).before.policy == FAIR
