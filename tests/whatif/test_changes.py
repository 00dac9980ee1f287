"""Changes that a what-if is asked about."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearway.model.errors import InputError
from clearway.model.fleet import LimitSpec, NodeSpec, QueueSpec
from clearway.whatif.changes import other_limits, other_machines, other_queues

if TYPE_CHECKING:
    from collections.abc import Callable

NODES = (
    NodeSpec("a-0", cpus=64_000, gpus=8, gpu_model="A100", rack="r1"),
    NodeSpec("a-1", cpus=64_000, gpus=8, gpu_model="A100", links=((0, 1),)),
    NodeSpec("v", gpus=4, gpu_model="V100"),
    NodeSpec("cpu", cpus=8000),
)
QUEUES = (QueueSpec("research", guarantee=(("gpus", 8000),), limit=(("gpus", 16_000),)), QueueSpec("a.b", weight=3))


def shape(nodes: tuple[NodeSpec, ...]) -> list[tuple[str, int, str]]:
    return [(node.name, node.gpus, node.gpu_model) for node in nodes]


def test_more_gpus_stand_on_nodes_like_those_that_are_there() -> None:
    more = other_machines(NODES, ["+12xA100"])
    assert shape(more[4:]) == [("a-0+0", 8, "A100"), ("a-0+1", 4, "A100")]
    assert more[4].rack == "r1"
    (new,) = other_machines(NODES, ["+8xH100"])[4:]
    assert (new.gpus, new.gpu_model, new.cpus) == (8, "H100", 64_000)
    assert shape(other_machines(NODES[3:], ["+8xH100"])[1:]) == [("node+0", 8, "H100")]
    assert shape(other_machines(NODES, ["+8xgpu"])[4:]) == [("a-0+0", 8, "A100")]


def test_fewer_gpus_are_taken_from_the_last_nodes_that_have_them() -> None:
    assert shape(other_machines(NODES, ["-10xA100"])) == [("a-0", 6, "A100"), ("v", 4, "V100"), ("cpu", 0, "")]
    fewer = other_machines(NODES, ["-4xV100", "-1xnode:cpu"])
    assert [node.name for node in fewer] == ["a-0", "a-1"]
    assert other_machines(NODES, ["-1xA100"])[1].links == (), "of a part of a node nobody knows how it is linked"


def test_nodes_like_one_that_is_there() -> None:
    more = other_machines(NODES, ["+2xnode:v", "+1xnode:v"])
    assert [node.name for node in more[4:]] == ["v+0", "v+1", "v+2"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("8xH100", "\\+8xH100"),
        ("+0xH100", "\\+8xH100"),
        ("-17xA100", "16 A100, 4 V100"),
        ("-1xT4", "at most what is there"),
        ("+1xnode:a-9", "did you mean 'a-"),
        ("-2xnode:v", "one node by its name"),
        ("+99999xnode:v", "at most 100000 nodes"),
    ],
)
def test_machines_that_cannot_be_are_refused(change: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        other_machines(NODES, [change, "+2xnode:v"])
    assert caught.value.field == "fleet"


def test_a_fleet_without_nodes_is_none() -> None:
    with pytest.raises(InputError, match="at least one node"):
        other_machines(NODES[2:3], ["-4xV100"])


@given(st.text(max_size=20))
def test_no_text_does_anything_else_than_change_or_refuse(text: str) -> None:
    changes: list[Callable[[list[str]], object]] = [
        partial(other_machines, NODES), partial(other_queues, QUEUES), partial(other_limits, (LimitSpec("db", 2),)),
    ]  # fmt: skip
    for change in changes:
        for one in (text, f"research.{text}", f"+1x{text}", f"db={text}"):
            try:
                change([one])
            except InputError as error:
                assert str(error)


def test_words_of_a_queue_are_set_and_taken_back() -> None:
    found = {
        q.name: q for q in other_queues(QUEUES, ["research.guarantee.gpus=16", "a.b.weight=1", "research.limit=none"])
    }
    assert dict(found["research"].guarantee) == {"gpus": 16_000}
    assert (found["research"].limit, found["a.b"].weight) == ((), 1)
    assert other_queues(QUEUES, ["a.b.limit.gpus=0.5"])[1].limit == (("gpus", 500),)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("reserch.weight=1", "did you mean 'research'"),
        ("research.wieght=1", "did you mean 'weight'"),
        ("research.weight", "QUEUE.WORD=VALUE"),
        ("research.weight=-1", "a whole number"),
        ("research.guarantee.gpu=1", "did you mean 'gpus'"),
        ("research.weight.gpus=1", "weight"),
    ],
)
def test_words_that_a_queue_cannot_have_are_refused(change: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        other_queues(QUEUES, [change])


def test_where_no_queue_is_declared_it_is_said() -> None:
    with pytest.raises(InputError, match="there is no queue here but default"):
        other_queues((), ["default.limit.gpus=2"])


def test_slots_of_a_shared_limit() -> None:
    assert other_limits((LimitSpec("db", 2),), ["db=4"]) == (LimitSpec("db", 4),)
    with pytest.raises(InputError, match="did you mean 'db'"):
        other_limits((LimitSpec("db", 2),), ["dp=4"])
    with pytest.raises(InputError, match="there are none"):
        other_limits((), ["db=4"])
