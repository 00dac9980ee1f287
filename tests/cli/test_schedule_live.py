"""Schedules on a real controller: ticks get runs, also of workflows, and a kill makes none fire twice."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from clearway.cli import faults
from tests.cli.live import Product, kill, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    made = Product(tmp_path_factory.mktemp("schedules") / "home")
    assert made.starting("up", "--detach").code == 0
    yield made
    made.stop()


def row(product: Product, name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(r for r in product.json("schedule", "list")["schedules"] if r["name"] == name)
    return found


def test_every_tick_runs_once_also_over_a_kill(product: Product, tmp_path: Path) -> None:
    text = f"{{name: often, cron: '* * * * * *', overlap: allow, job: {{run: 'echo $CLEARWAY_JOB >> {tmp_path}/ran'}}}}"
    assert product("schedule", "set", "-", stdin=text).code == 0
    ran = tmp_path / "ran"
    until(lambda: ran.exists() and len(ran.read_text().split()) >= 2, "two runs")
    kill(product.json("status")["controller"]["pid"])
    assert product.starting("up", "--detach").code == 0
    before = len(ran.read_text().split())
    until(lambda: len(ran.read_text().split()) >= before + 2, "two more")
    assert product("schedule", "pause", "often").code == 0
    until(lambda: not row(product, "often")["active"], "nothing of it runs")
    names = [job["name"] for job in product.json("ps", "--all")["jobs"] if job["name"].startswith("often@")]
    assert len(names) == len(set(names)) == len(ran.read_text().split())
    assert product.json("show", names[0])["state"] == "succeeded"
    assert product("why", names[0]).code == 0
    assert row(product, "often")["paused"]
    assert product("schedule", "remove", "often").code == 0


def test_a_tick_runs_a_workflow(product: Product, tmp_path: Path) -> None:
    steps = f"[{{name: a, run: 'echo 5 > $CLEARWAY_RESULT'}}, {{name: b, run: 'cp $CLEARWAY_INPUT {tmp_path}/got'}}]"
    text = f"{{name: flows, cron: '*/2 * * * * *', workflow: {{name: W, chain: {steps}}}}}"
    assert product("schedule", "set", "-", stdin=text).code == 0
    until(lambda: (tmp_path / "got").exists() and (tmp_path / "got").read_text() == "5", "a run of it is over")
    assert product("schedule", "remove", "flows").code == 0
    assert any(r["name"].startswith("flows@") for r in product.json("flow", "list")["flows"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{name: S, cron: '* * * *', job: {run: 'true'}}", "cron"),
        ("{name: S, cron: '@daily', job: {}}", "run"),
        ("{name: S, cron: '@daily'}", "job"),
        ("{name: S, cron: '@daily', timezone: Nowhere, job: {run: 'true'}}", "timezone"),
    ],
)
def test_what_is_wrong_is_told(product: Product, text: str, said: str) -> None:
    done = product("schedule", "set", "-", stdin=text)
    assert done.code == faults.BAD_INPUT
    assert said in done.err


def test_a_run_finishes_on_the_definition_it_began_with(product: Product, tmp_path: Path) -> None:
    """Its schedule says something else by then, and the controller was killed; only later runs follow the new words."""
    release, said = tmp_path / "release", tmp_path / "said"

    def text(word: str) -> str:
        first = {"name": "a", "run": f"touch {tmp_path}/{word}; while [ ! -e {release} ]; do sleep 0.1; done"}
        return json.dumps({
            "name": "versions", "cron": "* * * * * *", "overlap": "queue",
            "workflow": {"name": "V", "chain": [first, {"name": "b", "run": f"echo {word} >> {said}"}]},
        })  # fmt: skip

    assert product("schedule", "set", "-", stdin=text("old")).code == 0
    until((tmp_path / "old").exists, "the first run has begun")
    assert product("schedule", "set", "-", stdin=text("new")).code == 0
    kill(product.json("status")["controller"]["pid"])
    assert product.starting("up", "--detach").code == 0
    assert not said.exists()
    release.touch()
    until(lambda: said.exists() and "new" in said.read_text(), "a later run is over")
    assert product("schedule", "remove", "versions").code == 0
    lines = said.read_text().split()
    assert lines[0] == "old"
    assert lines == sorted(lines, key=["old", "new"].index)


def test_what_comes_is_seen_before_and_after_it_is_set(product: Product, tmp_path: Path) -> None:
    file = tmp_path / "ahead.yaml"
    words = "cron: '30 2 * * *', timezone: Europe/Berlin, dst: {skipped: skip}, from: '2031-03-29T00:00:00Z'"
    file.write_text(f"{{name: ahead, {words}, exclude: ['2031-03-31'], job: {{run: 'true'}}}}")
    wanted = [
        {"tick": "2031-03-29T01:30:00Z", "at": "2031-03-29T01:30:00Z", "skipped": None},
        {"tick": "2031-03-30T01:30:00Z", "at": "2031-03-30T01:30:00Z", "skipped": "clock-change"},
        {"tick": "2031-03-31T00:30:00Z", "at": "2031-03-31T00:30:00Z", "skipped": "excluded"},
    ]
    asked = ("schedule", "next", str(file), "--count", "3")
    assert product.json(*asked)["schedules"][0]["ticks"] == wanted
    assert product("schedule", "set", str(file)).code == 0
    assert product.json("schedule", "next", "ahead", "--count", "3")["schedules"][0]["ticks"] == wanted
    assert "Sat 2031-03-29 02:30:00 CET" in product("schedule", "next", "ahead").out
    assert "Sat 2031-03-29 02:30:00 CET" in product("schedule", "list").out
    assert product("schedule", "pause", "ahead").code == 0
    assert "is paused" in product("schedule", "next", "ahead").err
    assert product("schedule", "next", "nobody").code == faults.NOT_FOUND
    assert product("schedule", "next", "ahead", "--count", "101").code != 0
    assert product("schedule", "remove", "ahead").code == 0


def test_all_are_paused_at_once_and_go_on(product: Product) -> None:
    for name in ("one", "two"):
        assert product("schedule", "set", "-", stdin=f"{{name: {name}, cron: '@yearly', job: {{run: x}}}}").code == 0
    assert product("schedule", "pause").code == faults.BAD_INPUT
    assert product("schedule", "pause", "one", "--all").code == faults.BAD_INPUT
    assert product("schedule", "pause", "--all").code == 0
    assert all(r["paused"] for r in product.json("schedule", "list")["schedules"])
    assert product("schedule", "resume", "one", "two").code == 0
    assert not row(product, "one")["paused"]
