"""`clearway forecast` on a journal that lies there, without a controller."""

from __future__ import annotations

import json
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from clearway.forecast import RunTimes
from clearway.loop.forecasting import Forecasting
from clearway.model.asks import Cancel
from clearway.store.sqlite import SqliteJournal
from clearway.testing.builders import Bench, job, node
from tests.cli.live import Product

if TYPE_CHECKING:
    from pathlib import Path

DAY_S = 86_400


@pytest.fixture
def product(tmp_path: Path) -> Product:
    """A home whose journal tells of a day, in which a job of two GPUs came each half hour and ran for ten minutes."""
    b = Bench(node())
    b.world.forecasting = Forecasting(RunTimes())
    b.pass_s(int(time.time()) - DAY_S)
    for _ in range(46):
        (one,) = b.submit(job("a", gpus=2))
        b.up(one)
        b.pass_s(600)
        b.end(one)
        b.pass_s(1200)
    tmp_path.chmod(0o700)
    with closing(SqliteJournal(tmp_path / "journal.db")) as journal:
        journal.append(b.journal)
    return Product(tmp_path)


def test_it_tells_people_and_programs(product: Product) -> None:
    told = json.loads(product("forecast", "load", "--json", "--since", "1d").out)
    assert [series["name"] for series in told["series"]] == ["arrivals", "gpus"]
    for series in told["series"]:
        assert 270 <= series["steps"] <= 290
        assert [row["horizon"] for row in series["ahead"]] == [300, 1800, 3600, DAY_S]
        near = series["ahead"][0]
        assert near["within_95"][0] <= near["within_80"][0] <= near["middle"] <= near["within_80"][1]
        assert near["within_95"][0] >= 0
        assert near["judged"] > 100
    said = product("forecast", "load", "--since", "1d", "--queue", "default")
    assert said.code == 0
    assert said.out.split()[:2] == ["LOAD", "IN"]
    assert "GPUs in use" in said.out


def test_a_queue_that_is_not_there_is_named(product: Product) -> None:
    said = product("forecast", "load", "--queue", "nobody")
    assert said.code != 0
    assert "nobody" in said.err


def test_where_the_past_is_too_short_that_is_said(product: Product) -> None:
    said = product("forecast", "load", "--since", "2m")
    assert (said.code, said.out.startswith("nothing to forecast from yet")) == (0, True), said


def test_a_report_judges_what_was_said_by_what_came(product: Product) -> None:
    told = json.loads(product("forecast", "report", "--json", "--since", "2d", "--starts").out)
    assert [(row["name"], row["runs"]) for row in told["runs"]] == [("(all)", 46), ("default", 46)]
    assert told["runs"][0]["error"] < 1.1, "each ran for ten minutes"
    assert told["runs"][0]["last_error"] == pytest.approx(1)
    assert told["runs"][0]["estimate_error"] is None
    assert len(told["runs"][0]["below"]) == len(told["levels"])
    assert sum(month["runs"] for month in told["months"]) == 46
    assert (told["starts"]["judged"], told["broken_off"], told["drifted"]) == (0, 0, False)
    said = product("forecast", "report", "--by", "length", "--since", "2d", "--starts")
    assert said.code == 0
    assert said.out.splitlines()[0].split()[:3] == ["RUNS", "OF", "RUNS"]
    assert "nobody waited" in said.out


def test_of_a_time_without_runs_that_is_said(product: Product) -> None:
    told = json.loads(product("forecast", "report", "--json", "--since", "1s").out)
    assert (told["runs"], told["starts"]) == ([dict.fromkeys(told["runs"][0]) | {"name": "(all)", "runs": 0}], None)
    assert "has ended by itself" in product("forecast", "report", "--since", "1s").out


def test_starts_are_judged_where_jobs_wait(tmp_path: Path) -> None:
    b = Bench(node(gpus=1))
    b.world.forecasting = Forecasting(RunTimes())
    b.pass_s(int(time.time()) - DAY_S)
    jobs = [b.submit(job("a"))[0] for _ in range(3)]
    for _ in range(30):
        b.up(jobs[0])
        b.pass_s(600)
        b.end(jobs.pop(0))
        jobs += b.submit(job("a"))
    b.up(jobs[0])
    b.pass_s(10)
    b.step(Cancel(jobs[0]))
    b.end(jobs[0])
    tmp_path.chmod(0o700)
    with closing(SqliteJournal(tmp_path / "journal.db")) as journal:
        journal.append(b.journal)
    product = Product(tmp_path)
    told = json.loads(product("forecast", "report", "--json", "--since", "2d", "--starts").out)
    starts = told["starts"]
    assert (told["runs"][0]["runs"], told["broken_off"]) == (30, 1)
    assert starts["moments"] > 10
    assert starts["judged"] > 20
    assert starts["error"] < starts["wait"]
    assert "inside the interval of 80 %" in product("forecast", "report", "--since", "2d", "--starts").out
