"""A timeline as people see it: a table, a chart, a summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from clearway.cli.gantt import Bar, bars_by_node, chart, lanes
from clearway.cli.main import cli
from clearway.cli.shell import Shell
from clearway.cli.simulate import show_timeline

if TYPE_CHECKING:
    from pathlib import Path


def task(node: str, start: float, end: float | None, devices: tuple[int, ...] = ()) -> dict[str, Any]:
    return {"role": "task", "index": 0, "node": node, "devices": list(devices), "share": 1000, "from": start, "to": end}


def attempt(number: int, *tasks: dict[str, Any]) -> dict[str, Any]:
    ends = [t["to"] for t in tasks]
    return {"number": number, "from": tasks[0]["from"], "to": ends[0], "end": None, "cause": None, "tasks": list(tasks)}


def job(state: str, *attempts: dict[str, Any], **more: Any) -> dict[str, Any]:
    whole = {"state": state, "submitted": 0.0, "ended": None, "reason": None, "attempts": list(attempts), "waits": []}
    return whole | more


TIMELINE: dict[str, Any] = {
    "jobs": {
        "wide": job("succeeded", attempt(1, task("n1", 0, 50, (0, 1)), task("n2", 0, 40, (3,))), ended=50.0),
        "twice": job(
            "failed",
            attempt(1, task("n1", 50, 60)),
            attempt(2, task("n1", 62, 100)),
            ended=100.0,
            reason={"code": "exited", "text": "exited with code 3"},
        ),
        "waiting\x1b[2J": job(
            "pending",
            waits=[{"from": 0.0, "to": None, "reasons": [{"code": "no-capacity", "text": "needs 9 GPUs on one node"}]}],
        ),
    },
    "events": [{"at": 0.0, "kind": "submitted", "job": "wide"}, {"at": 100.0, "kind": "ended", "job": "twice"}],
    "summary": {"makespan": 100.0, "gpu_use": 0.815, "mean_wait": None, "p95_wait": 0.0, "preemptions": 0},
}


def test_bars_join_the_tasks_of_an_attempt_on_a_node() -> None:
    bars = bars_by_node(TIMELINE, 100)
    assert bars == {
        "n1": [Bar(0, 50, "wide"), Bar(50, 60, "twice#1"), Bar(62, 100, "twice#2")],
        "n2": [Bar(0, 40, "wide")],
    }


def test_what_is_not_over_goes_to_the_end() -> None:
    assert bars_by_node({"jobs": {"a": job("running", attempt(1, task("n", 3, None)))}}, 9) == {"n": [Bar(3, 9, "a")]}


def test_bars_that_overlap_get_lanes_of_their_own() -> None:
    bars = [Bar(0, 5, "a"), Bar(1, 2, "b"), Bar(2, 9, "c"), Bar(5, 9, "d")]
    assert [[b.label for b in lane] for lane in lanes(bars)] == [["a", "d"], ["b", "c"]]


def test_the_chart_is_drawn_to_scale() -> None:
    lines = chart(TIMELINE, 100, width=44)
    assert lines == [
        "n1  [wide==============][tw] [twice#2======]",
        "n2  [wide==========]",
        "    0 s              50 s              100 s",
    ]


@pytest.mark.parametrize("width", [1, 30, 200])
def test_the_chart_never_fails_for_lack_of_room(width: int) -> None:
    short = {
        "jobs": {f"j{i}": job("succeeded", attempt(1, task(f"n{i % 40}", i / 10, i / 10 + 0.01))) for i in range(900)}
    }
    lines = chart(short, 90.0, width)
    assert any("more nodes" in line for line in lines)
    assert max(map(len, lines)) <= max(width, 40) + 2


def test_a_timeline_shows_every_job_the_chart_and_the_summary(capsys: pytest.CaptureFixture[str]) -> None:
    show_timeline(Shell(), TIMELINE)
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert lines[0] == "JOB SUBMITTED WAITED STARTED ENDED STATE WHERE, OR WHY WHY IT WAITED"
    assert lines[1] == "wide 0 0 0 50 succeeded n1 [0-1], n2 [3]"
    assert lines[2] == "twice 0 50 50 100 failed (2 attempts) exited with code 3"
    assert lines[3] == "waiting\\x1b[2J 0 - - pending needs 9 GPUs on one node"
    assert "GPUs held: 81.5 %" in lines
    assert lines[-1] == "1 job never started, and so is not in the mean wait"


def test_a_job_shows_the_main_reason_of_its_longest_wait(capsys: pytest.CaptureFixture[str]) -> None:
    said = [["short"], ["needs 2 GPUs", "behind x"], ["at the end"]]
    spans = [(0.0, 5.0), (5.0, 50.0), (50.0, 60.0)]
    waits = [
        {"from": a, "to": b, "reasons": [{"code": "c", "text": text} for text in texts]}
        for (a, b), texts in zip(spans, said, strict=True)
    ]
    late = job("succeeded", attempt(1, task("n1", 60, 70)), ended=70.0, waits=waits)
    show_timeline(Shell(), {"jobs": {"late": late}, "events": [{"at": 70.0}], "summary": {}})
    shown = capsys.readouterr().out
    assert " ".join(shown.splitlines()[1].split()) == "late 0 60 60 70 succeeded n1 needs 2 GPUs"
    assert "never started" not in shown


def test_an_empty_timeline_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    show_timeline(Shell(), {"jobs": {}, "events": [], "summary": {}})
    assert capsys.readouterr().out == "the scenario has no jobs\n"


def test_what_each_weighted_order_would_have_come_to_alone_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "mix.yaml"
    file.write_text(
        "policy: {order: {priority: 1, sjf: 1}, estimate: oracle}\n"
        "fleet: {nodes: [{name: n, gpus: 1}]}\n"
        "jobs: [{name: R, gpus: 1, runtime: 10}, {name: L, gpus: 1, priority: 3, runtime: 500},"
        " {name: S, gpus: 1, runtime: 20}]\n"
    )
    assert CliRunner().invoke(cli, ["simulate", str(file)]).exit_code == 0
    out = CliRunner().invoke(cli, ["simulate", str(file)]).stdout.splitlines()
    table = [line.split() for line in out[-4:]]
    assert table[0][0] == "ORDER"
    assert [row[0] for row in table[1:]] == ["weighed", "priority", "sjf"]
    waits = {row[0]: float(row[3] if row[0] == "weighed" else row[2]) for row in table[1:]}
    assert waits["sjf"] == waits["weighed"] < waits["priority"]
    plain = file.with_name("plain.yaml")
    plain.write_text(file.read_text().replace("{priority: 1, sjf: 1}", "[priority]"))
    assert "alone" not in CliRunner().invoke(cli, ["simulate", str(plain)]).stdout
