"""Schedules on a real controller: ticks get runs, also of workflows, and a kill makes none fire twice."""

from __future__ import annotations

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
