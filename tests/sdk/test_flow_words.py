"""What a function that builds a workflow makes of the arguments of its calls, and how they come to the task again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from clearway import task
from clearway.model.errors import InputError
from clearway.sdk.flows import flow
from clearway.sdk.flows.at_work import KINDS
from clearway.sdk.flows.packed import FUNCTION, KIND, unpacked
from clearway.sdk.flows.plain import MOST, SMALL, from_plain, to_plain

if TYPE_CHECKING:
    from pathlib import Path


@task
def one(x: Any) -> Any:
    return x


@task
def told(*args: Any, **kwargs: Any) -> str:
    return repr((args, kwargs))


def done(words: dict[str, Any], given: object) -> Any:
    """Do what the job of a step does with what it is given, in this process."""
    env = words["env"]
    return KINDS[env[KIND]](unpacked(env[FUNCTION]), given)


def step_of(called: Any, *args: object) -> dict[str, Any]:
    words, _ = flow(called).words(*args)
    step: dict[str, Any] = words["steps"][-1]
    return step


def handed(step: dict[str, Any], results: dict[str, object]) -> object:
    return {name: results[one["from"]] if isinstance(one, dict) else one for name, one in step["args"].items()}


def test_results_inside_lists_and_maps_are_filled_in() -> None:
    step = step_of(lambda: told([one(1), [one(2)["x"], 3]], more={"a": one(4)}))
    assert step["after"] == ["one", "one_2", "one_3"]
    given = handed(step, {"one": 10, "one_2.x": 20, "one_3": 30})
    assert done(step, given) == "(([10, [20, 3]],), {'more': {'a': 30}})"


def test_an_argument_may_have_any_name() -> None:
    step = step_of(lambda: told(literals=one(1), given=2))
    assert done(step, handed(step, {"one": 5})) == "((), {'literals': 5, 'given': 2})"
    plain = step_of(lambda: told(literals=1))
    assert done(plain, handed(plain, {})) == "((), {'literals': 1})"


@pytest.mark.parametrize("called", [lambda: told.map([1], more=one(2)), lambda: told.map([one(1), 2])])
def test_a_map_over_what_is_not_known_is_refused(called: Any) -> None:
    with pytest.raises(InputError, match="there now"):
        step_of(called)


def test_a_long_result_is_kept_in_a_file_and_its_short_parts_stay_where_conditions_see_them(tmp_path: Path) -> None:
    result = {"loss": 0.2, "rows": ["x" * 100] * (MOST // 50), "deep": {"note": "short", "text": "y" * SMALL}}
    found = to_plain(result, tmp_path / "result")
    assert (found["loss"], found["deep"]["note"]) == (0.2, "short")
    assert len(json.dumps(found)) < SMALL
    assert from_plain(json.loads(json.dumps(found))) == result
    whole = to_plain(["x" * 1000] * (MOST // 500), tmp_path / "other")
    assert from_plain(whole) == ["x" * 1000] * (MOST // 500)


def test_the_nodes_of_a_round_read_one_long_state_and_stay_where_they_are(tmp_path: Path) -> None:
    state = {"log": ["x" * 1000] * (MOST // 1000), "left": 3}
    tasks = {"think": [{"node": "think", "state": state}], "act": [{"node": "act", "state": state, "arg": "z" * MOST}]}
    found = {"state": state, "tasks": tasks, "done": False, "held": [{"update": {"text": "u" * MOST}}]}
    found = to_plain(found, tmp_path / "result", planned=True)
    assert (found["done"], found["tasks"]["act"][0]["node"], found["state"]["left"]) == (False, "act", 3)
    assert found["tasks"]["think"][0]["state"] == found["state"]
    assert len(json.dumps(found)) < SMALL
    assert from_plain(found)["tasks"] == tasks
    assert from_plain(found)["held"] == [{"update": {"text": "u" * MOST}}]
    assert len(list(tmp_path.iterdir())) == 3
