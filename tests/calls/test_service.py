"""The queue of calls beside a database that refuses for a while, and a controller that refuses workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clearway.calls.ends import Ends
from clearway.calls.leases import WHO, _Asking
from clearway.calls.read import failure_of, row_of
from clearway.calls.wire import ChainSpec, Done, Enter, GroupSpec, MapSpec, Poll, Recipe, Report, Turn
from clearway.model.asks import Cancel
from clearway.model.errors import ControllerError, InputError, StoreError
from clearway.model.ids import JobId
from clearway.model.states import State
from tests.calls.places import WAIT_S, Asking, Place, Refusing, call, queue

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clearway.calls.service import CallService
    from clearway.calls.wire import Given, Spec


@pytest.fixture
def place() -> Place:
    return Place()


@pytest.fixture
def tables(tmp_path: Path) -> Iterator[Refusing]:
    found = Refusing(tmp_path / "calls.db")
    yield found
    found.close()


@pytest.fixture
def service(place: Place, tables: Refusing) -> Iterator[CallService]:
    found = queue(tables, place)
    found.start()
    yield found
    found.stop()


@pytest.fixture
def asking(service: CallService) -> Asking:
    return Asking(service)


def test_calls_of_a_worker_come_back_once_the_database_can_be_written(
    asking: Asking, place: Place, tables: Refusing
) -> None:
    first = asking.enter(call())
    worker = place.grant(5)
    assert [(one.call, one.attempt) for one in asking.given(5)] == [(first, 1)]
    worker.over = True
    tables.refuse = 3
    asking.service.attempt_over(5, 1)
    place.grant(6)
    assert [(one.call, one.attempt) for one in asking.given(6)] == [(first, 2)]


def test_a_worker_that_was_granted_meanwhile_is_known(asking: Asking, place: Place, tables: Refusing) -> None:
    asking.enter(call())
    tables.refuse = 2
    place.grant(5).over = True
    place.grant(6)
    assert asking.given(6)


def test_an_actor_that_was_ended_is_handed_nothing_more(asking: Asking, place: Place) -> None:
    asking.enter(call(), how="method", actor="key")
    place.grant(5)
    assert asking.given(5)
    leaves = asking.service.turn(Turn(1, 5, 1, 1, serial=1, wait_ms=WAIT_S * 1000))
    asking.service.end_actor("key").result(WAIT_S)
    over = asking.over(asking.enter(call(b"w"), how="method", actor="key"))
    assert (over.state, over.problem and over.problem.types) == ("failed", ["ActorDiedError"])
    assert leaves.result(WAIT_S).leave
    place.cancelled.get(timeout=WAIT_S)


@pytest.mark.parametrize("spec", [MapSpec(0, [b"x"] * 600), ChainSpec([MapSpec(0, [b"x"] * 600), call()]), call()])
def test_what_no_worker_can_be_had_for_ends(asking: Asking, place: Place, spec: MapSpec | ChainSpec) -> None:
    first = asking.enter(spec)
    place.asked.get(timeout=WAIT_S).set_exception(InputError("queue", "q", "a queue that exists"))
    assert asking.over(first).state == "failed"
    with asking.service.reading() as connection:
        failure = failure_of(connection, first)
    assert failure is not None
    assert failure.problem is not None
    assert "a queue that exists" in failure.problem.message
    assert place.asked.qsize() <= 1, "nobody asks again for what is over"


@pytest.mark.parametrize(
    "error", [StoreError("the disk is full"), ControllerError("it stops"), RuntimeError("a defect")]
)
def test_a_worker_that_cannot_be_had_for_now_is_asked_for_again(asking: Asking, place: Place, error: Exception) -> None:
    first = asking.enter(call())
    place.asked.get(timeout=WAIT_S).set_exception(error)
    place.grant(5)
    assert [one.call for one in asking.given(5)] == [first]


def test_calls_go_on_where_there_is_a_worker_and_no_other_can_be_had(asking: Asking, place: Place) -> None:
    first = asking.enter(MapSpec(0, [b"x"] * 600))
    place.grant(5)
    before = asking.given(5)
    place.asked.get(timeout=WAIT_S).set_exception(InputError("queue", "q", "a queue that exists"))
    after = asking.given(5, serial=1)
    assert [one.attempt for one in (*before, *after)] == [1, 1]
    with asking.service.reading() as connection:
        assert row_of(connection, first).state == "running"
    assert asking.service.counts() == (598, 2, 0)


def _report(asking: Asking, given: list[Given]) -> None:
    done = [Done(one.call, one.attempt, b"r") for one in given]
    asking.service.report(Report(1, 5, 1, room=0, serial=1, done=done)).result(WAIT_S)


EMPTY = ChainSpec([call(), ChainSpec([])])


@pytest.mark.parametrize("spec", [EMPTY, ChainSpec([call(), call(), EMPTY]), GroupSpec([call(), EMPTY])])
def test_a_chain_that_has_nothing_in_it_is_refused_wherever_it_stands(asking: Asking, spec: Spec) -> None:
    with pytest.raises(InputError, match="at least one part"):
        asking.enter(spec)


def test_what_is_refused_late_leaves_nothing_half_done(
    asking: Asking, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = asking.enter(ChainSpec([call(), call()]))
    place.grant(5)
    given = asking.given(5)

    def refuses(*_: object) -> None:
        raise InputError("words", "w", "words that are known")

    with monkeypatch.context() as patched:
        patched.setattr(Ends, "take", refuses)
        with pytest.raises(InputError, match="words that are known"):
            _report(asking, given)
    _report(asking, given)
    (second,) = asking.given(5, serial=2)
    assert (second.input, second.input_of) == (b"r", given[0].call)
    _report(asking, [second])
    assert asking.over(first).state == "succeeded"


def test_who_was_told_to_ask_again_is_not_served_in_the_same_breath(place: Place, tables: Refusing) -> None:
    before = queue(tables, place)
    before.start()
    first = Asking(before).enter(call())
    before.stop()
    place.job(5, worker_of=1)
    service = queue(tables, place)
    turn = service.turn(Turn(1, 5, 1, 1, wait_ms=WAIT_S * 1000))
    broken = service._put(_breaks)
    service.start()
    with pytest.raises(StoreError, match="broken"):
        broken.result(WAIT_S)
    hand = turn.result(WAIT_S)
    assert (hand.calls, hand.again) == ([], True)
    assert [(one.call, one.attempt) for one in Asking(service).hand(5, serial=1, holds=[]).calls] == [(first, 1)]
    service.stop()


def _breaks(*_: object) -> None:
    raise RuntimeError("broken")


def test_a_worker_is_told_again_what_a_failed_transaction_told_it(
    asking: Asking, place: Place, tables: Refusing
) -> None:
    asking.enter(call())
    place.grant(5)
    tables.refuse = 1
    hand = asking.hand(5)
    if not hand.calls:
        hand = asking.hand(5, serial=1)
    assert [one.recipe for one in hand.calls] == list(hand.recipes) == [1]
    assert hand.functions == {"f": b"code"}


@pytest.mark.parametrize("actor", ["", "key"])
def test_a_worker_that_was_asked_for_when_the_controller_was_killed_is_known(
    place: Place, tables: Refusing, actor: str
) -> None:
    before = queue(tables, place)
    before.start()
    first = Asking(before).enter(call(), how="method", actor=actor)
    place.asked.get(timeout=WAIT_S)
    place.job(7, worker_of=1)
    before.stop()
    service = queue(tables, place)
    service.start()
    assert [one.call for one in Asking(service).given(7)] == [first]
    assert place.asked.empty()
    service.stop()


def test_an_actor_is_one_process(asking: Asking, place: Place) -> None:
    asking.enter(call(), how="method", actor="key")
    place.grant(5)
    assert asking.given(5)
    place.job(6)
    assert asking.hand(6).leave
    asking.service._later(
        lambda connection, now_us: asking.service._leases._granted(connection, _Asking(1, 9), 6, now_us)
    )
    cancelled, _ = place.cancelled.get(timeout=WAIT_S)
    assert cancelled == Cancel(JobId(6), WHO)


def test_a_worker_that_cannot_be_cancelled_now_is_cancelled_later(asking: Asking, place: Place) -> None:
    asking.service.cancel(asking.enter(call())).result(WAIT_S)
    place.grant(5)
    for _ in range(2):
        cancelled, answer = place.cancelled.get(timeout=WAIT_S)
        assert cancelled == Cancel(JobId(5), WHO)
        answer.set_exception(StoreError("the disk is full"))


@pytest.mark.parametrize(("state", "attempt"), [(State.PENDING, 1), (State.RUNNING, 2)])
def test_an_attempt_that_ended_beside_a_restart_gives_its_calls_back(
    place: Place, tables: Refusing, state: State, attempt: int
) -> None:
    before = queue(tables, place)
    before.start()
    first = Asking(before).enter(call())
    place.grant(5)
    assert Asking(before).given(5)
    before.stop()
    place.board.jobs[5].state, place.board.jobs[5].attempt = state, attempt
    service = queue(tables, place)
    service.start()
    place.job(6)
    assert [(one.call, one.attempt) for one in Asking(service).given(6)] == [(first, 2)]
    service.stop()


def test_an_attempt_that_ends_while_a_queue_begins_gives_its_calls_back(place: Place, tables: Refusing) -> None:
    before = queue(tables, place)
    before.start()
    first = Asking(before).enter(call())
    place.grant(5)
    assert Asking(before).given(5)
    before.stop()
    service = queue(tables, place)
    service.attempt_over(5, 1)
    service.start()
    place.job(6)
    assert [(one.call, one.attempt) for one in Asking(service).given(6)] == [(first, 2)]
    service.stop()


def test_a_defect_ends_no_thread_and_nobody_waits_for_ever(
    asking: Asking, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(asking.service._leases, "size", _breaks)
        asking.enter(call())
    place.grant(5)
    assert asking.given(5)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_who_waits_is_answered_when_the_thread_ends(asking: Asking, place: Place) -> None:
    asking.enter(call())
    place.grant(5)
    asking.given(5)
    waits = asking.service.turn(Turn(1, 5, 1, 1, serial=1, wait_ms=3_600_000))
    polls = asking.service.poll(Poll([(1, 1)], wait_ms=3_600_000))
    asking.enter(GroupSpec([]))
    with pytest.raises(StoreError, match="defect"):
        asking.service._put(_exits).result(WAIT_S)
    assert waits.result(WAIT_S).again
    assert polls.result(WAIT_S).over == []
    with pytest.raises(ControllerError, match="has failed"):
        asking.enter(call())


def _exits(*_: object) -> None:
    raise SystemExit


def test_a_request_that_is_taken_back_hurts_nobody(asking: Asking) -> None:
    said = Enter("taken back", [Recipe("f", "f")], [call()], {"f": b"code"})
    for _ in range(20):
        asking.service.enter(said).cancel()
    assert asking.over(asking.enter(GroupSpec([]))).state == "succeeded"
