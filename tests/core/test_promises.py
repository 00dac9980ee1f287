"""A promise is looked at again in the cycle in which another one that touches it is made, moved or dropped."""

from __future__ import annotations

from clearway.model import events as ev
from clearway.model.asks import SetQueue, Submit
from clearway.model.fleet import PolicySpec, QueueSpec
from clearway.model.values import SECOND_US
from clearway.testing.builders import Bench, job, node


def test_what_is_cleared_for_one_breaks_the_promise_to_another_at_once() -> None:
    """So a world that was restarted in between, which looks at every promise, decides the same as the one before."""
    policy = PolicySpec(order=("priority", "fifo"), preempt=("priority",))
    bench = Bench(node(gpus=1), policy=policy)
    for name in "ab":
        bench.step(SetQueue(QueueSpec(name)))
    low, other = bench.submit(
        job("low", queue="a", time_limit_us=60 * SECOND_US), job("other", queue="b", time_limit_us=60 * SECOND_US)
    )
    bench.up(low)
    assert bench.last(ev.Reserved).job == other
    restarted = bench.rebuilt()
    urgent = Submit((job("urgent", queue="a", priority=5),))
    step = bench.step(urgent)
    assert [(r.job, r.held) for r in step.records if isinstance(r, ev.Reserved)] == [(other, False), (other + 1, True)]
    again = restarted.step((urgent,), bench.now_us)
    assert [r for r in again.records if isinstance(r, ev.Reserved)] == bench.all(ev.Reserved)[-2:]
