"""The window of time that the pictures of a report show."""

from __future__ import annotations

from clearway.model.job import Demand, JobSpec, Role
from clearway.model.values import SECOND_US
from clearway.sim.results.excerpt import KEPT_BARS, Bar, Gantt
from clearway.sim.results.window import TASKS, busiest
from clearway.sim.truth import Truth
from clearway.sim.workloads import Arrival
from clearway.sim.workloads.shapes import gpu_nodes

S = SECOND_US


def job(at_s: int, run_s: int) -> Arrival:
    return Arrival(at_s * S, JobSpec(f"at-{at_s}", (Role(demand=Demand(gpus=1)),)), Truth(runtimes_us=(run_s * S,)))


def bar(from_us: int) -> Bar:
    return Bar(0, (0,), 1000, from_us, from_us, "default", "a")


def test_it_lies_around_the_moment_when_most_work_is_left() -> None:
    quiet = [job(at, 1) for at in range(0, 10_000, 10)]
    busy = [job(at, 100) for at in range(10_000, 10_400)]
    window = busiest([*quiet, *busy, *(job(at, 1) for at in range(10_400, 90_000, 10))], gpu_nodes(1, 8))
    assert window.from_us < 10_399 * S < window.to_us
    assert window.to_us - window.from_us <= TASKS * 10 * S


def test_jobs_that_come_at_once_get_a_window_as_long_as_they_run() -> None:
    assert busiest([job(0, 50) for _ in range(3)], gpu_nodes(1, 8)) == (0, 50 * S)


def test_what_does_not_reach_into_the_window_is_left_out() -> None:
    gantt = Gantt((10, 20))
    gantt.add_node(7, "n", 4, 0, pooled=False)
    for i, (from_us, to_us) in enumerate([(0, 9), (0, 10), (12, 14), (20, 30), (21, 30)]):
        gantt.begin((i, 0, 0), 7, bar(from_us))
        gantt.end((i, 0, 0), to_us)
    gantt.begin((9, 0, 0), 7, bar(15))
    assert [(b.from_us, b.to_us) for b in gantt.excerpt(40).bars] == [(0, 10), (12, 14), (20, 30), (15, 40)]


def test_of_very_many_bars_the_longest_are_kept() -> None:
    gantt = Gantt((0, 10**6))
    gantt.add_node(0, "n", 1, 0, pooled=False)
    for i in range(KEPT_BARS + 100):
        gantt.begin((i, 0, 0), 0, bar(i * 10))
        gantt.end((i, 0, 0), i * 10 + (1 if i < 100 else 9))
    bars = gantt.excerpt(10**6).bars
    assert len(bars) == KEPT_BARS
    assert {b.to_us - b.from_us for b in bars} == {9}
