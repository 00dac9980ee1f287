"""Turns of workflows that only a few words decide: early rules beside a choice, and what is run again."""

from __future__ import annotations

from typing import Any

from clearway.flow.words import read_flow
from clearway.model import flow_events as fe
from clearway.model.actions import Launch
from clearway.model.asks import RerunFlow, ResumeFlow, SubmitFlow
from clearway.model.ids import FlowId
from clearway.model.reasons import Code, because
from clearway.ports.engine import TaskIsGone, TaskIsUp
from clearway.testing.builders import Bench, node

W = FlowId(1)


def begun(*steps: dict[str, Any]) -> Bench:
    bench = Bench(node("n", cpus=64_000))
    named = [step if "pause" in step else {"run": "x", "cpus": 1, **step} for step in steps]
    bench.step(SubmitFlow(read_flow({"name": "W", "steps": named})))
    return bench


def finish(bench: Bench, name: str, code: int = 0, result: str = "") -> None:
    (task,) = [one.task for one in bench.orders if isinstance(one, Launch) and one.spec.name == name]
    bench.orders = [one for one in bench.orders if not (isinstance(one, Launch) and one.spec.name == name)]
    bench.step(TaskIsUp(task))
    bench.step(TaskIsGone(task, code, result=result))


def handed(bench: Bench) -> list[tuple[str, str]]:
    return [(one.spec.name, one.spec.input) for one in bench.orders if isinstance(one, Launch)]


def test_an_early_rule_does_not_go_ahead_of_a_choice() -> None:
    early = {"name": "d", "after": ["a", "pick"], "rule": "one_succeeded"}
    bench = begun({"name": "a"}, {"name": "pick", "choose": []}, early)
    finish(bench, "W.a")
    assert [name for name, _ in handed(bench)] == ["W.pick"]
    finish(bench, "W.pick")
    assert handed(bench) == []


def test_a_loop_that_is_run_again_goes_on_with_what_it_had_reached() -> None:
    bench = begun({"name": "l", "until": "pass >= 3"})
    finish(bench, "W.l", result="10")
    finish(bench, "W.l@2", code=1)
    bench.step(RerunFlow(W))
    assert handed(bench) == [("W.l@2", "10")]


def test_the_loop_limit_is_the_reason_of_a_run_only_where_nothing_else_failed() -> None:
    bench = begun({"name": "l", "until": "false", "max_loops": 1}, {"name": "a"})
    finish(bench, "W.l")
    finish(bench, "W.a", code=1)
    (ended,) = bench.all(fe.FlowEnded)
    assert ended.reason is not None
    assert (ended.reason.code, ended.reason.get("many")) == (Code.STEP_FAILED, 2)


def test_a_person_whose_answer_could_not_be_taken_is_asked_anew_when_it_is_run_again() -> None:
    bench = begun({"name": "ask", "pause": "Where?", "choose": {"from": "ask"}}, {"name": "b", "after": ["ask"]})
    bench.step(ResumeFlow(W, value='"nowhere"'))
    assert bench.all(fe.StepEnded)[0].reason == because(Code.NOT_A_FOLLOWER, name="nowhere")
    bench.step(RerunFlow(W))
    assert handed(bench) == [], "it waits for another answer"
    bench.step(ResumeFlow(W, value='"b"'))
    assert handed(bench) == [("W.b", '"b"')]
