from __future__ import annotations

from clearway.loop.world import World
from clearway.model.values import SECOND_US
from clearway.observe.load_history import STEP_S, load_history
from clearway.testing.builders import Bench, job, node


def test_arrivals_are_counted_and_use_is_spread_over_steps() -> None:
    b = Bench(node())
    b.pass_s(STEP_S)
    one, two = b.submit(job("a", gpus=2), job("b", gpus=1))
    b.up(one)
    b.up(two)
    b.pass_s(STEP_S * 3 // 2)
    b.end(one)
    b.pass_s(STEP_S // 2)
    found = load_history(World(), b.journal, 0, 4 * STEP_S * SECOND_US, None)
    assert found.arrivals.tolist() == [0, 2, 0, 0]
    assert found.gpus.tolist() == [0, 3, 2, 1]


def test_of_one_queue_only_what_is_in_it() -> None:
    b = Bench(node())
    (one,) = b.submit(job("a", gpus=2))
    b.up(one)
    found = load_history(World(), b.journal, 0, STEP_S * SECOND_US, "elsewhere")
    assert found.arrivals.tolist() == found.gpus.tolist() == [0]
    assert load_history(World(), b.journal, 0, STEP_S * SECOND_US, "default").gpus.tolist() == [2]
