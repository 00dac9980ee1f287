"""`clearway advise` and what `clearway why` says of a job that waits."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from clearway.cli import faults
from clearway.cli.main import cli
from tests.cli.live import Product

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FLEET = """
fleet: {nodes: [{name: n, count: 2, gpus: 4, gpu_model: A100}]}
queues: [{name: small, limit: {gpus: 1}, defaults: {time_limit: 60}}]
jobs: [{name: r, gpus: 4, runtime: 100, time_limit: 100}]
"""


def advise(tmp_path: Path, jobs: str, *args: str) -> Result:
    (tmp_path / "fleet.yaml").write_text(FLEET)
    (tmp_path / "jobs.yaml").write_text(jobs)
    files = (str(tmp_path / "jobs.yaml"), "--fleet", str(tmp_path / "fleet.yaml"))
    return CliRunner().invoke(cli, ["advise", *files, *args], prog_name="clearway")


def test_advice_on_the_fleet_of_a_file(tmp_path: Path) -> None:
    said = advise(tmp_path, "[{name: a, gpus: 2}, {name: b, gpus: 8, time_limit: 1}]")
    assert said.exit_code == 1
    assert "a: starts at once on n-1" in said.stdout
    assert "b: never fits" in said.stdout
    assert "with 2 GPUs instead of 8 GPUs" in said.stdout


def test_advice_as_a_document(tmp_path: Path) -> None:
    said = advise(tmp_path, "[{name: a, gpus: 2, time_limit: 50}, {name: b, gpus: 4}]", "--json")
    assert said.exit_code == 0
    first, second = json.loads(said.stdout)["jobs"]
    assert (first["verdict"], first["expected"]) == ("starts", {"start": 0.0, "nodes": ["n-1"]})
    assert (second["verdict"], second["expected"]["start"]) == ("waits", 50.0)
    assert second["lacks"][0]["holders"][0]["name"] == "a"
    assert ("gpus", 2000) in [(change["word"], change["after"]) for change in second["changes"]]


def test_advice_about_a_limit_that_is_too_small(tmp_path: Path) -> None:
    said = advise(tmp_path, "{name: a, gpus: 2, queue: small}")
    assert said.exit_code == 1
    assert "a: is over a limit" in said.stdout
    assert "in queue default instead of small" in said.stdout


def test_a_bad_job_is_refused(tmp_path: Path) -> None:
    said = advise(tmp_path, "{name: a, gpus: 1.5}")
    assert said.exit_code == faults.BAD_INPUT
    assert "gpus" in said.stderr
    assert advise(tmp_path, "{name: a, queue: nowhere}").exit_code == faults.BAD_INPUT


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """One controller with two counted devices."""
    made = Product(tmp_path_factory.mktemp("outlooks") / "home")
    assert made.starting("up", "--detach", "--devices", "2").code == 0
    yield made
    made.stop()


@pytest.mark.slow
def test_why_and_advice_of_a_controller(product: Product, tmp_path: Path) -> None:
    first = product.run("sleep", "60", words=("--gpus", "1", "--time-limit", "1h", "--name", "first"))
    job = product.run("sleep", "60", words=("--gpus", "2", "--name", "second"))
    told = product.json("why", job)["outlook"]
    assert [(change["word"], change["after"]) for change in told["changes"]] == [("gpus", 1000)]
    assert told["lacks"][0]["holders"][0]["job"] == int(first)
    assert told["expected"]["nodes"]
    (row, _) = product.json("ps")["jobs"]
    assert row["promised"]
    assert "STARTS BY" in product("ps").out
    said = product("why", job).out
    assert "lacks 1 GPU on node" in said
    assert "with 1 GPU instead of 2 GPUs" in said
    assert "held by first (1 GPU, until " in said
    assert "outlook" not in product.json("why", job, "--brief")
    (tmp_path / "jobs.yaml").write_text("{name: late, gpus: 1, run: [echo]}")
    (late,) = product.json("advise", str(tmp_path / "jobs.yaml"))["jobs"]
    assert (late["verdict"], late["lacks"][0]["level"], late["lacks"][0]["name"]) == ("waits", "order", "second")
    assert [row["name"] for row in product.json("ps")["jobs"]] == ["second", "first"]
