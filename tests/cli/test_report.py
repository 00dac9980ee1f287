"""`clearway report` on a journal that lies there, without a controller."""

from __future__ import annotations

import csv
import io
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

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
    assert (said.code, said.out) == (0, "nothing was held, and no job ended, in that time\n")
