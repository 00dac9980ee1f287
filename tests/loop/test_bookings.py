"""Bookings: what is kept for whom, from when to when, and what they do to promises, preemption and growth."""

from __future__ import annotations

import pytest

from clearway.model import events as ev
from clearway.model.asks import Book, Drain, SetQueue, Unbook
from clearway.model.errors import ConflictError, InputError, NotFoundError
from clearway.model.fleet import BookingSpec, PolicySpec, QueueSpec
from clearway.model.reasons import Code, because
from clearway.model.states import State
from clearway.model.values import SECOND_US
from clearway.testing.builders import Bench, job, node
from tests.loop.town import decided

S = SECOND_US


def booking(
    start: int, end: int, *nodes: str, gpus: int = 0, whom: tuple[str, ...] = ("vip",), name: str = "b"
) -> Book:
    return Book(BookingSpec(name, start * S, end * S, nodes, gpus, whom))


def bench_of(*nodes: object, policy: PolicySpec | None = None) -> Bench:
    bench = Bench(*nodes, policy=policy)  # type: ignore[arg-type]
    bench.step(SetQueue(QueueSpec("vip")))
    return bench


def check(bench: Bench) -> None:
    """A world made from the journal decides as this one."""
    other = bench.rebuilt()
    assert other.state.view.bookings.kept == bench.world.state.view.bookings.kept
    assert decided(other.step([], bench.now_us)) == decided(bench.step())


# --- whole nodes ----------------------------------------------------------------------------------


def test_only_what_ends_before_a_booking_starts_on_its_nodes() -> None:
    bench = bench_of(node())
    bench.step(booking(100, 200, "n"))
    short, long, unknown = bench.submit(
        job("short", 1, time_limit_us=100 * S), job("long", 1, time_limit_us=101 * S), job("unknown", 1)
    )
    assert bench.entry(short).held
    facts = {"booking": "b", "from_us": 100 * S, "to_us": 200 * S}
    assert bench.waits(long)[0] == because(Code.BOOKED, **facts)  # type: ignore[arg-type]
    assert bench.entry(unknown).state == State.PENDING
    check(bench)


def test_jobs_of_its_queue_and_its_user_start_there_and_others_when_it_is_over() -> None:
    bench = bench_of(node())
    bench.step(booking(10, 200, "n", whom=("vip", "ann")))
    bench.at(50)
    other, vip, ann = bench.submit(
        job("other", 1, time_limit_us=S), job("vip", 1, queue="vip"), job("ann", 1, user="ann")
    )
    assert [bool(bench.entry(j).held) for j in (other, vip, ann)] == [False, True, True]
    check(bench)
    assert bench.next_us == 200 * S
    bench.at(200)
    assert bench.entry(other).held
    assert bench.all(ev.BookingOver) == [ev.BookingOver(200 * S, "b")]
    check(bench)


def test_a_queue_stands_for_all_below_it() -> None:
    bench = bench_of(node())
    bench.step(SetQueue(QueueSpec("child", parent="vip")), booking(0, 200, "n"))
    (child,) = bench.submit(job("child", 1, queue="child"))
    assert bench.entry(child).held


def test_a_booking_that_is_cancelled_keeps_nothing() -> None:
    bench = bench_of(node())
    bench.step(booking(0, 200, "n"))
    (other,) = bench.submit(job("other", 1))
    bench.step(Unbook("b", "ann"))
    assert bench.entry(other).held
    assert bench.all(ev.BookingOver) == [ev.BookingOver(0, "b", "ann")]
    assert isinstance(bench.step(Unbook("b")).answers[0], NotFoundError)


def test_a_booking_for_nobody_keeps_its_nodes_empty() -> None:
    bench = bench_of(node("n"), node("m"))
    bench.step(booking(0, 100, "n", whom=()))
    a, b = bench.submit(job("a", 4), job("b", 4, queue="vip"))
    assert bench.world.node_name(bench.entry(a).grants[0].node) == "m"
    assert bench.entry(b).state == State.PENDING


def test_what_runs_goes_on_into_a_booking() -> None:
    bench = bench_of(node())
    (a,) = bench.submit(job("a", 4))
    bench.step(booking(10, 100, "n"))
    bench.at(50)
    assert bench.entry(a).intent is None


def test_a_job_that_is_kept_away_holds_back_neither_the_booked_for_nor_what_ends_before() -> None:
    for backfill in ("none", "easy", "conservative"):
        bench = bench_of(node(), policy=PolicySpec(backfill=backfill))
        bench.step(booking(0, 200, "n"))
        other, vip = bench.submit(job("other", 4), job("vip", 4, queue="vip"))
        assert bench.entry(other).state == State.PENDING
        assert bench.entry(vip).held, backfill
        check(bench)


def test_what_is_kept_away_is_promised_the_end_of_the_booking() -> None:
    bench = bench_of(node())
    bench.step(booking(100, 200, "n"))
    big, small = bench.submit(job("big", 4, time_limit_us=150 * S), job("small", 4, time_limit_us=60 * S))
    assert bench.world.state.view.reservations[big].start_us == 200 * S
    assert bench.entry(small).held, "it ends before the booking begins"
    bench.end(small)
    bench.at(200)
    assert bench.entry(big).held


def test_a_promise_that_a_new_booking_breaks_is_made_anew() -> None:
    bench = bench_of(node())
    bench.submit(job("running", 4, time_limit_us=50 * S))
    (big,) = bench.submit(job("big", 4, time_limit_us=100 * S))
    reservations = bench.world.state.view.reservations
    assert reservations[big].start_us == 50 * S
    bench.step(booking(100, 200, "n"))
    assert reservations[big].start_us == 200 * S
    check(bench)
    bench.step(Unbook("b"))
    assert reservations[big].start_us == 50 * S
    check(bench)


def test_nobody_is_stopped_for_a_place_that_is_booked_for_others() -> None:
    bench = bench_of(node(), policy=PolicySpec(preempt=("priority",)))
    (weak,) = bench.submit(job("weak", 4))
    bench.up(weak)
    bench.step(booking(10, 100, "n"))
    (strong,) = bench.submit(job("strong", 4, priority=9))
    assert bench.entry(weak).intent is None
    assert bench.entry(strong).state == State.PENDING
    bench.step(Unbook("b"))
    assert bench.entry(weak).intent is not None


def test_somebody_is_stopped_elsewhere_for_a_job_that_a_booking_keeps_away() -> None:
    bench = bench_of(node("n"), node("m"), policy=PolicySpec(preempt=("priority",)))
    bench.step(booking(0, 100, "n"))
    (weak,) = bench.submit(job("weak", 4))
    bench.up(weak)
    bench.submit(job("strong", 4, priority=9))
    assert bench.entry(weak).intent is not None


def test_a_job_that_can_grow_does_not_grow_into_a_booking() -> None:
    bench = bench_of(node("n", 2), node("m", 2))
    bench.step(booking(100, 200, "n"))
    (a,) = bench.submit(job("a", 1, tasks=4, least=1))
    assert len(bench.entry(a).held) == 2
    assert {bench.world.node_name(g.node) for g in bench.entry(a).grants} == {"m"}
    bench.at(200)
    assert len(bench.entry(a).held) == 4


# --- devices --------------------------------------------------------------------------------------


def test_a_booking_of_devices_leaves_the_others_of_the_node() -> None:
    bench = bench_of(node("n", 8))
    bench.step(booking(0, 100, gpus=6))
    a, b, vip = bench.submit(job("a", 2), job("b", 1), job("vip", 6, queue="vip"))
    assert bench.entry(a).held
    assert bench.waits(b)[0].code == Code.BOOKED
    assert bench.entry(vip).held
    check(bench)


def test_what_its_own_jobs_hold_counts_as_kept() -> None:
    bench = bench_of(node("n", 8))
    bench.step(booking(0, 100, gpus=4))
    vip, a, b = bench.submit(job("vip", 3, queue="vip"), job("a", 4), job("b", 1))
    assert bench.entry(vip).held
    assert bench.entry(a).held
    assert not bench.entry(b).held, "one device is still kept"
    bench.end(vip)
    assert not bench.entry(b).held
    check(bench)
    bench.step(Unbook("b"))
    assert bench.entry(b).held


def test_a_later_booking_of_devices_lets_pass_what_ends_before() -> None:
    bench = bench_of(node("n", 8))
    bench.step(booking(100, 200, gpus=6))
    a, b = bench.submit(job("a", 4, time_limit_us=100 * S), job("b", 4, time_limit_us=101 * S))
    assert bench.entry(a).held
    assert bench.waits(b)[0].code == Code.BOOKED
    assert bench.world.state.view.reservations[b].start_us == 200 * S


def test_devices_are_chosen_where_they_will_be_idle_on_few_nodes() -> None:
    bench = bench_of(node("n", 8), node("m", 4), node("o", 8))
    bench.submit(job("running", 8))
    bench.step(booking(100, 200, gpus=4))
    (record,) = bench.all(ev.Booked)
    assert [(bench.world.node_name(n), many) for n, many in record.places] == [("m", 4)]
    bench.step(booking(100, 200, gpus=10, name="c"))
    record = bench.all(ev.Booked)[1]
    assert [(bench.world.node_name(n), many) for n, many in record.places] == [("n", 2), ("o", 8)]


def test_a_booking_moves_away_from_a_node_that_is_drained() -> None:
    bench = bench_of(node("n", 4), node("m", 4))
    bench.step(booking(100, 200, gpus=4))
    bench.step(Drain("n"))
    assert bench.all(ev.Booked)[-1].places == ((1, 4),)
    check(bench)
    bench.step(Drain("m"))
    assert len(bench.all(ev.Booked)) == 2, "there is nowhere better"


# --- asking ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (booking(10, 20, "nowhere"), InputError),
        (booking(10, 20, gpus=9), InputError),
        (booking(0, 5, "n"), InputError),
        (booking(10, 20, "n", name="there"), ConflictError),
        (booking(15, 25, "n"), ConflictError),
        (booking(15, 25, gpus=1), InputError),
    ],
)
def test_a_booking_that_cannot_be_is_refused(ask: Book, error: type[Exception]) -> None:
    bench = bench_of(node())
    bench.step(booking(10, 20, "n", name="there"))
    bench.at(6)
    step = bench.step(ask)
    assert isinstance(step.answers[0], error)
    assert step.records == []


def test_bookings_of_one_node_may_follow_one_another() -> None:
    bench = bench_of(node())
    bench.step(booking(10, 20, "n", name="a"), booking(20, 30, "n", name="b"))
    assert len(bench.all(ev.Booked)) == 2
