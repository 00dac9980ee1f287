"""How scenario files are read, and how they are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clearway.model.asks import Refuse
from clearway.model.errors import InputError, NotYetError, UnknownWordError
from clearway.model.fleet import PolicySpec
from clearway.model.job import JobSpec
from clearway.sim.events import DevicesFail, EndAgain, JobWish, NodesJoin, QueueWish, SpotNotice
from clearway.sim.scenario import read_scenario

if TYPE_CHECKING:
    from pathlib import Path

    from clearway.sim.batch import Arrival

SECOND = 1_000_000
FLEET = "fleet: {nodes: [{name: n1, gpus: 4}]}\n"


def arrivals(text: str) -> list[Arrival]:
    return list(read_scenario(text).arrivals())


def jobs(words: str, more: str = "") -> list[Arrival]:
    return arrivals(f"{FLEET}{more}\njobs: [{words}]")


def spec(words: str, more: str = "") -> JobSpec:
    (arrival,) = jobs(words, more)
    assert isinstance(arrival.what, JobSpec), arrival.what
    return arrival.what


def refused(words: str) -> str:
    (arrival,) = jobs(words)
    assert isinstance(arrival.what, Refuse), arrival.what
    return " ".join(str(v) for _, v in arrival.what.reason.facts)


def test_nothing_said_is_the_policy_that_the_words_promise() -> None:
    assert read_scenario(FLEET).policy == PolicySpec()


def test_a_path_is_read_as_a_file_and_a_text_as_yaml(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(f"title: T\n{FLEET}")
    assert read_scenario(file).title == "T"
    with pytest.raises(InputError, match="can be read"):
        read_scenario(tmp_path / "none.yaml")
    file.write_bytes(b"title: \xff")
    with pytest.raises(InputError, match="UTF-8"):
        read_scenario(file)


@pytest.mark.parametrize(("wrong", "right"), [("runtim", "runtime"), ("stop_tim", "stop_time"), ("gpuz", "gpus")])
def test_a_wrong_word_of_a_job_is_answered_with_the_nearest_one_that_a_scenario_knows(wrong: str, right: str) -> None:
    with pytest.raises(InputError, match=f"did you mean '{right}'"):
        jobs(f"{{name: J, {wrong}: 3}}")


def test_a_job_has_its_words_and_its_truth_apart() -> None:
    words = (
        "{name: J, submit: 1m, gpus: 0.5, runtime: [10, 1h], exit_code: [1, 0], stop_time: never, speed: {A100: 2.1}, "
        "slowdown: {node: 1.5}, busy: 0.25, cancel_after: 5, pin: {node: n1, devices: [0]}}"
    )
    ((at_us, what, truth),) = jobs(words)
    assert at_us == 60 * SECOND
    assert isinstance(what, JobSpec)
    assert what.roles[0].demand.share == 500
    assert truth.runtimes_us == (10 * SECOND, 3600 * SECOND)
    assert [truth.exit_code(n) for n in (1, 2, 3)] == [1, 0, 0]
    assert [truth.runtime_us(n) for n in (1, 2, 3)] == [10 * SECOND, 3600 * SECOND, 3600 * SECOND]
    assert (truth.stop_us, truth.speed, truth.slowdown) == (None, (("A100", 2_100_000),), (("node", 1_500_000),))
    assert (truth.busy, truth.cancel_after_us) == (250, 5 * SECOND)


def test_a_count_makes_numbered_jobs_with_spaced_submits() -> None:
    found = jobs("{name: a, count: 3, submit: 1, every: 0.5}, {name: b, submit: 1.5}")
    assert [(a.at_us, a.what.name) for a in found] == [
        (1_000_000, "a-1"), (1_500_000, "a-2"), (1_500_000, "b"), (2_000_000, "a-3"),
    ]  # fmt: skip
    assert jobs("{name: a, count: 0}") == []


def test_of_jobs_that_enter_together_those_that_others_wait_for_go_first() -> None:
    found = jobs("{name: c, after: [b, a]}, {name: x}, {name: b, after: [a]}, {name: a}, {name: y, after: [later]}")
    assert [a.what.name for a in found] == ["a", "b", "c", "x", "y"]
    circle = jobs("{name: a, after: [b]}, {name: b, after: [a]}, {name: s, after: [s]}")
    assert sorted(a.what.name for a in circle) == ["a", "b", "s"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("{name: J, gpus: 1.5}", ["gpus", "1.5", "whole number"]),
        ("{name: J, gpus: .nan}", ["gpus", "nan"]),
        ("{name: J, gpus: .inf}", ["gpus", "inf"]),
        ("{name: J, gpus: 1.0e+400}", ["gpus", "1.0e+400"]),
        ("{name: J, memory: 1e400}", ["memory", "1e400"]),
        ("{name: J, cpus: true}", ["cpus", "true"]),
        ("{name: J, runtime: -5}", ["runtime", "-5"]),
        ("{name: J, runtime: []}", ["runtime"]),
        ("{name: J, exit_code: 256}", ["exit_code", "256"]),
        ("{name: J, busy: 1.5}", ["busy", "1.5"]),
        ("{name: J, speed: {A100: 0}}", ["speed.A100"]),
        ("{name: J, slowdown: {moon: 2}}", ["slowdown", "nvlink"]),
        ("{name: J, checkpoint: {every: -1}}", ["every", "-1"]),
        ("{name: a.b}", ["name", "free of"]),
        ("{name: J, deadline: yesterday}", ["deadline", "offset"]),
    ],
)
def test_a_refused_value_refuses_the_job_and_not_the_file(words: str, said: list[str]) -> None:
    assert all(word in refused(words) for word in said), refused(words)


def test_every_job_of_a_refused_batch_is_refused_under_its_own_name() -> None:
    assert [a.what.name for a in jobs("{name: a, count: 2, gpus: -1}")] == ["a-1", "a-2"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("flet: {}", ["flet", "fleet", "scenario"]),
        ("jobs: [{name: J, gpu: 1}]", ["gpu:", "gpus", "job J"]),
        ("jobs: [{name: J, gpus: -1, checkpoint: {evry: 1}}]", ["evry", "every", "job J"]),
        ("jobs: [{name: J, runtimes: 1}]", ["runtimes", "runtime"]),
        ("fleet: {node: []}", ["node:", "nodes"]),
        ("fleet: {nodes: [{name: n, gpu: 1}]}", ["gpu:", "gpus", "node"]),
        ("policy: {ordr: [fifo]}", ["ordr", "order"]),
        ("queues: [{name: q, limits: {}}]", ["limits", "limit"]),
        (FLEET + "events: [{at: 1, node_losst: n1}]", ["node_losst", "node_lost", "events[0]"]),
        ("expect: {start: {}}", ["start:", "starts", "expect"]),
        ("expect: {either: [{finals: {}}]}", ["finals", "final", "expect.either[0]"]),
    ],
)
def test_an_unknown_key_refuses_the_file_naming_key_place_and_nearest_word(text: str, said: list[str]) -> None:
    with pytest.raises(UnknownWordError) as error:
        read_scenario(text)
    assert all(word in str(error.value) for word in said), str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "map of keys"),
        ("jobs: {name: J}", "a list"),
        ("jobs: [J]", "maps of words"),
        ("jobs: [{gpus: 1}]", "has a name"),
        ("jobs: [{name: J}, {name: J}]", "a name stands once"),
        ("jobs: [{name: J, count: 2}, {name: J-2}]", "a name stands once"),
        ("jobs: [{name: J, submit: -1}]", "submit"),
        ("fleet: {nodes: [{name: n, gpus: 1.5}]}", "gpus"),
        ("fleet: {nodes: [{name: n}, {name: n}]}", "a name stands once"),
        ("fleet: {nodes: [{name: 'n#1'}]}", "free of"),
        ("policy: {order: [alphabet]}", "order"),
        ("policy: nice", "policy"),
        ("queues: [{name: q, parent: p}]", "parent"),
        ("queues: [{name: q, parent: p}, {name: p, parent: q}]", "parent"),
        ("queues: [{name: q}, {name: q}]", "name of its own"),
        ("limits: [{name: l, slots: -1}]", "slots"),
        ("until: soon", "until"),
        ("clock: 2026-01-05T12:00:00", "offset"),
        ("events: [{at: 1, node_lost: n9}]", "n9"),
        ("events: [{at: 1, cancel: J}]", "J"),
        ("events: [{at: 1}]", "one kind"),
        (FLEET + "events: [{at: 1, drain: n1, undrain: n1}]", "one kind"),
        (FLEET + "events: [{at: -1, drain: n1}]", "at"),
        (FLEET + "events: [{at: 1, remove_node: n1}, {at: 2, drain: n1}]", "there then"),
        (FLEET + "events: [{at: 1, add_node: {name: n1}}]", "stands once"),
        ("events: [{at: 1, kill_controller: softly}]", "hard"),
        ("events: [{at: 1, start_controller: 1}]", "true"),
        ("jobs: [{name: J}]\nevents: [{at: 1, redeliver_end: 'J#x'}]", "J#1"),
    ],
)
def test_a_bad_value_outside_of_jobs_refuses_the_file(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said.replace("[", r"\[")):
        read_scenario(text)


@pytest.mark.parametrize(
    "text",
    [
        "services: [{name: S}]",
        "load: [{service: S}]",
        "policy: {order: [learned, fifo]}",
    ],
)  # fmt: skip
def test_what_is_known_but_not_carried_out_refuses_the_file_with_its_own_error(text: str) -> None:
    with pytest.raises(NotYetError, match="this version does not carry out"):
        read_scenario(text)


def test_a_mistake_is_told_before_what_comes_later() -> None:
    with pytest.raises(UnknownWordError, match="gpu"):
        read_scenario("services: [{name: W}]\njobs: [{name: J, gpu: 1}]")
    assert read_scenario("workflows: []\nservices: null").batches == ()


def test_defaults_come_from_the_nearest_queue_that_states_the_word() -> None:
    queues = """
queues:
  - {name: leaf, parent: mid, defaults: {max_retries: 1}}
  - {name: mid, parent: top, defaults: {max_retries: 2, priority: 2}}
  - {name: top, defaults: {max_retries: 3, priority: 3, time_limit: 3}}
"""
    found = spec("{name: J, queue: leaf}", queues)
    assert (found.max_retries, found.priority, found.time_limit_us) == (1, 2, 3 * SECOND)
    assert spec("{name: J, queue: leaf, priority: 9}", queues).priority == 9
    assert [q.name for q in read_scenario(FLEET + queues).queues] == ["top", "mid", "leaf"]


def test_a_changed_queue_gives_its_new_defaults_from_then_on_and_keeps_its_other_words() -> None:
    text = f"""{FLEET}
queues: [{{name: q, limit: {{gpus: 2}}, defaults: {{priority: 1}}}}]
jobs: [{{name: J, count: 3, every: 10, queue: q}}]
events:
  - {{at: 20, set_queue: {{name: q, weight: 5}}}}
  - {{at: 10, set_queue: {{name: q, defaults: {{priority: 7}}}}}}
"""
    scenario = read_scenario(text)
    assert [a.what.priority for a in scenario.arrivals() if isinstance(a.what, JobSpec)] == [1, 7, 7]
    first, second = [e.queue for e in scenario.events if isinstance(e, QueueWish)]
    assert (first.limit, first.weight, second.weight) == ((("gpus", 2000),), 1, 5)
    assert second.limit == first.limit


def test_a_deadline_as_a_date_is_counted_from_the_clock() -> None:
    clock = 'clock: "2026-01-05T00:00:00Z"'
    assert spec("{name: J, deadline: 2026-01-05T01:00:00+00:00}", clock).deadline_us == 3600 * SECOND
    assert spec("{name: J, deadline: 100}", clock).deadline_us == 100 * SECOND
    assert spec("{name: J, deadline: 2020-01-05T01:00:00+00:00}", clock).deadline_us == 0


def test_an_oracle_knows_the_run_time() -> None:
    assert spec("{name: J, runtime: 7, time_estimate: 99}", "policy: {estimate: oracle}").time_estimate_us == 7 * SECOND


def test_events_are_read_in_order_of_time() -> None:
    text = f"""{FLEET}
jobs: [{{name: J}}]
events:
  - {{at: 9, spot_notice: n1}}
  - {{at: 1, add_node: {{name: m, count: 2}}}}
  - {{at: 2, spot_notice: {{node: m-0, in: 0}}}}
  - {{at: 2, devices_unhealthy: {{node: n1, devices: [3, 1]}}}}
  - {{at: 3, redeliver_end: "J#2"}}
  - {{at: 4, suspend: J}}
  - {{at: 5, wall_clock_step: -3600}}
"""
    join, spot, sick, again, wish, step, notice = read_scenario(text).events
    assert isinstance(join, NodesJoin)
    assert [n.name for n in join.nodes] == ["m-0", "m-1"]
    assert spot == SpotNotice(2 * SECOND, "m-0", 0)
    assert sick == DevicesFail(2 * SECOND, "n1", (1, 3))
    assert again == EndAgain(3 * SECOND, "J", 2)
    assert wish == JobWish(4 * SECOND, "suspend", "J")
    assert step.at_us == 5 * SECOND
    assert notice == SpotNotice(9 * SECOND, "n1", 30 * SECOND)
