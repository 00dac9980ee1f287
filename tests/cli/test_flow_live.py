"""Workflows on a real controller: results from step to step, maps, loops, a failure and running again, a kill."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from clearway.cli import faults
from tests.cli.live import Product, kill, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

COUNT = """
name: count
steps:
  - {name: split, run: 'echo "[1, 22]" > $CLEARWAY_RESULT'}
  - {name: each, each: split, run: 'wc -c < $CLEARWAY_INPUT > $CLEARWAY_RESULT'}
  - {name: grow, after: [each], until: pass >= 3, run: 'echo "$(cat $CLEARWAY_INPUT) x" > $CLEARWAY_RESULT'}
  - {name: never, after: [each], when: each.0 > 5, run: 'exit 1'}
  - {name: idle, after: [each], run: 'exit 99'}
"""
FAILS = """
name: fails
chain:
  - {name: first, run: 'echo once >> FOLDER/ran'}
  - {name: second, run: 'test -e FOLDER/go'}
  - {name: third, run: 'true'}
"""


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    made = Product(tmp_path_factory.mktemp("flows") / "home")
    assert made.starting("up", "--detach").code == 0
    yield made
    made.stop()


def steps(product: Product, flow: str) -> dict[str, Any]:
    return {step["name"]: step for step in product.json("flow", "show", flow)["steps"]}


def test_results_go_from_step_to_step(product: Product) -> None:
    done = product("flow", "run", "-", "--wait", stdin=COUNT)
    assert (done.code, done.err) == (0, ""), done
    found = steps(product, "count")
    assert found["each"]["result"] == [1, 2]
    assert (found["grow"]["jobs"], found["grow"]["result"][-2:]) == (3, " x")
    assert {name: step["state"] for name, step in found.items()} == {
        "split": "succeeded", "each": "succeeded", "grow": "succeeded", "never": "skipped", "idle": "skipped",
    }  # fmt: skip
    shown = product.json("show", "count.split")
    assert (shown["state"], len(shown["attempts"])) == ("succeeded", 1)
    assert product("why", "count.split").code == 0
    assert "count" in product("flow", "list").out
    assert "  <- split" in product("flow", "graph", "count").out
    assert "s0 --> s1" in product("flow", "graph", "count", "--format", "mermaid").out
    image = product("flow", "graph", "count", "--format", "svg").out
    assert re.findall(r">([^<>]+)</text>", image) == ["split", "each", "grow ↻", "never", "idle"]
    assert (image.count("<rect"), image.count("<path")) == (5, 4)


def test_a_failure_is_told_and_run_again_from_there(product: Product, tmp_path: Path) -> None:
    text = FAILS.replace("FOLDER", str(tmp_path))
    done = product("flow", "run", "-", "--wait", stdin=text)
    assert done.code == faults.FAILED
    assert "step second failed (fails.second exited with code 1" in done.out
    for told in (product("flow", "show", "fails"), product("why", "fails")):
        assert "exited with code 1" in told.out
        assert "clearway logs --stderr fails.second" in told.err
        assert "clearway flow retry fails" in told.err
    assert product("flow", "retry", "nobody").code != 0
    (tmp_path / "go").touch()
    assert product("flow", "retry", "fails").code == 0
    until(lambda: product.json("flow", "show", "fails")["state"] == "succeeded", "the second run is over")
    assert (tmp_path / "ran").read_text() == "once\n"
    assert product("flow", "retry", "fails").code != 0


def test_a_controller_that_is_killed_goes_on_where_it_was(product: Product, tmp_path: Path) -> None:
    text = f"""
name: long
chain:
  - {{name: a, run: 'echo a >> {tmp_path}/ran; echo 7 > $CLEARWAY_RESULT'}}
  - {{name: b, run: 'until test -e {tmp_path}/go; do sleep 0.1; done; cp $CLEARWAY_INPUT $CLEARWAY_RESULT'}}
  - {{name: c, run: 'cp $CLEARWAY_INPUT {tmp_path}/end'}}
"""
    assert product("flow", "run", "-", stdin=text).code == 0
    until(lambda: steps(product, "long")["b"]["state"] == "running", "b runs")
    kill(product.json("status")["controller"]["pid"])
    assert product.starting("up", "--detach").code == 0
    (tmp_path / "go").touch()
    until(lambda: product.json("flow", "show", "long")["state"] == "succeeded", "it is over")
    assert (tmp_path / "ran").read_text() == "a\n"
    assert (tmp_path / "end").read_text() == "7"


def test_a_step_waits_for_a_person_over_a_kill(product: Product, tmp_path: Path) -> None:
    text = f"""
name: asks
steps:
  - {{name: first, run: 'echo 3 > $CLEARWAY_RESULT'}}
  - {{name: ask, after: [first], pause: 'Deploy 3?'}}
  - {{name: more, after: [first], pause: 'And then?'}}
  - {{name: last, after: [ask], when: ask.go, run: 'cp $CLEARWAY_INPUT {tmp_path}/got'}}
"""
    assert product("flow", "run", "-", stdin=text).code == 0
    until(lambda: steps(product, "asks")["ask"]["state"] == "running", "it asks")
    assert "waits for a person: Deploy 3?" in product("flow", "show", "asks").out
    assert [job["name"] for job in product.json("ps")["jobs"]] == []
    kill(product.json("status")["controller"]["pid"])
    assert product.starting("up", "--detach").code == 0
    assert steps(product, "asks")["ask"]["pause"] == "Deploy 3?"
    which = product("flow", "resume", "asks", "--value", "1")
    assert (which.code, "ask, more" in which.err) == (faults.CONFLICT, True)
    assert product("flow", "resume", "asks", "--step", "none", "--value", "1").code == faults.NOT_FOUND
    for broken in ("{go", "[1", '"go', "True", "None", "NaN"):
        refused = product("flow", "resume", "asks", "--step", "ask", "--value", broken)
        assert (refused.code, "--value" in refused.err) == (faults.BAD_INPUT, True), broken
    assert product("flow", "resume", "asks", "--step", "ask", "--value", '{"go": true}').code == 0
    kill(product.json("status")["controller"]["pid"])
    assert product.starting("up", "--detach").code == 0
    until((tmp_path / "got").exists, "the last step ran")
    assert product("flow", "resume", "asks", "--step", "ask", "--value", "1").code == faults.CONFLICT
    assert product("flow", "resume", "asks", "--value", "a text").code == 0
    until(lambda: product.json("flow", "show", "asks")["state"] == "succeeded", "it is over")
    found = steps(product, "asks")
    assert (found["ask"]["result"], found["more"]["result"]) == ({"go": True}, "a text")


def test_cancel_stops_what_runs(product: Product) -> None:
    assert (
        product(
            "flow", "run", "-", stdin="{name: ends, chain: [{name: a, run: sleep 60}, {name: b, run: 'true'}]}"
        ).code
        == 0
    )
    until(lambda: product.json("flow", "show", "ends")["steps"][0]["state"] == "running", "a runs")
    assert product("flow", "cancel", "ends").code == 0
    until(lambda: product.json("flow", "show", "ends")["state"] == "cancelled", "it is cancelled")
    assert [step["state"] for step in product.json("flow", "show", "ends")["steps"]] == ["cancelled", "cancelled"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{name: W, steps: [{name: a}]}", "run"),
        ("{name: W, steps: [{name: a, run: 'true', after: [b]}]}", "after"),
        ("{name: W, stepz: []}", "steps"),
        ("{name: W, steps: [{name: a, pause: 'Go?', run: 'true'}]}", "run"),
        ("{name: W, steps: [{name: a, pause: ''}]}", "pause"),
    ],
)
def test_what_is_wrong_is_told(product: Product, text: str, said: str) -> None:
    done = product("flow", "run", "-", stdin=text)
    assert done.code == faults.BAD_INPUT
    assert said in done.err


def test_from_a_step_on_with_other_words_and_without_a_step(product: Product, tmp_path: Path) -> None:
    text = f"""
name: again
steps:
  - {{name: a, run: 'echo a >> {tmp_path}/ran; echo 1 > $CLEARWAY_RESULT'}}
  - {{name: b, after: [a], run: 'echo b >> {tmp_path}/ran; exit 3'}}
  - {{name: c, after: [b], rule: none_failed, run: 'echo c >> {tmp_path}/ran'}}
"""
    assert product("flow", "run", "-", "--wait", stdin=text).code == faults.FAILED
    assert product("flow", "retry", "again", "--from", "nobody").code == faults.NOT_FOUND
    assert product("flow", "retry", "again", "--set", "b").code == faults.BAD_INPUT
    assert product("flow", "retry", "again", "--set", "b.runn=1").code == faults.BAD_INPUT
    assert product("flow", "retry", "again", "--skip", "b").code == 0
    until(lambda: product.json("flow", "show", "again")["state"] == "succeeded", "run 2 is over")
    assert (tmp_path / "ran").read_text().split() == ["a", "b", "c"]
    run = f"echo other >> {tmp_path}/ran; echo 7 > $CLEARWAY_RESULT"
    assert product("flow", "retry", "again", "--from", "b", "--set", f"b.run={run}").code == 0
    until(lambda: product.json("flow", "show", "again")["state"] == "succeeded", "run 3 is over")
    assert (tmp_path / "ran").read_text().split() == ["a", "b", "c", "other", "c"]
    assert steps(product, "again")["b"]["result"] == 7


def test_a_step_that_runs_is_left_out(product: Product) -> None:
    text = "{name: out, steps: [{name: a, run: sleep 600}, {name: b, after: [a], rule: all_done, run: 'true'}]}"
    assert product("flow", "run", "-", stdin=text).code == 0
    until(lambda: steps(product, "out")["a"]["state"] == "running", "a runs")
    assert product("flow", "skip", "out", "a").code == 0
    until(lambda: product.json("flow", "show", "out")["state"] == "succeeded", "it is over")
    assert {name: s["state"] for name, s in steps(product, "out").items()} == {"a": "skipped", "b": "succeeded"}
    assert "was left out by" in product("flow", "show", "out").out
    assert product("flow", "skip", "out", "b").code == faults.CONFLICT


def test_workflows_inside_a_workflow_and_what_is_taken_back(product: Product, tmp_path: Path) -> None:
    text = f"""
name: whole
steps:
  - name: part
    each: [3, 4]
    workflow:
      steps:
        - {{name: x, run: 'cp $CLEARWAY_INPUT $CLEARWAY_RESULT'}}
        - {{name: y, after: [x], run: 'echo "$(cat $CLEARWAY_INPUT)0" > $CLEARWAY_RESULT'}}
  - name: book
    after: [part]
    run: 'echo 5 > $CLEARWAY_RESULT'
    undo: {{run: 'cp $CLEARWAY_INPUT {tmp_path}/undone'}}
  - {{name: fails, after: [book], run: 'exit 1'}}
"""
    assert product("flow", "run", "-", "--wait", stdin=text).code == faults.FAILED
    found = steps(product, "whole")
    assert found["part"]["result"] == [30, 40]
    assert (tmp_path / "undone").read_text() == "5"
    assert found["book.undo"]["state"] == "succeeded"
    assert product.json("flow", "show", "whole.part[1]")["state"] == "succeeded"
    assert "whole.part[1]" in product("flow", "list", "--all").out
    assert "whole.part[1]" not in product("flow", "list").out
    assert product("flow", "retry", "whole.part[1]").code == faults.CONFLICT


def test_a_cancel_while_steps_are_taken_back_says_what_it_breaks_off(product: Product) -> None:
    undo = "undo: {run: sleep 600}"
    text = f"{{name: back, chain: [{{name: a, run: 'true', {undo}}}, {{name: b, run: 'exit 1'}}]}}"
    assert product("flow", "run", "-", stdin=text).code == 0
    until(lambda: steps(product, "back")["a.undo"]["state"] == "running", "a is taken back")
    done = product("flow", "cancel", "back")
    assert (done.code, "breaks that off at a.undo" in done.err) == (0, True), done
    until(lambda: product.json("flow", "show", "back")["state"] == "cancelled", "it is cancelled")
    assert steps(product, "back")["a.undo"]["state"] == "cancelled"


def test_a_step_that_is_stopped_goes_on_from_its_checkpoint(product: Product, tmp_path: Path) -> None:
    half = "touch $CLEARWAY_CHECKPOINT_DIR/half && touch {0}/half && sleep 600"
    first = f"test -e $CLEARWAY_CHECKPOINT_DIR/half && echo 2 > $CLEARWAY_RESULT || {{ {half.format(tmp_path)}; }}"
    text = f"name: goes-on\nchain: [{{name: fit, checkpoint: {{grace: 1s}}, run: '{first}'}}, {{name: b, run: 'true'}}]"
    assert product("flow", "run", "-", stdin=text).code == 0
    until((tmp_path / "half").exists, "half of it is done")
    assert product("requeue", "goes-on.fit").code == 0
    until(lambda: product.json("flow", "show", "goes-on")["state"] == "succeeded", "it is over")
    assert steps(product, "goes-on")["fit"]["result"] == 2
    assert len(product.json("show", "goes-on.fit")["attempts"]) == 2


HANGS = """
name: hangs
steps:
  - {name: retried, run: 'echo no >&2; exit 3', max_retries: 2, retry_backoff: 600}
  - {name: behind, after: [retried], run: 'true'}
  - {name: big, run: 'true', gpus: 9}
  - {name: ask, pause: 'Deploy it?'}
  - {name: part, workflow: {steps: [{name: x, run: 'sleep 600'}, {name: sure, pause: 'Sure?'}]}}
"""


def test_what_hangs_says_why_also_deep_inside(product: Product) -> None:
    assert product("flow", "run", "-", stdin=HANGS).code == 0
    until(lambda: "retry 1 of 2" in product("flow", "show", "hangs").out, "the first attempt is over")
    until(lambda: " on " in product("why", "hangs.part").out, "x runs")
    shown = product("flow", "show", "hangs")
    lines = {line.split()[0]: line for line in shown.out.splitlines()}
    for step, said in {
        "retried": "retry 1 of 2", "behind": "waits for retried", "big": "needs 9 GPUs", "ask": "Deploy it?",
        "part": "running", "x": "on ", "sure": "Sure?",
    }.items():  # fmt: skip
        assert said in lines[step], step
    why = product("why", "hangs").out
    assert all(said in why for said in ("retry 1 of 2", "needs 9 GPUs", "Deploy it?", "    sure running: "))
    assert "waits for retried" in product("why", "hangs.behind").out
    assert "waits for a person: ask, part.sure" in product("flow", "list").out
    assert "\n  | > sure running\n" in product("flow", "graph", "hangs").out
    assert "nothing on stdout; --stderr" in product("logs", "hangs.retried").err
    assert "a workflow of this name: clearway flow show hangs" in product("logs", "hangs").err
    assert "did you mean 'hangs'" in product("flow", "show", "hang").err
    assert product("flow", "cancel", "hangs").code == 0


def test_a_person_answers_deep_inside_and_never_by_mistake(product: Product) -> None:
    text = HANGS.replace("hangs", "deep").replace("exit 3", "true").replace("gpus: 9", "cpus: 1")
    assert product("flow", "run", "-", stdin=text.replace("sleep 600", "true")).code == 0
    until(lambda: product.json("flow", "show", "deep")["asks"] == ["ask", "part.sure"], "both ask")
    nothing = product("flow", "resume", "deep")
    assert (nothing.code, "Deploy it?" in nothing.err, "Sure?" in nothing.err) == (faults.BAD_INPUT, True, True)
    which = product("flow", "resume", "deep", "--value", "1")
    assert (which.code, "ask, part.sure" in which.err) == (faults.CONFLICT, True)
    assert product("flow", "resume", "deep", "--step", "part.sure", "--value", "1").code == 0
    assert product("flow", "resume", "deep", "--value", "true").code == 0
    until(lambda: product.json("flow", "show", "deep")["state"] == "succeeded", "it is over")
    assert steps(product, "deep")["ask"]["result"] is True


def test_a_line_passes_beside_what_lies_between(product: Product, tmp_path: Path) -> None:
    file = tmp_path / "long.yaml"
    steps = "{name: a, run: x}, {name: b, after: [a], run: x}, {name: c, after: [a, b], run: x}"
    file.write_text(f"{{name: long, steps: [{steps}]}}")
    image = product("flow", "graph", str(file), "--format", "svg").out
    assert (image.count("<rect"), image.count("<path")) == (3, 4)
    through = re.findall(r"C\d+ \d+ \d+ \d+ (\d+) \d+ v", image)
    (box,) = re.findall(r'<title>b: pending</title><rect x="(\d+)"', image)
    assert not int(box) <= int(through[0]) <= int(box) + 150
