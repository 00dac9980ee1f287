"""Arrays on a real controller, also over its death."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clearway.cli import faults
from tests.cli.live import Product, kill, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture
def product(tmp_path: Path) -> Iterator[Product]:
    """One controller with two counted devices."""
    made = Product(tmp_path / "home")
    assert made.starting("up", "--detach", "--devices", "2").code == 0
    yield made
    made.stop()


def test_each_index_runs_once_whatever_becomes_of_the_controller(product: Product, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    line = f"echo $CLEARWAY_INDEX >> {ran}; sleep 0.2; [ $CLEARWAY_INDEX != 5 ]"
    job = product.run("sh", "-c", line, words=("--array", "12", "--gpus", "1", "--name", "a"))
    until(lambda: ran.exists() and len(ran.read_text().split()) > 3, "some of them have started")
    kill(product.json("status")["controller"]["pid"])
    assert product.starting("up", "--detach", "--devices", "2").code == 0
    assert product("wait", job).code == faults.FAILED
    row = product.json("show", job)
    assert (row["state"], row["reason"]["code"]) == ("failed", "indices")
    assert (row["array"]["succeeded"], row["array"]["failed_indices"]) == (11, [5])
    assert sorted(map(int, ran.read_text().split())) == list(range(12))
    assert product.json("show", "a[5]")["exit_code"] == 1
    assert product.json("show", "a[4]")["state"] == "succeeded"


def test_an_array_is_one_row_and_its_jobs_are_found_by_index(product: Product) -> None:
    line = "echo index $CLEARWAY_INDEX; sleep 60"
    product.run("sh", "-c", line, words=("--array", "1-9:2", "--gpus", "1", "--name", "a"))
    until(lambda: product.json("ps")["jobs"][0]["array"]["running"] == 2, "two of them run")
    (row,) = product.json("ps")["jobs"]
    assert (row["name"], row["array"]["jobs"], row["array"]["waiting"]) == ("a", 5, 3)
    assert "0 of 5 succeeded, 2 running, 3 waiting; needs 1 GPU" in product("ps").out
    assert [one["name"] for one in product.json("ps", "--array", "a", "--state", "running")["jobs"]] == ["a[3]", "a[1]"]
    until(lambda: product("logs", "a[3]").out == "index 3\n", "it has written its index")
    assert "is an array" in product("logs", "a").err
    assert product.json("show", "a[9]")["state"] == "pending"
    assert product("cancel", "a[9]").code == 0
    assert product.json("show", "a")["array"]["cancelled"] == 1
    said = product("show", "a[2]")
    assert (said.code, "a has indices 1-9:2" in said.err) == (faults.NOT_FOUND, True)
    assert product("cancel", "a").code == 0
    product("wait", "a")
    assert product.json("show", "a")["state"] == "cancelled"
    assert product.json("ps")["jobs"] == []
    counted = product.json("status")["jobs"]
    assert sum(counted.values()) == len(product.json("ps", "-a")["jobs"])
