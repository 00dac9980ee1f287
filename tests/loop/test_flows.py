"""What workflows do in the world whatever their words and results are: nothing of it stops the loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from clearway.flow.json_text import MOST_BYTES, MOST_DEEP
from clearway.flow.words import read_flow
from clearway.loop.flows import MOST_AT_ONCE
from clearway.model import events as ev
from clearway.model import flow_events as fe
from clearway.model.asks import LookFlows, RerunFlow, SubmitFlow
from clearway.model.ids import FlowId, JobId
from clearway.model.reasons import Code
from clearway.ports.engine import TaskIsGone
from clearway.testing.builders import Bench, node

if TYPE_CHECKING:
    from clearway.model.asks import FlowView, StepView

RUN = {"run": "true"}


def begun(*steps: dict[str, Any], **words: object) -> Bench:
    bench = Bench(node("n", cpus=64_000))
    bench.step(SubmitFlow(read_flow({"name": "w", "steps": list(steps), **words})))
    return bench


def view(bench: Bench, ref: str = "w") -> FlowView:
    found: Any = bench.step(LookFlows(ref)).answers[0]
    return cast("FlowView", found[0])


def step_of(bench: Bench, name: str, ref: str = "w") -> StepView:
    return next(step for step in view(bench, ref).steps if step.name == name)


def gives(bench: Bench, job: int, result: str) -> None:
    """Have a job end well with a result."""
    bench.step(TaskIsGone(bench.task(JobId(job)), 0, result=result))


def goes_on(bench: Bench) -> int:
    """Take steps until the world wants none at once, and return how many."""
    many = 0
    while bench.next_us == bench.now_us:
        bench.step()
        many += 1
    return many


def test_a_result_of_the_largest_size_is_handed_on_in_a_map() -> None:
    bench = begun({"name": "a", **RUN}, {"name": "b", "args": {"x": {"from": "a"}}, "after": ["a"], **RUN})
    gives(bench, 1, '"' + "x" * (MOST_BYTES - 2) + '"')
    assert len(step_of(bench, "b").input) == MOST_BYTES + len('{"x":}')


@pytest.mark.parametrize(
    "result", ['"' + "x" * MOST_BYTES + '"', "[" * (MOST_DEEP + 1) + "]" * (MOST_DEEP + 1)], ids=["long", "deep"]
)
def test_a_result_that_cannot_be_kept_whole_fails_its_step_and_is_not_taken_in_part(result: str) -> None:
    bench = begun({"name": "a", **RUN}, {"name": "b", "after": ["a"], **RUN})
    gives(bench, 1, result)
    a, reason = step_of(bench, "a"), bench.world.state.flows.again[JobId(1)].reason
    assert (a.state, reason and reason.code, a.result) == ("failed", Code.TOO_LONG, "null")
    assert step_of(bench, "b").state == "upstream_failed"


def test_what_is_too_long_together_fails_the_step_that_it_is_for() -> None:
    many = [{"name": f"a{i}", **RUN} for i in range(17)]
    bench = begun(*many, {"name": "b", "after": [one["name"] for one in many], **RUN})
    for job in range(1, 18):
        gives(bench, job, '"' + "x" * (MOST_BYTES - 2) + '"')
    b = step_of(bench, "b")
    assert (b.state, b.reason and b.reason.code, b.reason and b.reason.get("what")) == (
        "failed", Code.TOO_LONG, "what it is handed",
    )  # fmt: skip


def test_the_results_of_many_instances_are_too_long_together() -> None:
    bench = begun({"name": "a", "each": list(range(17)), **RUN})
    for job in range(1, 18):
        gives(bench, job, '"' + "x" * (MOST_BYTES - 2) + '"')
    a = step_of(bench, "a")
    assert (a.state, a.reason and a.reason.get("what"), a.result) == ("failed", "its result", "null")


NOTHING = {"steps": [{"name": "p", "pause": "?", "when": "false"}]}


def test_a_value_that_grows_with_each_pass_comes_to_an_end() -> None:
    twice = {**NOTHING, "result": {"a": {"from": "input"}, "b": {"from": "input"}}}
    bench = begun({"name": "i", "workflow": twice, "until": "false"})
    goes_on(bench)
    assert [r.reason and r.reason.code for r in bench.all(fe.FlowEnded)][-2:] == [Code.TOO_LONG, Code.STEP_FAILED]


def test_a_value_that_grows_deeper_with_each_pass_comes_to_an_end() -> None:
    bench = begun({"name": "i", "workflow": {**NOTHING, "result": {"a": {"from": "input"}}}, "until": "false"})
    goes_on(bench)
    assert len(bench.all(fe.FlowEnded)) == MOST_DEEP + 2


@pytest.mark.parametrize("inner", [{"steps": []}, {"group": []}, {"chain": []}])
def test_a_workflow_inside_another_one_may_have_no_steps(inner: dict[str, Any]) -> None:
    bench = begun({"name": "i", "workflow": inner}, {"name": "b", "after": ["i"], **RUN})
    assert bench.world.jobs[JobId(1)].spec.name == "w.b"


def test_a_loop_that_runs_nothing_lets_others_go_on() -> None:
    bench = begun({"name": "i", "workflow": {"steps": []}, "until": "false", "max_loops": 1_000_000})
    bench.step(SubmitFlow(read_flow({"name": "other", "steps": [{"name": "a", **RUN}]})))
    assert len(bench.step().records) < 4 * MOST_AT_ONCE
    assert bench.next_us == bench.now_us
    assert [e.spec.name for e in bench.world.jobs.values()] == ["other.a"]


def test_a_long_list_of_which_nothing_runs_is_gone_through_in_parts_also_by_another_controller() -> None:
    bench = begun({"name": "a", "each": list(range(10_000)), "when": "item < 0", **RUN})
    bench.world = bench.rebuilt()
    bench.step()
    assert goes_on(bench) > 1
    assert (view(bench).state, step_of(bench, "a").ended) == ("succeeded", 10_000)
    assert len(bench.all(fe.LoopEnded)) == 10_000


def test_a_loop_may_count_what_its_result_says() -> None:
    bench = begun({"name": "a", "until": "false", "max_loops": 2, "passes": {"from": "a.rounds"}, **RUN})
    for i, rounds in enumerate((1, 1, 1, 2), 1):
        gives(bench, i, f'{{"rounds":{rounds}}}')
    reason = view(bench).reason
    assert reason is not None
    assert (reason.code, bench.world.jobs, len(bench.all(ev.Submitted))) == (Code.LOOP_LIMIT, {}, 4)


def test_with_a_workflow_come_those_inside_it() -> None:
    asks = {"steps": [{"name": "ask", "pause": "Really?"}]}
    bench = begun({"name": "i", "workflow": {"steps": [{"name": "j", "each": [1, 2], "workflow": asks}]}})
    bench.step(SubmitFlow(read_flow({"name": "other", "steps": [{"name": "a", **RUN}]})))
    names = [[one.name for one in cast("Any", bench.step(LookFlows(ref)).answers[0])] for ref in ("w", "w.i.j[1]")]
    assert names == [["w", "w.i", "w.i.j[0]", "w.i.j[1]"], ["w.i.j[1]"]]


def test_one_workflow_is_found_by_its_number_before_any_by_its_name() -> None:
    bench = begun({"name": "a", **RUN})
    bench.step(*(SubmitFlow(read_flow({"name": name, "steps": [{"name": "a", **RUN}]})) for name in ("1", "w")))
    assert [view(bench, ref).id for ref in ("1", "id:2", "w", "id:1")] == [1, 2, 3, 1]
    assert bench.step(LookFlows("nobody")).answers == [()]
    everything: Any = bench.step(LookFlows()).answers[0]
    assert [one.id for one in everything] == [1, 2, 3]


def test_instances_that_failed_before_ones_that_go_on_are_run_again_too() -> None:
    bench = begun({"name": "a", "each": [1, 2, 3], "until": "pass >= 2", "max_loops": 1, **RUN})
    bench.end(JobId(1), 1)
    gives(bench, 2, "2")
    gives(bench, 3, "3")
    again = read_flow({"name": "w", "steps": [{"name": "a", "each": [1, 2, 3], "until": "pass >= 2", **RUN}]})
    bench.step(RerunFlow(FlowId(1), again, "ada"))
    while bench.world.jobs:
        gives(bench, min(bench.world.jobs), "0")
    assert (view(bench).state, step_of(bench, "a").result) == ("succeeded", "[0,0,0]")
    turns = [(r.item, r.turn) for r in bench.all(fe.PartEntered)]
    assert sorted(turns) == [(0, 1), (0, 1), (0, 2), (1, 1), (1, 2), (2, 1), (2, 2)]
