"""The words of fleets, queues, limits and policies: what they become, and what is refused."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from clearway.model.errors import InputError, UnknownWordError
from clearway.model.fleet import PLENTY, LimitSpec, NodeSpec, PolicySpec, QueueSpec
from clearway.model.machine_words import (
    NODE_WORDS,
    POLICY_WORDS,
    QUEUE_WORDS,
    read_limit,
    read_nodes,
    read_policy,
    read_queue,
)
from clearway.model.words import read_job
from tests.model.tables import each

if TYPE_CHECKING:
    from collections.abc import Callable

SECOND = 1_000_000
NODE = """
name: gpu
cpus: 64
memory: 512GiB
disk: 2TiB
bandwidth: 25
gpus: 8
gpu_model: A100
gpu_memory: 80GiB
links: [[0, 1, 2, 3], [7, 6, 5, 4]]
pcie: [[0, 1], [2, 3], [4, 5], [6, 7]]
numa: [[0, 1, 2, 3], [4, 5, 6, 7]]
slices: [{device: 7, profile: 1g.10gb, count: 2}, {device: 6, profile: 3g.40gb}]
rack: r1
zone: z1
labels: {team: vision}
taints: [maintenance]
price: 12.5
spot: false
holds: [imagenet]
resources: {npu: 8}
"""
QUEUE = """
name: research
parent: org
guarantee: {gpus: 8}
limit: {gpus: 16, memory: 1TiB, cpus: 0.5, npu: 3, resources: {tpu: 2}}
weight: 2
borrow: true
lend: false
order: fifo
limit_per_user: {gpus: 2}
call_rate: 60/m
defaults: {max_retries: 3, time_limit: 72h}
"""
POLICY = """
order: [fair, priority, fifo]
backfill: conservative
estimate: forecast
quantile: 0.95
preempt: [priority, reclaim]
priority_inheritance: true
fairness: {measure: dominant, half_life: 2d}
ageing: 90m
score: {affinity: 1, fragmentation: 2, topology: 1, spread: 0, cost: 0}
min_runtime: 60s
calm: 30s
time_slice: 30m
reservation_timeout: 300s
fallback: priority
lease: 10s
share_memory: proportional
idle: {warn: 30m, release: 2h}
"""


def words_of(text: str) -> dict[str, Any]:
    found = yaml.safe_load(text)
    assert isinstance(found, dict)
    return found


# --- nodes -------------------------------------------------------------------------------------


def test_every_word_of_a_node_arrives_where_it_belongs() -> None:
    assert read_nodes(words_of(NODE)) == [
        NodeSpec(
            name="gpu",
            cpus=64_000,
            memory=512 * 2**30,
            disk=2 * 2**40,
            bandwidth=25_000,
            gpus=8,
            gpu_model="A100",
            gpu_memory=80 * 2**30,
            links=((0, 1, 2, 3), (4, 5, 6, 7)),
            pcie=((0, 1), (2, 3), (4, 5), (6, 7)),
            numa=((0, 1, 2, 3), (4, 5, 6, 7)),
            slices=((6, "3g.40gb"), (7, "1g.10gb"), (7, "1g.10gb")),
            rack="r1",
            zone="z1",
            labels=(("team", "vision"),),
            taints=("maintenance",),
            price_micros=12_500_000,
            spot=False,
            holds=("imagenet",),
            resources=(("npu", 8),),
        )
    ]
    assert set(NODE_WORDS) - set(words_of(NODE)) == {"count"}


def test_what_a_node_does_not_mention_is_plentiful_but_never_devices() -> None:
    (node,) = read_nodes({"name": "n"})
    assert (node.cpus, node.memory, node.disk, node.bandwidth, node.gpu_memory) == (PLENTY,) * 5
    assert (node.gpus, node.resources, node.spot, node.price_micros) == (0, (), False, 0)


def test_plenty_for_every_task_that_can_be_asked_for_still_fits_64_bits() -> None:
    assert 2 * PLENTY + 2**53 < 2**63


@pytest.mark.parametrize(("count", "names"), [(0, []), (1, ["gpu-0"]), (3, ["gpu-0", "gpu-1", "gpu-2"])])
def test_count_makes_like_nodes(count: int, names: list[str]) -> None:
    nodes = read_nodes({"name": "gpu", "count": count, "gpus": 2})
    assert [node.name for node in nodes] == names
    assert all(node.gpus == 2 for node in nodes)


def test_rack_zone_name_and_model_are_labels_too() -> None:
    (node,) = read_nodes(words_of(NODE))
    assert [node.label(k) for k in ("rack", "zone", "name", "gpu_model", "team", "other")] == [
        "r1", "z1", "gpu", "A100", "vision", None,
    ]  # fmt: skip
    assert read_nodes({"name": "n"})[0].label("rack") is None


BAD_NODES: list[tuple[str, object]] = [
    *each(["gpus"], 0.5, 1.5, -1, True, "8", math.nan, 1025),
    *each(["count"], -1, 1.5, True, "2"),
    *each(("memory", "disk", "gpu_memory"), "512", "128m", "1 Gi", -1, 0.5, True),
    *each(("cpus", "bandwidth"), -1, "8", math.inf, 0.0001, True),
    *[
        (word, bad)
        for word in ("links", "pcie", "numa")
        for bad in (5, [5], [[0, 0]], [[0], [0]], [[2]], [[-1]], [["0"]])
    ],
    *each(["price"], -1, "12", math.nan, math.inf, True, 1e300),
    *each(["spot"], 0, 1, "no"),
    *each(["resources"], {"npu": 0.5}, {"npu": -1}, [], {5: 1}),
    *each(["labels"], "a", {"a": 0.5}, {5: "a"}),
    *each(["taints"], 5, [5], {}),
    *each(["name"], "", 5, "x" * 1001, "\ud800"),
]


@pytest.mark.parametrize(("word", "bad"), BAD_NODES)
def test_a_bad_value_of_a_node_is_refused(word: str, bad: object) -> None:
    with pytest.raises(InputError) as caught:
        read_nodes({"name": "n1", "gpus": 2, word: bad})
    assert caught.value.field.split(".")[0] == word
    assert caught.value.place.startswith("node")
    assert caught.value.rule


# --- queues and limits -------------------------------------------------------------------------


def test_every_word_of_a_queue_arrives_where_it_belongs() -> None:
    assert read_queue(words_of(QUEUE)) == QueueSpec(
        name="research",
        parent="org",
        guarantee=(("gpus", 8000),),
        limit=(("cpus", 500), ("gpus", 16_000), ("memory", 2**40), ("npu", 3), ("tpu", 2)),
        weight=2,
        borrow=True,
        lend=False,
        order=("fifo",),
        limit_per_user=(("gpus", 2000),),
        call_rate=(60, 60_000_000),
        defaults=b'{"max_retries": 3, "time_limit": "72h"}',
    )
    assert set(QUEUE_WORDS) == set(words_of(QUEUE))


def test_a_limit_of_nothing_is_a_limit() -> None:
    assert read_queue({"name": "q", "limit": {"gpus": 0}}).limit == (("gpus", 0),)


def test_defaults_read_back_as_words_of_a_job() -> None:
    text = "{name: q, defaults: {deadline: 2026-12-01T08:00:00Z, checkpoint: {every: 10m}}}"
    defaults = json.loads(read_queue(words_of(text)).defaults)
    spec = read_job({"name": "a"}, defaults)
    assert spec.deadline_us == 1_796_112_000 * SECOND
    assert spec.checkpoint.every_us == 600 * SECOND


BAD_QUEUES: list[tuple[str, object]] = [
    *each(
        ["call_rate"], 5, "", "0/s", "5", "5/w", "-1/s", "1.5/s", "1000001/s", "9" * 50 + "/s", "5/s\n", [], {"s": 5}
    ),
    *each(("guarantee", "limit", "limit_per_user"), 5, [], {"gpus": -1}, {"gpus": "8"}),
    *each(("guarantee", "limit"), {"memory": "1 Gi"}, {"npu": 0.5}, {5: 1, "gpus": 1}),
    *each(["limit"], {"gpus": math.nan}, {"gpus": True}, {"resources": 5}, {"resources": {"npu": -1}}),
    *each(["weight"], -1, 0.5, True, "2"),
    *each(("borrow", "lend"), 0, 1, "yes"),
    *each(["order"], [], 5, [5]),
    *each(["parent"], "", 5, "q"),
]


@pytest.mark.parametrize(("word", "bad"), BAD_QUEUES)
def test_a_bad_value_of_a_queue_is_refused(word: str, bad: object) -> None:
    with pytest.raises(InputError) as caught:
        read_queue({"name": "q", word: bad})
    assert caught.value.field.split(".")[0] == word
    assert caught.value.place == "queue q"


@pytest.mark.parametrize(("defaults", "field"), [({"gpus": 1.5}, "gpus"), ({"gpu": 1}, "gpu"), (5, "defaults")])
def test_bad_defaults_are_refused_when_the_queue_is_read(defaults: object, field: str) -> None:
    with pytest.raises(InputError) as caught:
        read_queue({"name": "q", "defaults": defaults})
    assert caught.value.field == field
    assert caught.value.place.startswith("queue q")


def test_a_shared_limit_has_a_name_and_slots() -> None:
    assert read_limit({"name": "database", "slots": 4}) == LimitSpec("database", 4)


@pytest.mark.parametrize(
    "raw", [{}, {"name": "a"}, {"slots": 1}, {"name": "a", "slots": -1}, {"name": "a", "slots": True}]
)
def test_a_bad_shared_limit_is_refused(raw: dict[str, object]) -> None:
    with pytest.raises(InputError):
        read_limit(raw)


# --- policies ----------------------------------------------------------------------------------


def test_every_word_of_a_policy_arrives_where_it_belongs() -> None:
    assert read_policy(words_of(POLICY)) == PolicySpec(
        order=("fair", "priority", "fifo"),
        backfill="conservative",
        estimate="forecast",
        quantile=950,
        preempt=("priority", "reclaim"),
        priority_inheritance=True,
        score=(("affinity", 1), ("cost", 0), ("fragmentation", 2), ("spread", 0), ("topology", 1)),
        fairness_measure="dominant",
        half_life_us=2 * 86_400 * SECOND,
        min_runtime_us=60 * SECOND,
        calm_us=30 * SECOND,
        time_slice_us=1800 * SECOND,
        reservation_timeout_us=300 * SECOND,
        fallback="priority",
        lease_us=10 * SECOND,
        share_memory="proportional",
        ageing_us=5400 * SECOND,
        idle_warn_us=1800 * SECOND,
        idle_release_us=7200 * SECOND,
    )
    assert set(POLICY_WORDS) == set(words_of(POLICY))


def test_no_policy_is_the_stated_one() -> None:
    plain = read_policy({})
    assert plain == PolicySpec()
    assert (plain.order, plain.backfill, plain.preempt, plain.estimate) == (("priority", "fifo"), "easy", (), "user")
    assert (plain.lease_us, plain.calm_us, plain.min_runtime_us) == (30 * SECOND, 60 * SECOND, 0)
    assert plain.reservation_timeout_us is None
    assert not plain.priority_inheritance


def test_use_may_be_remembered_for_ever_or_not_at_all() -> None:
    assert read_policy({"fairness": {"half_life": "none"}}).half_life_us is None
    assert read_policy({"fairness": {"half_life": "1h"}}).half_life_us == 3600 * SECOND
    for bad in (0, "0s", -1, True, "soon"):
        with pytest.raises(InputError, match="half_life"):
            read_policy({"fairness": {"half_life": bad}})


BAD_POLICIES: list[tuple[str, object]] = [
    *each(("backfill", "estimate", "share_memory"), "all", "", 5, True, []),
    *each(["preempt"], "priority", ["age"], 5, [5], {}),
    *each(["order"], [], 5, [5], {}),
    *each(["score"], [], 5, {"cost": -1}, {"cost": 0.5}, {"cost": True}, {5: 1}),
    *each(["fairness"], 5, "gpu", []),
    *each(["idle"], 30, [], True),
    *each(["ageing"], 0, "0s", -1, True, "soon", []),
    *each(("min_runtime", "calm", "time_slice", "lease"), -1, "soon", True, math.nan),
    ("lease", 0),
    ("priority_inheritance", 1),
    ("fallback", ""),
]


@pytest.mark.parametrize(("word", "bad"), BAD_POLICIES)
def test_a_bad_value_of_a_policy_is_refused(word: str, bad: object) -> None:
    with pytest.raises(InputError) as caught:
        read_policy({word: bad})
    assert caught.value.field.split(".")[0] == word
    assert caught.value.place == "policy"


# --- all of them -------------------------------------------------------------------------------

READERS: list[tuple[Callable[[Any], object], str, str]] = [
    (read_nodes, "cpu", "cpus"),
    (read_queue, "garantee", "guarantee"),
    (read_limit, "slot", "slots"),
    (read_policy, "backfil", "backfill"),
    (lambda raw: read_policy({"fairness": raw}), "mesure", "measure"),
]


@pytest.mark.parametrize(("read", "key", "nearest"), READERS)
def test_an_unknown_key_names_the_nearest_word(read: Callable[[Any], object], key: str, nearest: str) -> None:
    with pytest.raises(UnknownWordError) as caught:
        read({key: 1})
    assert f"{nearest!r}" in caught.value.rule
    assert caught.value.place


@pytest.mark.parametrize("raw", [None, 5, "n1", [], True])
@pytest.mark.parametrize("read", [read_nodes, read_queue, read_limit, read_policy])
def test_what_is_not_a_map_is_refused(read: Callable[[Any], object], raw: object) -> None:
    with pytest.raises(InputError, match="a map of words"):
        read(raw)


@pytest.mark.parametrize("read", [read_nodes, read_queue, read_limit])
def test_everything_has_a_name(read: Callable[[Any], object]) -> None:
    with pytest.raises(InputError, match="name"):
        read({})


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10) | st.sampled_from(["1Gi", "10m"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4) | st.integers(), inner, max_size=2),
    max_leaves=4,
)


@pytest.mark.parametrize(
    ("read", "words"),
    [
        (read_nodes, NODE_WORDS),
        (read_queue, QUEUE_WORDS),
        (read_policy, POLICY_WORDS),
        (read_limit, {"name": 1, "slots": 1}),
    ],
)
@given(data=st.data())
def test_whatever_comes_is_read_or_refused_and_can_be_written_down(
    read: Callable[[Any], object], words: dict[str, object], data: st.DataObject
) -> None:
    raw = data.draw(
        st.dictionaries(st.sampled_from([*words, "other"]), ANY, max_size=4).filter(lambda w: "count" not in w)
    )
    try:
        found = read(raw)
    except InputError as error:
        assert error.rule
    else:
        assert msgspec.json.encode(found)


@pytest.mark.parametrize(
    ("slices", "rule"),
    [
        ([{"device": 2, "profile": "1g.10gb"}], "below gpus"),
        ([{"device": 0, "profile": "1g.10gb", "count": 7}, {"device": 0, "profile": "1g.10gb"}], "sevenths"),
        ([{"device": 0, "profile": "3g.40gb", "count": 2}], "memory"),
        ([{"device": 0, "profile": "small"}], "MIG profile"),
        ([{"profile": "1g.10gb"}], "device"),
        ([{"device": 0, "profile": "1g.10gb", "cuont": 2}], "count"),
        ("1g.10gb", "list"),
    ],
)
def test_slices_that_a_device_does_not_have_are_refused(slices: object, rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        read_nodes({"name": "n", "gpus": 2, "gpu_memory": "40GiB", "slices": slices})
