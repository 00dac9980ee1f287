"""`clearway report` on a journal that lies there, without a controller."""

from __future__ import annotations

import csv
import io
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from clearway.model.asks import SetBudget
from clearway.model.budgets import BudgetSpec
from clearway.model.values import MICROS
from clearway.store.sqlite import SqliteJournal
from clearway.testing.builders import Bench, job, node
from tests.cli.live import Product

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def product(tmp_path: Path) -> Product:
    """A home whose journal tells of an hour long ago."""
    b = Bench(node(price_micros=8 * MICROS))
    b.pass_s(100)
    b.step(SetBudget(BudgetSpec("hours", queue="default", gpu_milli_hours=2500, cost_micros=9 * MICROS, period="day")))
    b.step(SetBudget(BudgetSpec("others", tenant="[b]red", cost_micros=MICROS)))
    one, two = b.submit(job("a", gpus=2, user="=ann", queue="default"), job("b", user="bob"))
    b.up(one)
    b.up(two)
    b.pass_s(3600)
    b.end(one)
    b.end(two, 1)
    tmp_path.chmod(0o700)
    with closing(SqliteJournal(tmp_path / "journal.db")) as journal:
        journal.append(b.journal)
    return Product(tmp_path)


def test_it_tells_people_and_programs(product: Product) -> None:
    time = ("--since", "1970-01-01T00:00:10Z", "--until", "1970-01-02T00:00:00Z")
    told = product.json("report", *time, "--by", "user")
    assert [(row["name"], row["gpu_hours"], row["cost"], row["failed"]) for row in told["accounts"]] == [
        ("=ann", 2.0, 4.0, 0),
        ("bob", 1.0, 2.0, 1),
    ]
    said = product("report", *time)
    assert said.code == 0
    assert said.out.split()[:3] == ["QUEUE", "GPU", "HOURS"]
    assert "default" in said.out
    assert "3.00" in said.out


def test_it_tells_how_budgets_stood_at_its_end(product: Product) -> None:
    since = ("--since", "1970-01-01T00:00:10Z")
    hours, others = product.json("report", *since, "--until", "1970-01-01T02:00:00Z")["budgets"]
    assert hours == {
        "name": "hours", "tenant": None, "queue": "default", "period": "day", "until": "1970-01-02T00:00:00.000Z",
        "gpu_hours": 3.0, "most_gpu_hours": 2.5, "cost": 6.0, "most_cost": 9.0, "used_up": True,
    }  # fmt: skip
    assert (others["tenant"], others["gpu_hours"], others["most_gpu_hours"], others["used_up"]) == (
        "[b]red",
        0,
        None,
        False,
    )
    lines = product("report", *since, "--until", "1970-01-01T02:00:00Z").out.splitlines()
    assert lines[-2].split()[:7] == ["hours", "queue", "default", "day", "3.00", "/", "2.50"]
    assert lines[-2].endswith("used up")
    early = product.json("report", *since, "--until", "1970-01-01T00:31:40Z")["budgets"][0]
    assert (early["gpu_hours"], early["used_up"]) == (1.5, False)


def test_budgets_tells_how_they_stand_now(product: Product) -> None:
    hours, others = product.json("budgets")["budgets"]
    assert (hours["name"], hours["gpu_hours"], hours["cost"], hours["used_up"]) == ("hours", 0.0, 0.0, False)
    assert others["name"] == "others"
    said = product("budgets")
    assert said.code == 0
    assert said.out.splitlines()[0].split() == ["BUDGET", "FOR", "PERIOD", "GPU", "HOURS", "COST", "ENDS", "STATE"]
    assert "tenant [b]red" in said.out


def test_a_spreadsheet_gets_no_formula(product: Product) -> None:
    said = product(
        "report", "--since", "1970-01-01T00:00:10Z", "--until", "1970-01-02T00:00:00Z", "--by", "user", "--csv"
    )
    rows = list(csv.reader(io.StringIO(said.out)))
    assert rows[0][:2] == ["user", "gpu_hours"]
    assert [row[0] for row in rows[1:]] == ["'=ann", "bob"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--since", "tomorrow"), "since"),
        (("--since", "5x"), "since"),
        (("--until", "1970-01-01T00:00:00Z"), "a moment before that of `until`"),
        (("--by", "job"), "job"),
    ],
)
def test_a_bad_time_is_refused(product: Product, words: tuple[str, str], told: str) -> None:
    said = product("report", *words)
    assert said.code == 2
    assert told in said.err


def test_nothing_is_told_as_nothing(product: Product) -> None:
    said = product("report", "--since", "30d")
    assert (said.code, said.out.splitlines()[:2]) == (0, ["nothing was held, and no job ended, in that time", ""])
