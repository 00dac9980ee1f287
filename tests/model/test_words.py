"""The words of a job: what they become, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from clearway.model.array import Array
from clearway.model.errors import ClearwayError, InputError, UnknownWordError
from clearway.model.job import Checkpoint, Demand, JobSpec, Pin, Role, Topology
from clearway.model.words import CHECKPOINT_WORDS, JOB_WORDS, ROLE_WORDS, check_keys, read_job
from tests.model.tables import each

SECOND = 1_000_000
LEFT = (("logs", 2**30), ("weights", 0))
PLACE: dict[str, Any] = {
    "secrets": ("TOKEN",),
    "venv": ".venv",
    "image": "pytorch:2",
    "outputs": LEFT,
    "right_size": "apply",
}
NOT_NUMBERS: list[object] = [True, "4", "many", math.nan, math.inf, -math.inf, [1], {"a": 1}]

WHOLE_JOB = """
name: finetune
run: python train.py
workdir: .
code: copied
env: {MODEL: tiny, SEED: 7}
secrets: [TOKEN]
venv: .venv
runtime_env: {pip: [einops]}
image: pytorch:2
queue: research
priority: 50
tasks: 4
min_tasks: 2
one_per_node: true
gpus: 2
gpu_model: [A100, H100]
gpu_memory: 40GiB
cpus: 8
memory: 64GiB
disk: 200GiB
bandwidth: 10
resources: {npu: 1}
colocate: 2
topology: {require: nvlink, prefer: rack}
array: 0-99%10
speedup: {1: 1, 2: 1.9, 4: 3.5}
nodes: {zone: z1}
inputs: [{name: imagenet, size: 150GB}]
outputs: [weights, {name: logs, size: 1GiB}]
right_size: apply
tolerates: [maintenance]
spot: avoid
uses: [database]
after: [prepare]
time_limit: 72h
time_estimate: 9h
start_deadline: 1h
deadline: 2026-12-01T08:00:00Z
on_deadline: stop
preemptible: false
checkpoint: {every: 10m, signal: SIGUSR1, grace: 60s, on_stop: true, write_time: 5s}
max_retries: 3
retry_on: [exit 75, timed_out]
max_cost: 200
retry_backoff: 4s
retry_backoff_max: 5m
retry_jitter: full
retry_window: 2d
max_losses: 4
idempotency_key: k1
user: ann
tenant: vision
labels: {team: a}
pin: {node: n1, devices: [3, 1]}
"""


PLACED: dict[str, Any] = {
    "topology": Topology("nvlink", "rack"),
    "speedup": ((1, 1_000_000), (2, 1_900_000), (4, 3_500_000)),
    "array": Array(((0, 99, 1),), 10),
    "pin": Pin("n1", (1, 3)),
    "runtime_env": '{"pip": ["einops"]}',
}
"""What the example becomes of where it goes and what it finds there."""


def job(**words: object) -> JobSpec:
    return read_job({"name": "train", **words})


def refusal(**words: object) -> InputError:
    with pytest.raises(InputError) as caught:
        job(**words)
    return caught.value


def test_every_word_arrives_where_it_belongs() -> None:
    assert read_job(yaml.safe_load(WHOLE_JOB)) == JobSpec(  # noqa: S604  a field of ours; nothing is started here
        name="finetune",
        run=("python train.py",),
        shell=True,
        workdir=".",
        code="copied",
        env=(("MODEL", "tiny"), ("SEED", "7")),
        queue="research",
        priority=50,
        roles=(
            Role(
                name="task",
                tasks=4,
                min_tasks=2,
                one_per_node=True,
                demand=Demand(
                    gpus=2,
                    gpu_models=("A100", "H100"),
                    gpu_memory=40 * 2**30,
                    cpus=8000,
                    memory=64 * 2**30,
                    disk=200 * 2**30,
                    bandwidth=10_000,
                    resources=(("npu", 1),),
                    nodes=(("zone", "z1"),),
                    tolerates=("maintenance",),
                    inputs=(("imagenet", 150 * 10**9),),
                    spot="avoid",
                    colocate=2,
                ),
            ),
        ),
        **PLACE,
        uses=("database",),
        after=("prepare",),
        time_limit_us=72 * 3600 * SECOND,
        time_estimate_us=9 * 3600 * SECOND,
        start_deadline_us=3600 * SECOND,
        deadline_us=1_796_112_000 * SECOND,
        on_deadline="stop",
        preemptible=False,
        checkpoint=Checkpoint(600 * SECOND, "SIGUSR1", 60 * SECOND, on_stop=True, write_time_us=5 * SECOND),
        max_retries=3,
        retry_on=("exit 75", "timed_out"),
        max_cost_micros=200_000_000,
        retry_backoff_us=4 * SECOND,
        retry_backoff_max_us=300 * SECOND,
        retry_jitter="full",
        retry_window_us=2 * 86_400 * SECOND,
        max_losses=4,
        idempotency_key="k1",
        user="ann",
        tenant="vision",
        labels=(("team", "a"),),
        **PLACED,
    )


def test_the_example_above_says_every_word_there_is() -> None:
    said = yaml.safe_load(WHOLE_JOB)
    assert set(JOB_WORDS) - set(said) == {"roles", "slice"}
    assert set(CHECKPOINT_WORDS) == set(said["checkpoint"])


def test_a_slice_stands_for_all_that_is_said_of_devices() -> None:
    demand = job(slice="3g.40gb").roles[0].demand
    assert (demand.slice, demand.milli_gpus, demand.gpus) == ("3g.40gb", 428, 0)
    assert "gpu_memory" in refusal(slice="1g.10gb", gpu_memory="1GiB").rule
    assert "gpus" in refusal(slice="1g.10gb", gpus=1).rule
    for bad in ("1g", "8g.10gb", "1g.10GB", "0g.5gb"):
        assert refusal(slice=bad).field == "slice"


def test_slices_are_in_no_island() -> None:
    """A topology that nothing could hold them to is refused, not passed over."""
    near, mixed = {"require": "nvlink"}, [{"name": "a", "gpus": 1}, {"name": "b", "slice": "1g.10gb"}]
    assert refusal(slice="1g.10gb", tasks=2, topology=near).field == "topology.require"
    assert refusal(roles=mixed, topology=near).field == "topology.require"
    for fine in ({"require": "rack"}, {"prefer": "nvlink"}):
        assert job(slice="1g.10gb", tasks=2, topology=fine).topology == Topology(**fine)
    assert job(slice="1g.10gb", topology=near).topology.require == "nvlink"


def test_turns_are_for_whole_devices_and_each_role_that_has_any() -> None:
    spec = job(colocate=3, roles=[{"name": "launcher"}, {"name": "worker", "gpus": 1}])
    assert [role.demand.colocate for role in spec.roles] == [0, 3]
    assert job(colocate=3, gpu_memory="1GiB").roles[0].demand.colocate == 0
    assert refusal(colocate=1, gpus=0.5).field == "colocate"


def test_what_nothing_is_said_about_has_the_stated_defaults() -> None:
    plain = job()
    assert (plain.queue, plain.priority, plain.preemptible, plain.on_deadline) == ("default", 0, True, "report")
    assert (plain.max_retries, plain.max_losses, plain.retry_jitter) == (0, 10, "none")
    assert (plain.retry_backoff_us, plain.retry_backoff_max_us) == (2 * SECOND, 300 * SECOND)
    assert plain.checkpoint == Checkpoint(grace_us=10 * SECOND, signal="SIGTERM")
    assert plain.roles == (Role("task", 1, 1, Demand(spot="allow")),)
    assert plain.time_limit_us is plain.time_estimate_us is plain.deadline_us is plain.retry_window_us is None


def test_a_word_without_a_value_is_not_said() -> None:
    assert job(gpus=None, queue=None, time_limit=None) == job()


# --- refusals ----------------------------------------------------------------------------------

NUMBERS: dict[str, list[object]] = {
    "priority": [1.5, 2**31],
    "tasks": [0, -1, 1.0, 10**7],
    "min_tasks": [-1, 1.0, 0, 2],
    "gpus": [-1, 1.5, 0.0001, 10**7],
    "cpus": [-1, 0.0001, 10**7],
    "bandwidth": [-1, 0.0001],
    "max_retries": [-1, 1.0],
    "max_losses": [-1, 0.5],
}
TIMES = [
    "time_limit", "time_estimate", "start_deadline", "retry_backoff", "retry_backoff_max", "retry_window",
]  # fmt: skip
SIZES = ["memory", "disk", "gpu_memory"]
TEXTS = ["name", "queue", "idempotency_key", "user", "tenant"]
CHOICES = {"spot": "allow, require, avoid", "on_deadline": "report, stop", "retry_jitter": "none, full"}


BAD = [
    *each(NUMBERS, *NOT_NUMBERS),
    *[(word, bad) for word, more in NUMBERS.items() for bad in more],
    *each(TIMES, -1, "30", "soon", "", math.nan, math.inf, True, [1], "1e3s", "-5s"),
    *each(SIZES, "128m", "0.5", "1 Gi", "Gi", "", "-1Gi", "1Zz", "1e400", "1e3", -1, 0.5, True),
    *each(TEXTS, "", "x" * 1001, "a\0", "\ud800", 5, True, ["a"], {}),
    *each(CHOICES, "", "sometimes", True, 1, ["none"]),
    *each(["one_per_node", "preemptible"], 0, 1, "yes", "true", []),
    *each(["gpu_model", "tolerates", "uses", "after"], 5, {}, [""], [5], True),
    *each(["nodes", "labels", "env"], 5, "a=b", ["a"], {"a": 1.5}, {"a": True}, {5: "a"}, {"": "1"}),
    *each(["resources"], 5, "npu", ["npu"], {"npu": -1}, {"npu": 0.5}, {"npu": True}, {"": 1}, {5: 1}),
    *each(["run"], "", "  ", 5, [], {}, [""], ["a", 5], "a\0b", True),
    *each(["workdir"], 5, "a\0b", ["a"]),
    *each(["code"], 5, "frozen", "sha256:abc", "sha256:" + "G" * 64),
    *each(["env"], {"A=B": "1"}, {"A": "\0"}),
    *each(["deadline"], "soon", "2026-12-01", "2026-12-01T08:00:00", True, -5, math.nan, []),
    *each(["roles"], [], {}, "worker", 5),
    *each(["pin"], "", 5, {}, {"devices": [1]}),
    *each(["checkpoint"], "10m", 600, [], True),
]


@pytest.mark.parametrize(("word", "bad"), BAD)
def test_a_bad_value_is_refused_with_word_value_rule_and_place(word: str, bad: object) -> None:
    error = refusal(**{word: bad})
    assert error.field.split(".")[0] == word
    assert error.rule
    assert error.value
    assert error.place.startswith("job")
    assert str(error).startswith(error.field)


@pytest.mark.parametrize(("word", "allowed"), CHOICES.items())
def test_a_choice_names_what_is_allowed(word: str, allowed: str) -> None:
    assert allowed in refusal(**{word: "sometimes"}).rule


INSIDE = [
    ({"checkpoint": {"every": "soon"}}, "every"),
    ({"checkpoint": {"signal": "SIGKILL"}}, "signal"),
    ({"checkpoint": {"grace": -1}}, "grace"),
    ({"checkpoint": {"on_stop": 1}}, "on_stop"),
    ({"roles": [{"name": "a", "gpus": 1.5}]}, "gpus"),
    ({"roles": [{"name": "a", "tasks": 0}]}, "tasks"),
    ({"roles": [{"name": "a", "min_tasks": 2}]}, "min_tasks"),
    ({"roles": [{"name": "a"}, {"name": "a"}]}, "roles"),
    ({"roles": [{"name": "a"}], "tasks": 2}, "tasks"),
    ({"roles": [{"name": "a"}], "min_tasks": 1}, "min_tasks"),
    ({"roles": [5]}, "roles[0]"),
    ({"pin": {"node": "n", "devices": [-1]}}, "devices"),
    ({"pin": {"node": "n", "devices": 1}}, "devices"),
]


@pytest.mark.parametrize(("words", "field"), INSIDE)
def test_a_bad_value_inside_another_is_refused_by_its_own_word(words: dict[str, object], field: str) -> None:
    assert refusal(**words).field == field


@pytest.mark.parametrize(
    ("key", "nearest"),
    [
        ("gpu", "gpus"),
        ("gpu_memmory", "gpu_memory"),
        ("timelimit", "time_limit"),
        ("Priority", "priority"),
        ("cpu", "cpus"),
    ],
)
def test_an_unknown_key_names_key_place_and_nearest_word(key: str, nearest: str) -> None:
    with pytest.raises(UnknownWordError) as caught:
        job(**{key: 1})
    assert caught.value.field == key
    assert f"{nearest!r}" in caught.value.rule
    assert caught.value.place == "job train"


@pytest.mark.parametrize("words", [{"checkpoint": {"evry": 1}}, {"roles": [{"task": 1}]}, {"pin": {"nodes": 1}}])
def test_an_unknown_key_inside_another_word_says_where(words: dict[str, object]) -> None:
    with pytest.raises(UnknownWordError) as caught:
        job(**words)
    assert caught.value.place.startswith(f"job train: {next(iter(words))}")


def test_a_bad_value_inside_a_role_says_which_role() -> None:
    assert refusal(roles=[{"name": "a"}, {"name": "b", "gpus": 1.5}]).place == "job train: roles[1]"


def test_a_job_has_a_name() -> None:
    with pytest.raises(InputError, match="every job has a name"):
        read_job({"run": "true"})


@pytest.mark.parametrize("raw", [None, 5, "train", [], [{"name": "a"}]])
def test_what_is_not_a_map_of_words_is_no_job(raw: Any) -> None:
    with pytest.raises(InputError, match="a map of words"):
        read_job(raw)


def test_a_refused_name_is_cut_in_the_place() -> None:
    assert len(str(refusal(name="x" * 10_000))) < 300
    assert len(str(refusal(name={"a": "x" * 10_000}))) < 300


# --- what is asked for -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "demand"),
    [
        ({"gpus": 2}, Demand(gpus=2)),
        ({"gpus": 2.0}, Demand(gpus=2)),
        ({"gpus": 0.5}, Demand(share=500)),
        ({"gpus": 0}, Demand()),
        ({"gpu_memory": "24GiB"}, Demand(gpu_memory=25769803776)),
        ({"gpu_memory": "24GB"}, Demand(gpu_memory=24000000000)),
        ({"gpu_model": "A100"}, Demand(gpu_models=("A100",))),
        ({"gpu_model": ["H100", "A100"]}, Demand(gpu_models=("H100", "A100"))),
        ({"cpus": 0.1}, Demand(cpus=100)),
        ({"resources": {"npu": 0}}, Demand()),
    ],
)
def test_needs_become_whole_numbers(words: dict[str, object], demand: Demand) -> None:
    assert job(**words).roles[0].demand == demand


def test_a_share_or_memory_alone_asks_for_a_part_of_one_device() -> None:
    assert Demand(share=500).one_device
    assert Demand(gpu_memory=1).one_device
    assert not Demand(gpus=1, gpu_memory=1).one_device
    assert not Demand().one_device


def test_equal_needs_are_equal_however_they_are_written() -> None:
    one = job(resources={"a": 1, "b": 2}, nodes={"zone": "z", "rack": "r"}, memory="1GiB", gpus=1)
    other = job(gpus=1.0, memory=2**30, nodes={"rack": "r", "zone": "z"}, resources={"b": 2, "a": 1})
    assert one == other
    assert hash(one.roles[0].demand) == hash(other.roles[0].demand)


def test_roles_share_the_words_that_they_do_not_say() -> None:
    spec = job(gpus=1, cpus=2, roles=[{"name": "launcher", "gpus": 0}, {"name": "worker", "tasks": 3, "min_tasks": 0}])
    assert spec.roles == (Role("launcher", 1, 1, Demand(cpus=2000)), Role("worker", 3, 0, Demand(gpus=1, cpus=2000)))
    assert spec.milli_gpus == 3000


def test_a_role_may_be_called_task_and_have_no_minimum() -> None:
    assert job(roles=[{"name": "head"}, {"name": "task", "min_tasks": 0}]).roles[1].min_tasks == 0


@pytest.mark.parametrize(
    ("words", "estimate_us"),
    [
        ({}, None),
        ({"time_limit": 5}, 5 * SECOND),
        ({"time_estimate": 3}, 3 * SECOND),
        ({"time_limit": 5, "time_estimate": 3}, 3 * SECOND),
        ({"time_limit": 5, "time_estimate": 9}, 5 * SECOND),
    ],
)
def test_the_estimate_is_the_users_else_the_limit_else_unknown(
    words: dict[str, object], estimate_us: int | None
) -> None:
    assert job(**words).estimate_us == estimate_us


def test_a_command_is_a_line_for_the_shell_or_a_program_with_arguments() -> None:
    assert (job(run="a b | c").run, job(run="a b | c").shell) == (("a b | c",), True)
    assert (job(run=["a", "b c", ""]).run, job(run=["a", "b c", ""]).shell) == (("a", "b c", ""), False)


def test_a_deadline_may_be_seconds_from_the_start_of_a_scenario() -> None:
    assert job(deadline=90).deadline_us == 90 * SECOND


# --- defaults ----------------------------------------------------------------------------------


def test_a_queues_defaults_hold_where_the_job_says_nothing() -> None:
    spec = read_job({"name": "a", "max_retries": 1}, {"max_retries": 3, "time_limit": "72h"})
    assert (spec.max_retries, spec.time_limit_us) == (1, 72 * 3600 * SECOND)


def test_a_job_with_roles_does_not_take_the_number_of_tasks_of_its_queue() -> None:
    assert read_job({"name": "a", "roles": [{"name": "x"}]}, {"tasks": 4, "min_tasks": 2, "gpus": 1}).roles == (
        Role("x", 1, 1, Demand(gpus=1)),
    )


def test_a_job_that_says_its_tasks_does_not_take_the_minimum_of_its_queue() -> None:
    assert read_job({"name": "a", "tasks": 2}, {"tasks": 8, "min_tasks": 4}).roles[0].min_tasks == 2


def test_a_job_that_says_null_takes_the_default() -> None:
    assert read_job({"name": "a", "max_retries": None}, {"max_retries": 3}).max_retries == 3


# --- keys --------------------------------------------------------------------------------------


def test_keys_of_somebody_else_are_skipped_when_named() -> None:
    assert read_job({"name": "a", "runtime": 5}, extra=frozenset({"runtime"})) == read_job({"name": "a"})


def test_keys_are_checked_whatever_the_values_are() -> None:
    check_keys("job", {"name": object(), "topology": 5, "runtime": 1}, JOB_WORDS, frozenset({"runtime"}))
    with pytest.raises(UnknownWordError, match="'tasks'"):
        check_keys("job", {"taks": 1}, JOB_WORDS)
    with pytest.raises(InputError, match="a map of words"):
        check_keys("job", [], JOB_WORDS)


def test_every_word_says_what_it_means_and_how_a_command_line_writes_it() -> None:
    for words in (JOB_WORDS, ROLE_WORDS, CHECKPOINT_WORDS):
        for name, word in words.items():
            assert word.help, name
            assert word.shape in {"text", "number", "flag", "names", "map", "nested"}, name


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10) | st.sampled_from(["1Gi", "10m"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)


@given(st.dictionaries(st.sampled_from([*JOB_WORDS, "pin", "gpu", ""]), VALUES, max_size=5))
def test_whatever_comes_is_a_job_or_a_refusal_and_nothing_else(raw: dict[str, object]) -> None:
    try:
        spec = read_job(raw)
    except InputError as error:
        assert isinstance(error, ClearwayError)
        assert error.rule
    else:
        assert spec.name == raw["name"]
