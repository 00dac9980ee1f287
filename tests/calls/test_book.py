from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clearway.calls import ends, schema
from clearway.calls.tidy import tidy
from clearway.calls.wire import ChainSpec, Enter, GroupSpec, MapSpec, Recipe
from clearway.model.errors import FullError, InputError
from clearway.store.beside import SqliteBeside
from tests.calls.books import BAD, Desk, call

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clearway.calls.wire import Spec
    from clearway.calls.words import Rules


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    tables = SqliteBeside(tmp_path / "calls.db")
    found = Desk(tables)
    yield found
    found.check()
    tables.close()


def test_calls_are_handed_over_oldest_first_and_end_once(desk: Desk) -> None:
    first = desk.enter(call(b"a"), call(b"b"))
    given = desk.take()
    assert [(one.call, one.attempt, one.value) for one in given] == [(first, 1, b"a"), (first + 1, 1, b"b")]
    assert desk.take() == []
    assert desk.done(*given) == 2
    assert desk.done(*given) == 0
    assert [desk.state(n) for n in (first, first + 1)] == ["succeeded", "succeeded"]


def test_entered_twice_under_one_key_is_entered_once(desk: Desk) -> None:
    assert desk.enter(call(), key="same") == desk.enter(call(), key="same")
    assert len(desk.rows()) == 1


def test_a_function_must_have_been_sent(desk: Desk) -> None:
    said = Enter("k", [Recipe("nobody's", "f")], [call()])
    with pytest.raises(InputError, match="was sent"):
        desk.put(said)
    assert desk.rows() == []


def test_a_result_of_an_older_hand_over_is_not_accepted(desk: Desk) -> None:
    root = desk.enter(call())
    before = desk.take()
    desk.lost()
    after = desk.take(job=2)
    assert (before[0].attempt, after[0].attempt) == (1, 2)
    assert desk.done(*before) == 0
    assert desk.done(*before, job=2) == 0
    assert desk.done(*after, job=2) == 1
    assert desk.state(root) == "succeeded"


def test_calls_of_a_lost_worker_are_handed_over_alone(desk: Desk) -> None:
    first = desk.enter(*[call()] * 3)
    desk.take(most=2)
    desk.lost()
    assert [[one.call for one in desk.take()] for _ in range(3)] == [[first], [first + 1], [first + 2]]


def test_a_call_that_loses_too_many_workers_is_named(desk: Desk) -> None:
    root = desk.enter(call(), max_losses=1)
    desk.take()
    assert desk.lost() == []
    desk.take()
    assert desk.lost() == [root]
    with desk.tables.writing() as connection:
        desk.book.fail(connection, schema.is_held & (schema.call.c.id == root), BAD, 0)
    assert desk.state(root) == "failed"


def test_failures_are_tried_again_after_a_delay_that_doubles(desk: Desk) -> None:
    root = desk.enter(call(), max_retries=2, retry_backoff=1)
    for delay_us in (1_000_000, 2_000_000):
        desk.done(*desk.take(), problem=BAD)
        desk.now_us += delay_us - 1
        desk.wake()
        assert desk.take() == []
        desk.now_us += 1
        desk.wake()
    desk.done(*desk.take(), problem=BAD)
    assert desk.state(root) == "failed"


@pytest.mark.parametrize(("retry_on", "again"), [(["ValueError"], True), (["OSError"], False), (["Exception"], True)])
def test_only_named_failures_are_tried_again(desk: Desk, retry_on: list[str], again: bool) -> None:  # noqa: FBT001
    root = desk.enter(call(), max_retries=1, retry_on=retry_on)
    desk.done(*desk.take(), problem=BAD)
    assert desk.state(root) == ("pending" if again else "failed")


def test_what_a_worker_was_handed_and_never_got_goes_back(desk: Desk) -> None:
    desk.enter(call(), call())
    given = desk.take()
    with desk.tables.writing() as connection:
        desk.book.keep_only(connection, 1, 1, [(given[0].call, given[0].attempt)])
    again = desk.take(job=2)
    assert [(one.call, one.attempt) for one in again] == [(given[1].call, 2)]


def test_what_is_given_back_late_is_not_taken_from_a_newer_hand_over(desk: Desk) -> None:
    root = desk.enter(call())
    (before,) = desk.take()
    with desk.tables.writing() as connection:
        desk.book.keep_only(connection, 1, 1, [])
    (after,) = desk.take()
    with desk.tables.writing() as connection:
        desk.book.back(connection, 1, 1, [(before.call, before.attempt)])
    assert desk.done(after) == 1
    assert desk.state(root) == "succeeded"


def test_calls_that_are_long_over_are_dropped_with_their_files(desk: Desk) -> None:
    large = b"f" + b"0" * 32
    old = desk.enter(GroupSpec([call(large), call()]))
    desk.done(*desk.take())
    desk.now_us = 10
    new = desk.enter(call(), call())
    pending = new + 1
    given = desk.take(most=1)
    desk.done(*given)
    with desk.tables.writing() as connection:
        assert tidy(connection, 5) == (["0" * 32], False)
    assert [row.id for row in desk.rows()] == [new, pending]
    assert old not in {row.root for row in desk.rows()}


# --- joins ---------------------------------------------------------------------------------------


def test_a_chain_gives_each_part_the_result_before_it(desk: Desk) -> None:
    root = desk.enter(ChainSpec([call(b"1"), call(b"2")]))
    (one,) = desk.take()
    desk.done(one)
    (two,) = desk.take()
    assert (two.input, two.input_of) == (b"r%d" % one.call, one.call)
    assert desk.state(root) == "running"
    desk.done(two)
    assert desk.state(root) == "succeeded"
    assert desk.members(root) == [("succeeded", b"r%d" % two.call)]


def test_a_chain_ends_with_the_part_that_fails(desk: Desk) -> None:
    root = desk.enter(ChainSpec([call(), call(), call()]))
    desk.done(*desk.take(), problem=BAD)
    assert desk.state(root) == "failed"
    assert desk.take() == []


def test_a_chord_runs_its_callback_with_the_group(desk: Desk) -> None:
    root = desk.enter(ChainSpec([GroupSpec([call(), call()]), call(b"c")]))
    members = desk.take()
    desk.done(members[1])
    assert desk.take() == []
    desk.done(members[0])
    (last,) = desk.take()
    assert last.input is None
    assert [state for state, _ in desk.members(last.input_of)] == ["succeeded", "succeeded"]
    desk.done(last)
    assert desk.state(root) == "succeeded"


@pytest.mark.parametrize("empty", [GroupSpec([]), MapSpec(0, []), GroupSpec([GroupSpec([]), MapSpec(0, [])])])
def test_empty_groups_have_succeeded_at_once(desk: Desk, empty: GroupSpec | MapSpec) -> None:
    root = desk.enter(empty, ChainSpec([empty, call()]))
    assert desk.state(root) == "succeeded"
    assert len(desk.take()) == 1


def test_a_group_with_a_failing_member_goes_on_and_fails_at_its_end(desk: Desk) -> None:
    root = desk.enter(ChainSpec([GroupSpec([call(), call(), call()]), call()]))
    given = desk.take()
    desk.done(given[1], problem=BAD)
    assert desk.state(root) == "running"
    desk.done(given[0], given[2])
    assert desk.state(root) == "failed"
    assert desk.take() == []


def test_members_of_a_group_in_a_chain_are_all_given_the_result(desk: Desk) -> None:
    desk.enter(ChainSpec([call(), GroupSpec([call(), ChainSpec([call(), call()])])]))
    (first,) = desk.take()
    desk.done(first)
    assert [one.input for one in desk.take()] == [b"r%d" % first.call] * 2


def test_groups_nest_at_will(desk: Desk) -> None:
    inner = ChainSpec([GroupSpec([call(), MapSpec(0, [b"x", b"y"])]), call()])
    root = desk.enter(GroupSpec([inner, ChainSpec([inner, inner])]))
    for _ in range(20):
        desk.done(*desk.take())
    assert desk.state(root) == "succeeded"


def test_a_map_is_one_row_until_its_calls_are_wanted(desk: Desk) -> None:
    root = desk.enter(MapSpec(0, [b"%d" % n for n in range(1200)]))
    assert len(desk.rows()) == 1
    given = desk.take(most=10)
    assert [one.value for one in given] == [b"%d" % n for n in range(10)]
    assert len(desk.rows()) == 501
    while given:
        desk.done(*given)
        given = desk.take(most=400)
    assert desk.state(root) == "succeeded"
    assert len(desk.members(root)) == 1000


def test_maps_take_turns_and_single_calls_wait_for_a_page_at_most(desk: Desk) -> None:
    desk.enter(MapSpec(0, [b"a"] * 1000), MapSpec(0, [b"b"] * 1000))
    desk.take(most=1)
    desk.enter(call(b"c"))
    values = b"".join(one.value for one in desk.take(most=1100))
    assert values[:499] == b"a" * 499
    assert values[499:500] == b"c"


def test_cancelling_a_root_ends_all_its_parts(desk: Desk) -> None:
    root = desk.enter(GroupSpec([call(), ChainSpec([call(), call()]), MapSpec(0, [b"x"] * 600)]))
    given = desk.take(most=3)
    desk.cancel(root)
    assert desk.state(root) == "cancelled"
    assert desk.done(*given) == 0
    assert desk.take() == []
    assert {row.state for row in desk.rows()} == {5}


def test_all_is_there_after_opening_again(desk: Desk) -> None:
    root = desk.enter(ChainSpec([MapSpec(0, [b"x"] * 700), call()]))
    desk.done(*desk.take(most=50))
    again = Desk(desk.tables)
    again.lost()
    while given := again.take(most=1000):
        again.done(*given)
    assert again.state(root) == "succeeded"
    desk.book = again.book


def test_there_is_room_for_so_many_calls_and_for_more_when_some_are_over(tmp_path: Path) -> None:
    desk = Desk(SqliteBeside(tmp_path / "few.db"), most=4)
    desk.enter(call(), ChainSpec([call(), call()]), key="first")
    assert desk.enter(call(), ChainSpec([call(), call()]), key="first") == 1, "what is there is not entered anew"
    given = desk.take()
    with pytest.raises(FullError, match="2 calls wait and run, and 3 more are too many: most_calls is 4"):
        desk.enter(MapSpec(0, [b"x"] * 3))
    with pytest.raises(InputError, match="at most 4 at once"):
        desk.enter(GroupSpec([MapSpec(0, [b"x"] * 3), ChainSpec([call(), call()])]))
    assert desk.done(*given[:1]) == 1
    desk.enter(MapSpec(0, [b"x"] * 3))
    desk.check()


def test_what_is_in_is_not_judged_again(desk: Desk) -> None:
    root = desk.enter(call(), max_losses=0)
    desk.take()
    desk.judge = _refuses
    desk.check()
    assert desk.lost() == [root]
    with pytest.raises(InputError, match="queue"):
        desk.enter(call())


def _refuses(_rules: Rules) -> None:
    raise InputError("queue", "q", "another one")


def test_a_worker_is_told_what_it_holds_and_should_not(desk: Desk) -> None:
    first = desk.enter(*[call()] * 3)
    given = desk.take()
    desk.cancel(first)
    desk.done(given[1])
    with desk.tables.writing() as connection:
        holds = [(one.call, one.attempt) for one in given]
        assert desk.book.not_theirs(connection, 1, 1, holds) == [first, first + 1]


def test_a_value_that_looks_like_a_file_is_one_only_by_its_whole_name(desk: Desk) -> None:
    names = [b"f" + b"0" * 32, b"f\xff" + b"0" * 31, b"f../" + b"0" * 29]
    desk.enter(*[call(name) for name in names])
    desk.done(*desk.take())
    with desk.tables.writing() as connection:
        assert tidy(connection, 1) == (["0" * 32], False)


def test_who_is_asked_for_is_known_after_reading_anew(desk: Desk) -> None:
    desk.enter(call())
    desk.book.pools[1].asked.add(7)
    desk.check()
    assert desk.book.pools[1].asked == {7}


def test_a_call_that_was_handed_over_anew_is_not_the_one_before(desk: Desk) -> None:
    desk.enter(call())
    (before,) = desk.take()
    with desk.tables.writing() as connection:
        desk.book.back(connection, 1, 1, [(before.call, before.attempt)])
    (after,) = desk.take()
    holds = [(before.call, before.attempt)]
    with desk.tables.writing() as connection:
        assert desk.book.not_theirs(connection, 1, 1, holds) == [before.call]
        desk.book.keep_only(connection, 1, 1, holds)
    assert [(one.call, one.attempt) for one in desk.take(job=2)] == [(after.call, 3)]


def test_what_was_undone_is_not_remembered(desk: Desk) -> None:
    with desk.tables.writing() as connection:
        said = Enter("undone", [Recipe("f0", "f0", words='{"max_retries": 7}')], [call()], {"f0": b"code"})
        desk.book.enter(connection, said, 0)
        assert desk.book.recipes.rules(1).max_retries == 7
        connection.rollback()
    with desk.tables.writing() as connection:
        desk.book.reload(connection)
    desk.enter(call(), max_retries=1)
    assert desk.book.recipes.rules(1).max_retries == 1


def test_rules_of_what_is_in_are_never_refused(desk: Desk) -> None:
    root = desk.enter(call(), max_retries=1)
    given = desk.take()

    def refuses(_recipe: Recipe) -> Rules:
        raise InputError("queue", "q", "a queue that exists")

    before, desk.book.recipes.read = desk.book.recipes.read, refuses
    desk.done(*given, problem=BAD)
    assert desk.state(root) == "pending", "its own words hold: it is tried again"
    desk.book.recipes.read = before


def test_more_wholes_may_end_at_once_than_go_into_one_question(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ends, "AT_ONCE", 10)
    first = desk.enter(*[ChainSpec([call()])] * 25)
    with desk.tables.writing() as connection:
        desk.book.fail_pool(connection, desk.book.pools[1], BAD, 0, held=True)
    assert {desk.state(first + at) for at in range(25)} == {"failed"}


@pytest.mark.parametrize("levels", [101, 400])
def test_parts_in_parts_have_so_many_levels(desk: Desk, levels: int) -> None:
    spec: Spec = call()
    for _ in range(levels):
        spec = GroupSpec([spec])
    with pytest.raises(InputError, match="100 levels"):
        desk.enter(spec)
