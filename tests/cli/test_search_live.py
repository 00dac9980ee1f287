"""Searches on a real controller: every trial once, also over kills; the best of them; a cancel; what is wrong."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from clearway.cli import faults
from tests.cli.live import Product, kill, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    made = Product(tmp_path_factory.mktemp("searches") / "home")
    assert made.starting("up", "--detach").code == 0
    yield made
    made.stop()


def completed(product: Product, name: str, many: int) -> bool:
    return bool(product.json("search", "show", name)["completed"] >= many)


def test_the_best_trial_is_found_and_shown(product: Product) -> None:
    text = """
name: best
trials: 6
parallel: 3
space: {x: {from: -2, to: 3}, my-kind: [a]}
sampler: grid
metric: loss
job:
  run: >-
    test $CLEARWAY_POINT_my_kind = a &&
    echo "{\\"loss\\": $((CLEARWAY_POINT_x * CLEARWAY_POINT_x + 1))}" > $CLEARWAY_RESULT
"""
    done = product("search", "run", "-", "--wait", stdin=text)
    assert done.code == 0, done
    katib = product("search", "run", "-", stdin="{apiVersion: kubeflow.org/v1beta1, kind: Experiment}")
    assert (katib.code, "clearway search import FILE" in katib.err) == (faults.BAD_INPUT, True)
    assert 'the best is 1 at my-kind "a", x 0 (best.3)' in done.out
    found = product.json("search", "show", "best")
    assert (found["state"], found["completed"], found["best"]["point"]) == ("succeeded", 6, {"my-kind": "a", "x": 0})
    assert [trial["value"] for trial in found["trials"]] == [5, 2, 1, 2, 5, 10]
    lines = product("search", "show", "best").out.splitlines()
    assert [line.split()[0] for line in lines[2:8]] == [f"best.{n}" for n in (3, 2, 4, 1, 5, 6)]
    assert product.json("show", "best.3")["state"] == "succeeded"
    assert product("why", "best.3").code == 0
    assert product.json("search", "list")["searches"][0]["best"]["value"] == 1


def test_exactly_as_many_trials_as_are_wanted_over_kills(product: Product, tmp_path: Path) -> None:
    run = f"echo $CLEARWAY_JOB >> {tmp_path}/ran; sleep 0.2; cp $CLEARWAY_INPUT $CLEARWAY_RESULT"
    text = f"{{name: often, trials: 12, parallel: 3, space: {{x: {{from: 1, to: 50}}}}, job: {{run: '{run}'}}}}"
    assert product("search", "run", "-", stdin=text).code == 0
    for many in (2, 5, 9):
        until(partial(completed, product, "often", many), f"{many} are over")
        kill(product.json("status")["controller"]["pid"])
        assert product.starting("up", "--detach").code == 0
    until(lambda: product.json("search", "show", "often")["state"] == "succeeded", "it is over")
    found = product.json("search", "show", "often")
    points = [trial["point"]["x"] for trial in found["trials"]]
    assert (found["completed"], len(points), len(set(points)), found["best"]) == (12, 12, 12, None)
    assert len((tmp_path / "ran").read_text().split()) == 12
    assert product("search", "run", "-", "--wait", stdin=text).code == 0  # once it is over, the name is free again


@pytest.mark.parametrize("sampler", ["tpe", "cmaes"])
def test_a_sampler_that_learns_gets_every_trial_once_over_kills(product: Product, sampler: str) -> None:
    run = "sleep 0.1; echo $((CLEARWAY_POINT_x * CLEARWAY_POINT_x + CLEARWAY_POINT_y * CLEARWAY_POINT_y))"
    space = "{x: {from: -9, to: 9}, y: {from: -9, to: 9}}"
    words = f"name: {sampler}, trials: 14, parallel: 2, sampler: {sampler}, space: {space}"
    text = f"{{{words}, job: {{run: '{run} > $CLEARWAY_RESULT'}}}}"
    assert product("search", "run", "-", stdin=text).code == 0
    for many in (1, 6):
        until(partial(completed, product, sampler, many), f"{many} are over")
        kill(product.json("status")["controller"]["pid"])
        assert product.starting("up", "--detach").code == 0
    until(lambda: product.json("search", "show", sampler)["state"] != "running", "it is over")
    found = product.json("search", "show", sampler)
    assert (found["state"], found["completed"], len(found["trials"])) == ("succeeded", 14, 14)
    for trial in found["trials"]:
        assert trial["value"] == trial["point"]["x"] ** 2 + trial["point"]["y"] ** 2
    assert found["best"]["value"] == min(trial["value"] for trial in found["trials"])


def test_cancel_stops_what_runs(product: Product) -> None:
    text = "{name: ends, trials: 9, parallel: 2, space: {x: [1, 2, 3]}, job: {run: sleep 60}}"
    assert product("search", "run", "-", stdin=text).code == 0
    until(lambda: {t["state"] for t in product.json("search", "show", "ends")["trials"]} == {"running"}, "two run")
    again = product("search", "run", "-", stdin=text)
    assert (again.code, "still runs" in again.err) == (faults.CONFLICT, True)
    assert product("search", "cancel", "ends").code == 0
    until(lambda: product.json("search", "show", "ends")["state"] == "cancelled", "it is cancelled")
    assert [trial["state"] for trial in product.json("search", "show", "ends")["trials"]] == ["cancelled"] * 2


def test_a_trial_that_does_badly_is_stopped_also_over_a_kill(product: Product, tmp_path: Path) -> None:
    wait = f"while test $CLEARWAY_POINT_x = 4 && ! test -e {tmp_path}/go; do sleep 0.1; done"
    tell = "for s in 1 2 3; do echo $CLEARWAY_POINT_x >> $CLEARWAY_METRICS; done"
    last = "test $CLEARWAY_POINT_x != 4 || sleep 600"
    words = "name: early, trials: 4, sampler: grid, space: {x: [1, 2, 3, 4]}, stop: {rule: median, min_trials: 3}"
    text = f"{{{words}, job: {{run: '{wait}; {tell}; {last}'}}}}"
    assert product("search", "run", "-", stdin=text).code == 0
    until(partial(completed, product, "early", 3), "three are over")
    kill(product.json("status")["controller"]["pid"])
    assert product.starting("up", "--detach").code == 0
    (tmp_path / "go").touch()
    until(lambda: product.json("search", "show", "early")["state"] == "succeeded", "it is over")
    found = product.json("search", "show", "early")
    assert (found["completed"], found["stopped"], found["best"]["value"]) == (3, 1, 1)
    assert [trial["state"] for trial in found["trials"]] == ["succeeded"] * 3 + ["stopped"]
    assert found["trials"][3]["reports"][0] == {"step": 1, "value": 4}
    assert [trial["value"] for trial in found["trials"]] == [1, 2, 3, None]
    told = product("search", "show", "early").out
    assert "1 stopped early" in told
    assert "(4 at step " in told


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{name: S, trials: 1, space: {x: [1]}, job: {}}", "run"),
        ("{name: S, trials: 0, space: {x: [1]}, job: {run: 'true'}}", "trials"),
        ("{name: S, trials: 1, space: {x: []}, job: {run: 'true'}}", "space"),
        ("{name: S, trials: 1, space: {x: [1]}, direction: up, job: {run: 'true'}}", "direction"),
        ("{name: S, trials: 1, space: {x: [1]}, job: {run: 'true', workdir: here}}", "workdir"),
        pytest.param(
            "{name: S, trials: 1, space: {x: [1]}, sampler: gp, job: {run: 'true'}}",
            "torch",
            marks=pytest.mark.skipif(find_spec("torch") is not None, reason="torch is installed"),
        ),
    ],
)
def test_what_is_wrong_is_told(product: Product, text: str, said: str) -> None:
    done = product("search", "run", "-", stdin=text)
    assert done.code == faults.BAD_INPUT
    assert said in done.err


def test_what_is_not_there_is_told(product: Product) -> None:
    assert "no search 'nobody'" in product("search", "show", "nobody").err
    assert "no search 'nobody'" in product("search", "cancel", "nobody").err
