"""The orders against direct formulas, and what holds for each of them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearway.core.mix import Mix, shares_held
from clearway.core.protocols import UNKNOWN_US, Candidate, Order, QueueOrder, log2_parts
from clearway.core.view import waits_again
from clearway.model.errors import InputError
from clearway.model.fleet import PolicySpec
from clearway.model.ids import JobId
from clearway.model.machine_words import read_policy
from clearway.model.values import SECOND_US
from clearway.policies.order.f1 import SUBMIT_WEIGHT
from clearway.policies.order.priority import Priority
from clearway.policies.registry import ORDERS, objectives, orders_of, rules_for
from clearway.testing.builders import job, role

if TYPE_CHECKING:
    from clearway.model.job import JobSpec

HOUR_US = 3600 * SECOND_US
MILLI = 1000

ORDERED = {name: order for name, order in ORDERS.items() if isinstance(order, Order)}


def candidate(spec: JobSpec | None = None, number: int = 1, submit_s: float = 0, **facts: Any) -> Candidate:
    spec = spec or job()
    base = Candidate(JobId(number), spec, round(submit_s * SECOND_US), spec.estimate_us, spec.priority)
    return base._replace(**facts)


def waits(submit_s: int, estimate_s: int, processors: int) -> Candidate:
    spec = job(gpus=processors, time_estimate_us=estimate_s * SECOND_US)
    return candidate(spec, submit_s=submit_s)


def key(name: str, one: Candidate, now_s: int = 0) -> int:
    return ORDERED[name].key(one, now_s * SECOND_US)


def test_all_are_there_and_only_fair_goes_by_queues() -> None:
    named = {"fifo", "priority", "fair", "sjf", "saf", "srtf", "las", "largest", "wfp3", "unicep", "f1", "edf"}
    assert set(ORDERS) == named
    assert set(ORDERS) - set(ORDERED) == {"fair"}
    order: Order | QueueOrder
    for name, order in ORDERS.items():
        assert order.name == name


# --- logarithms ----------------------------------------------------------------------------------


@given(st.integers(1, 2**60))
def test_logarithms_are_those_of_math_to_a_part_in_a_million(number: int) -> None:
    parts = log2_parts(number)
    assert isinstance(parts, int)
    assert parts == pytest.approx(math.log2(number) * 2**20, abs=1.01)


@given(st.integers(0, 60))
def test_logarithms_of_powers_of_two_are_exact(power: int) -> None:
    assert log2_parts(1 << power) == power << 20


@given(st.integers(1, 2**40), st.integers(1, 2**20))
def test_a_larger_number_has_no_smaller_logarithm(number: int, more: int) -> None:
    assert log2_parts(number) <= log2_parts(number + more)


# --- formulas ------------------------------------------------------------------------------------

seconds = st.integers(1, 400_000)
sizes = st.integers(1, 256)


@given(st.integers(0, 10**6), seconds, sizes, seconds)
def test_wfp3_is_the_published_formula(submit: int, estimate: int, size: int, waited: int) -> None:
    exact = Fraction(waited, estimate) ** 3 * size
    assert key("wfp3", waits(submit, estimate, size), submit + waited) == -math.floor(exact * SECOND_US)


@given(st.integers(0, 10**6), seconds, sizes, seconds)
def test_unicep_is_the_published_formula(submit: int, estimate: int, size: int, waited: int) -> None:
    score = waited / (math.log2(max(size, 2)) * estimate)
    shown = -key("unicep", waits(submit, estimate, size), submit + waited) / 2**32
    assert shown == pytest.approx(score, rel=1e-5, abs=1e-8)


@given(st.integers(1, 10**6), seconds, sizes)
def test_f1_is_the_published_formula(submit: int, estimate: int, size: int) -> None:
    score = math.log10(estimate) * size + SUBMIT_WEIGHT * math.log10(submit)
    shown = key("f1", waits(submit, estimate, size)) / 2**20 * math.log10(2)
    assert shown == pytest.approx(score, abs=1e-3 + size * 1e-6)


def test_f1_puts_the_published_example_in_order() -> None:
    short, long, large = waits(100, 60, 1), waits(100, 6000, 1), waits(100, 60, 64)
    assert key("f1", short) < key("f1", long) < key("f1", large)
    assert key("f1", waits(100, 6000, 1)) < key("f1", waits(10_000, 60, 1))  # who came first weighs most


@pytest.mark.parametrize(
    ("hours", "level"), [(0, 0), (0.99, 0), (1, 1), (1.99, 1), (2, 2), (3.9, 2), (4, 3), (2**20, 16)]
)
def test_las_has_doubling_levels_of_device_hours(hours: float, level: int) -> None:
    assert key("las", candidate(attained=round(hours * HOUR_US * MILLI))) == level


def test_fifo_goes_by_submit_and_priority_by_the_larger_number() -> None:
    assert key("fifo", candidate(submit_s=1)) < key("fifo", candidate(submit_s=1.5))
    assert key("priority", candidate(job(priority=7))) < key("priority", candidate(job(priority=0)))
    assert key("priority", candidate(job(priority=-1))) > key("priority", candidate(job(priority=0)))
    assert key("priority", candidate(job(priority=0), priority=50)) == -50, "an inherited priority counts"


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(-9, 9)), min_size=2, max_size=8), st.integers(1, 10**5))
def test_ageing_keeps_the_order_of_the_whole_points_at_every_moment(jobs: list[tuple[int, int]], ageing_s: int) -> None:
    order = Priority(ageing_s * SECOND_US)
    waiting = [
        candidate(job(priority=priority), submit_s=submit, waiting_since_us=submit * SECOND_US)
        for submit, priority in jobs
    ]
    keys = [order.key(one, 0) for one in waiting]
    for now_s in (10**6, 10**6 + ageing_s // 2, 2 * 10**6):
        points = [priority + now_s // ageing_s - submit // ageing_s for submit, priority in jobs]
        assert [key - now_s // ageing_s for key in keys] == [-point for point in points]


def test_ageing_lifts_every_job_past_a_newcomer_of_any_priority() -> None:
    order = Priority(60 * SECOND_US)
    old = candidate(job(priority=-100))
    for priority in (0, 50, 1000):
        late = (priority + 102) * 60 * SECOND_US
        newcomer = candidate(job(priority=priority), submit_s=late / SECOND_US, waiting_since_us=late)
        assert order.key(old, late) < order.key(newcomer, late)


def test_a_stopped_job_has_just_what_it_had_gained_when_it_started() -> None:
    ageing, order = 100 * SECOND_US, Priority(100 * SECOND_US)
    started, stopped = 455 * SECOND_US, 649 * SECOND_US
    since = waits_again(1 * SECOND_US, started, stopped, ageing)
    assert stopped // ageing - order.key(candidate(waiting_since_us=since), 0) == 4
    assert waits_again(1, 11, 50, None) == 40, "10 of waiting before, and none since"


def test_sjf_and_srtf_go_by_the_estimate_else_the_limit() -> None:
    by_limit = candidate(job(time_limit_us=30 * SECOND_US))
    by_both = candidate(job(time_limit_us=30 * SECOND_US, time_estimate_us=10 * SECOND_US))
    assert key("sjf", by_both) == 10 * SECOND_US < key("sjf", by_limit) == 30 * SECOND_US
    assert key("sjf", candidate()) == key("srtf", candidate()) == UNKNOWN_US
    assert key("srtf", by_limit._replace(kept_us=25 * SECOND_US)) == 5 * SECOND_US
    assert key("srtf", by_limit._replace(kept_us=60 * SECOND_US)) == 0, "never below nothing"


def test_largest_counts_the_whole_job_and_cpus_where_there_are_no_devices() -> None:
    two, four = job(gpus=1, tasks=2), job(gpus=4)
    assert key("largest", candidate(four)) < key("largest", candidate(two))
    roles = job(roles=(role(tasks=1, gpus=1), role("w", tasks=5, gpus=1)))
    assert key("largest", candidate(roles)) < key("largest", candidate(four))
    small, large = job(roles=(role(cpus=1000),)), job(roles=(role(tasks=3, cpus=1000),))
    assert key("largest", candidate(two)) < key("largest", candidate(large)) < key("largest", candidate(small))


def test_saf_goes_by_devices_times_time_and_cpus_where_there_are_no_devices() -> None:
    length = 10 * SECOND_US
    roles = (role(tasks=3, gpus=2), role(share=500), role(tasks=3, cpus=2000))
    gang, half, cpus = (key("saf", candidate(job(roles=(one,), time_estimate_us=length))) for one in roles)
    assert (gang, half, cpus) == (6 * MILLI * length, MILLI // 2 * length, 6 * MILLI * length)
    assert key("saf", waits(0, 40, 1)) < key("saf", waits(0, 15, 4)) < key("saf", waits(0, 30, 4))


def test_edf_goes_by_the_deadline_and_none_is_last() -> None:
    near, far = job(deadline_us=5), job(deadline_us=6)
    assert key("edf", candidate(near)) < key("edf", candidate(far)) < key("edf", candidate())


@pytest.mark.parametrize("name", ["sjf", "saf", "srtf", "f1"])
def test_a_job_of_unknown_length_is_last_where_length_counts(name: str) -> None:
    assert key(name, waits(5, 10**6, 256)) < key(name, candidate(submit_s=1))


@pytest.mark.parametrize("name", ["wfp3", "unicep"])
def test_a_job_of_unknown_length_gains_nothing_by_waiting(name: str) -> None:
    assert key(name, candidate(), 10**6) == 0
    assert key(name, waits(0, 10**6, 1), 10) < 0 or name == "wfp3"


@pytest.mark.parametrize("name", sorted(ORDERED))
def test_equal_jobs_have_equal_keys_whatever_their_names_and_numbers(name: str) -> None:
    one, other = candidate(job("a"), 1), candidate(job("b"), 2)
    assert key(name, one, 50) == key(name, other, 50)


@pytest.mark.parametrize("name", sorted(ORDERED))
def test_a_key_that_does_not_say_that_time_moves_it_is_not_moved(name: str) -> None:
    one = waits(10, 100, 4)
    moved = key(name, one, 20) != key(name, one, 20_000)
    assert moved == ORDERED[name].timed


# --- words ---------------------------------------------------------------------------------------


def test_an_unknown_order_is_refused_with_those_there_are() -> None:
    with pytest.raises(InputError, match="unicep"):
        rules_for(PolicySpec(order=("fastest",)))
    with pytest.raises(InputError, match="fifo"):
        orders_of(("fair",), PolicySpec())  # inside one queue there are no queues to compare
    assert [order.name for order in orders_of(("sjf", "fifo"), PolicySpec())] == ["sjf", "fifo"]


# --- weighed -------------------------------------------------------------------------------------


def candidates() -> st.SearchStrategy[Candidate]:
    """Waiting jobs of all kinds, at some moment before second 10^6."""
    times = st.one_of(st.none(), st.integers(1, 10**6).map(lambda s: s * SECOND_US))
    return st.builds(
        lambda number, submit, estimate, deadline, priority, gpus, attained: candidate(
            job(gpus=gpus, time_estimate_us=estimate, deadline_us=deadline, priority=priority),
            number,
            submit,
            attained=attained * HOUR_US,
            waiting_since_us=submit * SECOND_US,
        ),
        st.integers(1, 1000), st.integers(0, 10**6), times, times, st.integers(-100, 100), st.integers(1, 64),
        st.integers(0, 10**6),
    )  # fmt: skip


@pytest.mark.parametrize("name", sorted(ORDERED))
@given(candidates(), candidates())
def test_what_an_order_costs_goes_the_way_of_its_key(name: str, one: Candidate, other: Candidate) -> None:
    """Alone in a sum, an order says what it says alone: only what differs by next to nothing may come out equal."""
    order, now = ORDERED[name], 10**6 * SECOND_US
    costs, keys = [order.cost(c, now) for c in (one, other)], [order.key(c, now) for c in (one, other)]
    assert all(isinstance(cost, int) for cost in costs)
    ended = name in ("edf", "largest")  # none counts as a year, CPUs as devices: the order among these may differ
    if not ended and keys[0] < keys[1]:
        assert costs[0] <= costs[1]
    if not ended and keys[0] == keys[1]:
        assert costs[0] == costs[1]


@given(
    st.lists(candidates(), min_size=2, max_size=6),
    st.lists(st.integers(1, 1000), min_size=len(ORDERED), max_size=len(ORDERED)),
)
def test_a_sum_depends_on_no_other_job_and_weights_on_their_ratios_alone(
    many: list[Candidate], weights: list[int]
) -> None:
    now = 10**6 * SECOND_US
    mix = Mix(tuple(zip(weights, ORDERED.values(), strict=True)))
    doubled = Mix(tuple((2 * weight, order) for weight, order in mix.jobs))
    costs = [mix.cost(one, now) for one in many]
    assert [mix.cost(one, now) for one in reversed(many)] == costs[::-1]
    assert [doubled.cost(one, now) for one in many] == [2 * cost for cost in costs]


@given(candidates(), st.integers(0, 3), st.lists(st.integers(0, 2**40), min_size=1, max_size=4))
def test_the_shown_parts_are_the_sum_but_for_the_clock(one: Candidate, fair: int, ratios: list[int]) -> None:
    now = 10**6 * SECOND_US
    mix = Mix(((3, ORDERED["priority"]), (2, ORDERED["sjf"]), (1, ORDERED["fifo"])), fair)
    position = tuple((0, ratio) for ratio in ratios)
    shown = sum(mix.parts(one, now, position).values())
    exact = mix.key(mix.cost(one, now), position)[1] - ORDERED["fifo"].cost(candidate(submit_s=10**6), now)
    assert abs(shown - exact * 1000 / 2**20) <= 5


def test_a_queue_without_weight_comes_last_in_a_sum_too() -> None:
    mix = Mix((), 1)
    assert mix.key(0, ((0, 2**60),)) < mix.key(-(10**12), ((1, 0),))
    assert shares_held(((0, 0), (0, 1 << 62))) == 500 << 20, "no share at all counts as a thousand"


def test_weights_are_whole_numbers_above_nothing_and_know_no_turn() -> None:
    one, other = read_policy({"order": {"fair": 2, "sjf": 1}}), read_policy({"order": {"sjf": 1, "fair": 2}})
    assert one == other
    assert (one.order, one.weights) == (("fair", "sjf"), (2, 1))
    for bad in ({"fair": 0}, {"fair": -1}, {"fair": 1.5}, {"fair": True}, {"fair": "2"}, {"fair": 1001}, {}):
        with pytest.raises(InputError, match="order"):
            read_policy({"order": bad})
    with pytest.raises(InputError, match="unicep"):
        rules_for(read_policy({"order": {"fastest": 1}}))


def test_each_objective_of_a_sum_is_a_policy_of_its_own() -> None:
    spec = read_policy({"order": {"fair": 2, "sjf": 1}, "backfill": "none"})
    assert [(name, one.order, one.weights, one.backfill) for name, one in objectives(spec)] == [
        ("fair", ("fair",), (), "none"),
        ("sjf", ("sjf",), (), "none"),
    ]
    assert objectives(read_policy({"order": ["fair"]})) == ()
