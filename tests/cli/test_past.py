"""`why --at`, `explain` and `audit`, on the journal of a controller that ran and stopped."""

from __future__ import annotations

import sqlite3
import time
from datetime import UTC, datetime

import pytest

from clearway.cli import faults
from tests.cli.live import Product, until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Product:
    """A home in which jobs ran; `waited` waited for `first`. No controller runs any more."""
    made = Product(tmp_path_factory.mktemp("past") / "home")
    assert made.starting("up", "--detach", "--devices", "2").code == 0
    first = made.run("sleep", "60", words=("--gpus", "2", "--name", "first", "--time-limit", "1h"))
    made.run("true", words=("--gpus", "1", "--name", "waited"))
    made.then = datetime.now(UTC).isoformat()  # type: ignore[attr-defined]
    time.sleep(0.01)
    made("cancel", first)
    until(lambda: made.json("show", "waited")["state"] == "succeeded", "the job that waited is over")
    assert made("down").code == 0
    return made


def test_why_at_a_moment(product: Product) -> None:
    told = product.json("why", "waited", "--at", product.then)  # type: ignore[attr-defined]
    assert (told["state"], told["reasons"][0]["code"]) == ("pending", "no-capacity")
    assert told["outlook"]["lacks"][0]["holders"][0]["name"] == "first"
    said = product("why", "first", "--at", product.then).out  # type: ignore[attr-defined]
    assert "first) at" in said
    assert "was next in order" in said
    assert product("why", "first", "--at", "2199-01-01T00:00:00Z").code == faults.BAD_INPUT
    assert product("why", "waited", "--at", "1990-01-01T00:00:00Z").code == faults.NOT_FOUND
    assert product("why", "waited", "--at", "yesterday").code == faults.BAD_INPUT


def test_why_without_a_controller(product: Product) -> None:
    said = product("why", "waited")
    assert (said.code, "no controller runs" in said.err) == (0, True)
    assert "succeeded" in said.out
    assert "exited with code 0" in said.out


def test_a_cycle_whole(product: Product) -> None:
    told = product.json("explain", "--job", "waited")
    assert told["same"] is True
    assert [turn["name"] for turn in told["turns"]] == ["waited"]
    assert [row["job"] for row in told["decided"] if row["kind"] == "started"] == ["waited"]
    again = product("explain", "--cycle", str(told["cycle"])).out
    assert "waited (queue default) starts on" in again
    assert product("explain", "--cycle", "100000").code == faults.NOT_FOUND
    assert product("explain").code == faults.BAD_INPUT


def test_the_audit_finds_all_the_same_and_names_what_was_changed(product: Product) -> None:
    told = product.json("audit")
    assert (told["cycles"] >= 2, told["first_difference"]) == (True, None)
    assert product.json("audit", "--to", product.then)["cycles"] < told["cycles"]  # type: ignore[attr-defined]
    assert "all the same" in product("audit").out
    assert product("audit", "--cycle", "100000").code == faults.NOT_FOUND
    with sqlite3.connect(product.home / "journal.db") as database:
        query = "SELECT number, body FROM journal WHERE kind = 'Started' ORDER BY number LIMIT 1"
        ((number, body),) = database.execute(query)
        database.execute(
            "UPDATE journal SET body = ? WHERE number = ?", (body.replace(b'"placed"', b'"backfilled"'), number)
        )
    said = product("audit")
    assert said.code == 1
    assert f"record {number}" in said.out
    assert product.json("audit", "--cycle", "1", code=1)["first_difference"]["record"] == number
