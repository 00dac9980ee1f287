"""What a workflow may say, and how forms inside one another become steps."""

from __future__ import annotations

from typing import Any

import pytest

from clearway.flow.words import read_flow
from clearway.model.errors import InputError, UnknownWordError


def flow(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": "W", "steps": [{"run": "true", **step} for step in steps], **more}


def step(name: str, **words: Any) -> dict[str, Any]:
    return {"name": name, "run": "true", **words}


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ({"steps": []}, "name"),
        ({"name": "W"}, "steps"),
        ({"name": "W", "steps": [], "chain": []}, "steps"),
        ({"name": "W", "chain": {}}, "chain"),
        ({"name": "W", "chord": {"group": []}}, "chord"),
        ({"name": "W", "chain": [{"chain": [], "group": []}]}, "steps"),
        (flow({}), "name"),
        (flow({"name": "a.b"}), "name"),
        (flow({"name": "pass"}), "name"),
        (flow({"name": "a"}, {"name": "a"}), "name"),
        (flow({"name": "a"}, on_error=step("a")), "name"),
        (flow({"name": "a", "after": ["b"]}), "after"),
        (flow({"name": "a", "after": ["a"]}), "after"),
        (flow({"name": "a", "after": ["b"]}, {"name": "b", "after": ["a"]}), "after"),
        (flow({"name": "a", "rule": "some"}), "rule"),
        (flow({"name": "a", "when": "b.x"}), "when"),
        (flow({"name": "a", "when": "a.x"}), "when"),
        (flow({"name": "a", "when": "item"}), "when"),
        (flow({"name": "a", "when": "1 +"}), "when"),
        (flow({"name": "a"}, {"name": "b", "when": "a.x"}), "when"),
        (flow({"name": "a", "until": "b.x"}), "until"),
        (flow({"name": "a", "max_loops": 0}), "max_loops"),
        (flow({"name": "a", "each": 3}), "each"),
        (flow({"name": "a", "each": "b"}), "after"),
        (flow({"name": "a", "outputs": ["d"]}, {"name": "b", "outputs": ["c", "d"]}), "outputs"),
        (flow({"name": "a", "choose": ["b"]}, {"name": "b"}), "choose"),
        (flow({"name": "a", "choose": {"to": "b"}}), "choose"),
        (flow({"name": "a", "args": {"x": {"from": "b.x"}}}), "args"),
        (flow({"name": "a", "args": [1]}), "args"),
        (flow({"name": "a", "gpus": 1.5}), "gpus"),
    ],
)
def test_what_is_refused(raw: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as caught:
        read_flow(raw)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("raw", "near"),
    [
        ({"name": "W", "step": []}, "steps"),
        (flow({"name": "a", "untill": "true"}), "until"),
        (flow({"name": "a", "gpu": 1}), "gpus"),
        ({"name": "W", "chain": [{"chian": [], "group": []}]}, "chain"),
    ],
)
def test_an_unknown_word_names_the_nearest(raw: dict[str, Any], near: str) -> None:
    with pytest.raises(UnknownWordError, match=near):
        read_flow(raw)


def test_each_counts_as_after_and_steps_stand_in_order() -> None:
    found = read_flow(flow({"name": "b", "each": "a.files"}, {"name": "a"}))
    assert [s.name for s in found.steps] == ["a", "b"]
    assert found.steps[1].after == ("a",)


def test_forms_become_steps() -> None:
    inner = {"name": "in", "chord": {"group": [step("i1"), step("i2")], "callback": step("i3")}}
    found = read_flow({"name": "W", "chain": [step("a"), {"group": [step("g"), inner]}, step("z")]})
    after = {s.name: s.after for s in found.steps}
    assert after == {
        "a": (), "g": ("a",), "i1": ("a",), "i2": ("a",), "(1)": ("i1", "i2"), "i3": ("(1)",), "in": ("i3",),
        "(2)": ("g", "in"), "z": ("(2)",),
    }  # fmt: skip
    assert [s.name for s in found.steps if not s.shown] == ["(1)", "(2)"]


def test_many_steps_are_read_in_time_that_grows_with_them() -> None:
    raw = flow(
        *(
            {"name": f"s{i}", "after": [f"s{i - 1}"] if i else [], "when": f"s{i - 1}.x" if i else "true"}
            for i in range(3000)
        )
    )
    assert len(read_flow(raw).steps) == 3000
