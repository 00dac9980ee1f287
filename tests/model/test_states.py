"""The table of moves."""

from __future__ import annotations

import pytest

from clearway.model.states import MOVES, SHOWN, TERMINAL, End, State, shown

FIRST = State.PENDING


def test_every_state_has_its_moves() -> None:
    assert set(MOVES) == set(State)


@pytest.mark.parametrize("state", sorted(TERMINAL))
def test_nothing_follows_a_terminal_state(state: State) -> None:
    assert MOVES[state] == frozenset()


@pytest.mark.parametrize("state", sorted(set(State) - TERMINAL))
def test_every_other_state_can_come_to_an_end(state: State) -> None:
    assert MOVES[state] & TERMINAL
    assert state not in MOVES[state]


def test_every_state_but_refused_can_be_reached() -> None:
    reached, fresh = {FIRST}, {FIRST}
    while fresh:
        fresh = {after for state in fresh for after in MOVES[state]} - reached
        reached |= fresh
    assert reached == set(State) - {State.REFUSED}  # a refused job was never in


def test_only_what_was_started_runs_or_is_stopped() -> None:
    assert MOVES[State.PENDING] == {State.STARTING, State.FAILED, State.CANCELLED}
    for state in State:
        assert (State.STARTING in MOVES[state]) == (state is State.PENDING)


def test_who_is_being_stopped_does_not_run_again_in_this_attempt() -> None:
    assert not MOVES[State.STOPPING] & {State.STARTING, State.RUNNING, State.SUSPENDED}


def test_people_are_shown_six_states_and_of_steps_one_more() -> None:
    assert {shown(state) for state in State} == {
        State.PENDING, State.RUNNING, State.SUCCEEDED, State.FAILED, State.CANCELLED, State.REFUSED, State.SKIPPED,
    }  # fmt: skip
    assert set(SHOWN) == {State.STARTING, State.SUSPENDED, State.STOPPING}
    assert not set(SHOWN) & TERMINAL


def test_an_attempt_ends_in_one_of_seven_ways() -> None:
    assert [str(end) for end in End] == [
        "succeeded", "failed", "cancelled", "preempted", "evicted", "lost", "timed_out",
    ]  # fmt: skip
