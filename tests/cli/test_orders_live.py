"""A policy that weighs orders, remembers use and lets jobs age, in a live controller: what people are shown of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.live import Product, until

if TYPE_CHECKING:
    from collections.abc import Iterator

SETTINGS = """
policy: {order: {fair: 2, priority: 1, sjf: 1}, fairness: {half_life: 1m}, ageing: 1h}
queues: [{name: a}, {name: b}]
"""


@pytest.fixture
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """One controller with one counted device."""
    home = tmp_path_factory.mktemp("orders") / "home"
    home.mkdir(mode=0o700)
    (home / "clearway.yaml").write_text(SETTINGS)
    made = Product(home)
    assert made.starting("up", "--detach", "--devices", "1").code == 0
    yield made
    made.stop()


def rows(product: Product) -> dict[str, dict[str, float]]:
    return {row["name"]: row["past"] for row in product.json("queues")["queues"]}


def test_each_order_is_told_and_the_past_is_kept_when_the_controller_starts_anew(product: Product) -> None:
    policy = product.json("status")["policy"]
    assert (policy["order"], policy["half_life"], policy["ageing"]) == ({"fair": 2, "priority": 1, "sjf": 1}, 60, 3600)
    assert "2 fair + 1 priority + 1 sjf" in product("status").out
    holder = product.run("sleep", "60", words=("--gpus", "1", "--queue", "a"))
    until(lambda: product.json("show", holder)["state"] == "running", "the first job runs")
    words = ("--gpus", "1", "--queue", "b", "--priority", "3", "--time-estimate", "64s")
    waiting = product.run("sleep", "60", words=words)
    order = product.json("why", "--brief", waiting)["order"]
    assert order["summed"]
    assert (order["parts"]["fair"], order["parts"]["sjf"]) == (0, 6)
    assert order["parts"]["priority"] in (-3, -4), "a tick may have passed"
    assert "stands in the line at" in product("why", "--brief", waiting).out
    assert product.json("why", "--brief", holder)["order"] is None
    until(lambda: rows(product)["a"]["gpus"] > 0.01, "what it holds becomes its past")
    assert rows(product)["b"] == {"gpus": 0}
    assert "HELD BEFORE" in product("queues").out
    product("cancel", holder)
    until(lambda: product.json("show", waiting)["state"] == "running", "the next one runs")
    assert "cost" in product("why", "--brief", waiting).out
    before = rows(product)["a"]["gpus"]
    assert product("down").code == 0
    assert product.starting("up", "--detach", "--devices", "1").code == 0
    after = rows(product)["a"]["gpus"]
    assert 0 < after <= before
