"""What a change of a queue would do is what it then does; the world is not touched by the question."""

from __future__ import annotations

import pytest

from clearway.loop.snapshot import take
from clearway.model.asks import SetQueue, Submit
from clearway.model.errors import ClearwayError
from clearway.model.events import Started, Stopping
from clearway.model.fleet import PolicySpec, QueueSpec
from clearway.testing.builders import Bench, job, node
from clearway.whatif.effect import effect

RECLAIM = PolicySpec(order=("fair", "priority", "fifo"), preempt=("reclaim",), calm_us=0)


@pytest.fixture
def bench() -> Bench:
    """Four devices, all held by `a`, whose limit is four; a job of `b` waits, and one of `a`."""
    found = Bench(node("n", gpus=4), policy=RECLAIM)
    found.step(SetQueue(QueueSpec("a", limit=(("gpus", 4000),))), SetQueue(QueueSpec("b")))
    found.step(Submit(tuple(job(f"a{n}", queue="a") for n in range(4))))
    found.step(Submit((job("a5", queue="a"), job("b1", queue="b"))))
    return found


@pytest.mark.parametrize(
    "change",
    [
        SetQueue(QueueSpec("b", guarantee=(("gpus", 2000),)), ("guarantee",)),
        SetQueue(QueueSpec("a", limit=(("gpus", 2000),)), ("limit",)),
        SetQueue(QueueSpec("new", guarantee=(("gpus", 1000),))),
    ],
    ids=["guarantee", "limit", "new"],
)
def test_what_is_told_comes_true(bench: Bench, change: SetQueue) -> None:
    before = take(bench.world)
    told = effect(bench.world, change, bench.now_us)
    assert take(bench.world) == before
    step = bench.step(change)
    assert told.starts == tuple(r.job for r in step.records if isinstance(r, Started))
    assert told.stops == tuple(r.job for r in step.records if isinstance(r, Stopping))


def test_a_guarantee_takes_a_place_from_who_borrows(bench: Bench) -> None:
    told = effect(bench.world, SetQueue(QueueSpec("b", guarantee=(("gpus", 1000),)), ("guarantee",)), bench.now_us)
    assert len(told.stops) == 1
    shares = {one.name: one.share for one in told.after}
    assert shares["b"] >= 1000


def test_a_change_that_would_be_refused_is_refused(bench: Bench) -> None:
    with pytest.raises(ClearwayError, match="nowhere"):
        effect(bench.world, SetQueue(QueueSpec("c", parent="nowhere")), bench.now_us)
