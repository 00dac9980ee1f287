"""Workflows with many steps and many items: what enters at a time, and that a step costs the same in a long one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from clearway.flow.advance import AHEAD
from clearway.flow.words import read_flow
from clearway.model import flow_events as fe
from clearway.model.actions import Launch
from clearway.model.asks import RerunFlow, SubmitFlow
from clearway.model.ids import FlowId
from clearway.model.states import State
from clearway.ports.engine import TaskIsGone, TaskIsUp
from clearway.testing.builders import Bench, node

if TYPE_CHECKING:
    from types import FrameType

JOB = {"run": "x", "cpus": 1}


def begun(*steps: dict[str, Any], cpus: int = 1) -> Bench:
    bench = Bench(node("n", cpus=1000 * cpus))
    bench.step(SubmitFlow(read_flow({"name": "W", "steps": [{**JOB, **step} for step in steps]})))
    return bench


def finish(bench: Bench) -> int:
    """End what has started; return how many that were."""
    launches = [order for order in bench.orders if isinstance(order, Launch)]
    bench.orders.clear()
    bench.step(*(TaskIsUp(one.task) for one in launches))
    bench.step(*(TaskIsGone(one.task, 0, result=one.spec.input) for one in launches))
    return len(launches)


def test_the_items_of_a_long_list_enter_as_earlier_ones_end() -> None:
    bench = begun({"name": "a", "each": list(range(AHEAD + 5))}, {"name": "b", "after": ["a"]}, cpus=3)
    world = bench.world
    entered: set[int] = set()
    while world.state.flows.tracks[FlowId(1)].state is None:
        assert len(world.jobs) <= AHEAD
        ended = len([one for one in bench.all(fe.PartEntered) if one.job not in world.jobs])
        entered.add(len(bench.all(fe.PartEntered)) - ended)
        assert finish(bench)
    assert max(entered) == AHEAD
    inputs = [one.input for one in bench.all(fe.PartEntered)]
    assert inputs[:-1] == [str(i) for i in range(AHEAD + 5)]
    assert inputs[-1] == "[" + ",".join(inputs[:-1]) + "]"
    assert world.state.flows.tracks[FlowId(1)].state == State.SUCCEEDED


def test_a_hundred_thousand_items_cost_nothing_before_their_turn() -> None:
    bench = begun({"name": "a", "each": list(range(100_000))})
    assert (len(bench.world.jobs), len(bench.all(fe.PartEntered))) == (AHEAD, AHEAD)
    assert len(bench.world.state.flows.tracks[FlowId(1)].steps["a"].instances) == AHEAD


def calls_a_step(many: int) -> float:
    """Return how many functions are called for a step of a chain of so many."""
    bench = begun(*({"name": f"s{i}", "after": [f"s{i - 1}"] if i else []} for i in range(many)))
    calls = 0

    def count(_frame: FrameType, event: str, _what: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        while bench.world.state.flows.tracks[FlowId(1)].state is None:
            finish(bench)
    finally:
        sys.setprofile(None)
    return calls / many


def test_a_step_costs_the_same_in_a_long_workflow() -> None:
    """Calls are counted, for time is not the same twice: a step that looked at all others would make more of them."""
    short, long = calls_a_step(50), calls_a_step(300)
    assert long < 1.1 * short


def test_another_list_has_all_its_items_run_when_the_workflow_is_run_again() -> None:
    """Results are kept by place, and belong to the items of the list that they came from."""
    steps = [{**JOB, "name": "a", "each": [1, 2]}, {**JOB, "name": "b", "each": [5, 6]}]
    bench = begun(*steps, cpus=9)
    for one in [order for order in bench.orders if isinstance(order, Launch)]:
        bench.step(TaskIsUp(one.task))
        bench.step(TaskIsGone(one.task, int(one.spec.name.endswith("[1]"))))
    bench.orders.clear()
    again = read_flow({"name": "W", "steps": [{**steps[0], "each": [8, 9]}, steps[1]]})
    bench.step(RerunFlow(FlowId(1), again))
    inputs = sorted((order.spec.name, order.spec.input) for order in bench.orders if isinstance(order, Launch))
    assert inputs == [("W.a[0]", "8"), ("W.a[1]", "9"), ("W.b[1]", "6")]
