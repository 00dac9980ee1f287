"""Verbs on live jobs, queues and bookings, as people type them, on a real controller."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from clearway.cli import faults
from tests.cli.live import PATIENCE_S, Product, kill

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """One controller with two counted devices."""
    made = Product(tmp_path_factory.mktemp("verbs") / "home")
    assert made.starting("up", "--detach", "--devices", "2").code == 0
    yield made
    made.stop()


@pytest.fixture(autouse=True)
def _nothing_left(product: Product) -> Iterator[None]:
    yield
    for row in product.json("ps")["jobs"]:
        product("cancel", f"id:{row['id']}")
        product("wait", "--timeout", "30", f"id:{row['id']}")


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def state(product: Product, job: str) -> str:
    found: str = product.json("show", job)["inner_state"]
    return found


def document(product: Product, *args: str) -> Any:
    """Call a command of a group with --json, and return its document."""
    said = product(*args, "--json")
    assert said.code == 0, said
    return json.loads(said.out)


def test_a_job_is_held_and_released(product: Product) -> None:
    first = product.run("sleep", "60", words=("--gpus", "2"))
    job = product.run("sleep", "60", words=("--gpus", "2"))
    said = product("hold", job)
    assert (said.code, "is held" in said.out) == (0, True)
    assert product("why", job).out.count("is held back by") == 1
    row = product.json("show", job)
    assert row["held_by"]
    assert row["reason"]["code"] == "held"
    product("cancel", first)
    product("wait", first)
    assert state(product, job) == "pending"
    assert product.json("release", job)["jobs"][0]["held_by"] is None
    until(lambda: state(product, job) == "running")
    assert product("release", job).code == faults.CONFLICT


def test_a_job_is_requeued_and_starts_again(product: Product) -> None:
    job = product.run("sleep", "60")
    until(lambda: state(product, job) == "running")
    assert "told to stop" in product("requeue", job).out
    until(lambda: product.json("show", job)["attempt"] == 2)
    row = product.json("show", job)
    assert row["attempts"][0]["end"] == "evicted"
    assert "put back into its queue by" in row["attempts"][0]["cause"]
    until(lambda: state(product, job) == "running")
    product("requeue", "--hold", job)
    until(lambda: state(product, job) == "pending")
    assert product.json("show", job)["reason"]["code"] == "held"
    assert product("requeue", job).code == faults.CONFLICT


def test_priority_queue_and_time_limit_are_set(product: Product) -> None:
    running = product.run("sleep", "60", words=("--gpus", "2"))
    until(lambda: state(product, running) == "running")
    job = product.run("sleep", "60", words=("--gpus", "2"))
    assert document(product, "set", "priority", running, "7")["priority"] == 7
    assert "priority is -3" in product("set", "priority", job, "-3").out
    assert product("queue", "set", "night").code == 0
    assert product("set", "queue", running, "night").code == faults.CONFLICT
    refused = product("set", "time-limit", running, "soon")
    assert refused.code == faults.BAD_INPUT
    assert "time_limit" in refused.err
    assert product("set", "time-limit", running, "1s").code == 0
    until(lambda: product.json("show", running)["state"] == "failed")
    assert product.json("show", running)["reason"]["code"] == "time-limit"
    assert product("set", "priority", running, "1").code == faults.CONFLICT
    blocked = product.run("sleep", "60", words=("--gpus", "2"))
    assert document(product, "set", "queue", blocked, "night")["queue"] == "night"


def test_a_queue_is_made_changed_and_shown_in_its_tree(product: Product) -> None:
    made = document(product, "queue", "set", "lab", "--limit", "gpus=2,cpus=64", "--weight", "3", "--no-lend")
    assert (made["limit"], made["weight"], made["lend"]) == ({"gpus": 2, "cpus": 64}, 3, False)
    product("queue", "set", "team", "--parent", "lab", "--limit-per-user", "gpus=1")
    changed = document(product, "queue", "set", "lab", "--guarantee", "gpus=1", "--limit", "none")
    assert (changed["limit"], changed["weight"], changed["guarantee"]) == ({}, 3, {"gpus": 1})
    one = product.run("sleep", "60", words=("--gpus", "1", "--queue", "team"))
    two = product.run("sleep", "60", words=("--gpus", "1", "--queue", "team"))
    until(lambda: state(product, one) == "running")
    assert "limit per user" in product("why", two).out
    rows = {row["name"]: row for row in product.json("queues")["queues"]}
    assert rows["lab"]["total_use"]["gpus"] == 1
    assert rows["lab"]["wants"]["gpus"] == 1
    assert rows["lab"]["share"] == {"gpus": 2}
    lines = product("queues").out.splitlines()
    (lab,) = (i for i, line in enumerate(lines) if line.startswith("lab"))
    assert lines[lab + 1].startswith("  team")
    assert "1 GPU per user" in lines[lab + 1]
    assert product("queue", "set", "lab", "--limit", "gpus").code == faults.BAD_INPUT
    assert product("queue", "set", "lab", "--parent", "team").code == faults.BAD_INPUT


def test_a_booking_keeps_devices_survives_a_crash_and_is_cancelled(product: Product) -> None:
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    made = document(product, "booking", "create", "demo", "--gpus", "2", "--to", later, "--for", "sales,ann")
    assert sum(made["keeps"].values()) == 2
    assert made["for"] == ["sales", "ann"]
    job = product.run("sleep", "60", words=("--gpus", "1"))
    assert "booking demo" in product("why", job).out
    hers = product.run("sleep", "60", words=("--gpus", "1", "--user", "ann"))
    until(lambda: state(product, hers) == "running")
    kill(product.json("status")["controller"]["pid"])
    assert product.starting("up", "--detach", "--devices", "2").code == 0
    assert [row["name"] for row in document(product, "booking", "list")["bookings"]] == ["demo"]
    assert "2 of" in product("booking", "list").out
    assert state(product, job) == "pending"
    assert product("booking", "create", "demo", "--gpus", "1", "--to", later).code == faults.CONFLICT
    assert product("booking", "create", "x", "--to", later).code == faults.BAD_INPUT
    assert "is cancelled" in product("booking", "cancel", "demo").out
    until(lambda: state(product, job) == "running")
    assert product("booking", "cancel", "demo").code == faults.NOT_FOUND
    assert product("booking", "list").out == "no bookings\n"
    os.kill(product.json("status")["controller"]["pid"], 0)


def test_settings_are_read_anew_while_it_runs(product: Product) -> None:
    file = product.home / "clearway.yaml"
    file.write_text("policy: throughput\nlog_size: 1MiB\nqueues: [{name: fresh, limit: {gpus: 1}}]\n")
    told = document(product, "config", "reload")
    assert told == {"in_force": ["queues", "limits", "budgets", "policy", "tenants"], "at_next_start": ["log_size"]}
    queues = {row["name"]: row for row in product.json("queues")["queues"]}
    assert queues["fresh"]["limit"] == {"gpus": 1}
    before = product.json("status")["policy"]
    file.write_text("policy: quick\n")
    said = product("config", "reload")
    assert said.code == faults.BAD_INPUT
    assert "quick" in said.err
    assert product.json("status")["policy"] == before
    file.write_text("queues: [{name: fresh, limit: {gpus: 2}}]\n")
    assert "in force" in product("config", "reload").out
    assert product.json("status")["policy"] != before
    file.unlink()
