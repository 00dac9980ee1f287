"""`clearway forecast load` on a journal that lies there, without a controller."""

from __future__ import annotations

import json
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

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
