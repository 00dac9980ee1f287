"""`clearway db`: a journal is copied, put back, looked through and made short, and nothing is lost by it."""

from __future__ import annotations

import re
import sqlite3
import stat
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from clearway.cli import faults
from clearway.model import events as ev
from clearway.model.ids import JobId
from clearway.store import SqliteJournal
from clearway.store import schema as tables
from clearway.testing.builders import Bench, job, node
from tests.cli.live import Product

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def product(tmp_path: Path) -> Product:
    """A home with a journal of five jobs, four of them over, and no controller."""
    home = tmp_path / "home"
    home.mkdir()
    bench = Bench(node(gpus=1))
    for second in (0, 100, 200, 300):
        bench.at(second)
        (number,) = bench.submit(job(f"j{second}"))
        bench.up(number)
        bench.at(second + 50)
        bench.end(number)
    bench.submit(job("live"))
    with closing(SqliteJournal(home / "journal.db")) as journal:
        journal.append(bench.journal)
    return Product(home)


def damage(product: Product, statement: str) -> None:
    with closing(sqlite3.connect(product.home / "journal.db")) as database:
        database.execute(statement)
        database.commit()


def records(product: Product) -> list[ev.Record]:
    with closing(SqliteJournal(product.home / "journal.db", writes=False)) as journal:
        return [entry.record for entry in journal.read()]


# --- check ---------------------------------------------------------------------------------------


def test_a_sound_journal_adds_up(product: Product) -> None:
    found = product.json("db", "check")
    assert found["faults"] == []
    assert (found["live_jobs"], found["snapshots"]) == (1, 0)
    assert found["records"] == len(records(product))
    product("db", "compact")
    assert product.json("db", "check")["snapshots"] == 1
    assert "all adds up" in product("db", "check").out


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("DELETE FROM journal WHERE number=4", "record 4 is missing"),
        ("UPDATE journal SET body='{}' WHERE number=4", "record 4 of the journal .* cannot be understood"),
        ("UPDATE snapshot SET checksum='00'", "the snapshot at record 3. .*is damaged"),
        ("DELETE FROM journal WHERE number IN (SELECT max(number) FROM journal)", ""),
    ],
)
def test_what_is_wrong_is_named(product: Product, statement: str, fault: str) -> None:
    product("db", "compact")
    damage(product, statement)
    said = product("db", "check")
    if fault:
        assert said.code == faults.FAILED
        assert "something is wrong" in said.out
        found = product.json("db", "check", code=faults.FAILED)["faults"]
        assert any(re.search(fault, one) for one in found), found
    else:
        assert said.code == 0  # a snapshot ahead of the records is what a power cut may leave


def test_a_home_without_a_journal_is_not_given_one(tmp_path: Path) -> None:
    product = Product(tmp_path)
    for what in ("check", "compact", "upgrade"):
        assert product("db", what).code == faults.NOT_FOUND
    assert product("db", "backup", str(tmp_path / "copy")).code == faults.NOT_FOUND
    assert list(tmp_path.iterdir()) == []


# --- backup and restore --------------------------------------------------------------------------


def test_a_backup_put_back_is_the_same_journal(product: Product, tmp_path: Path) -> None:
    product("db", "compact")
    file, other = tmp_path / "copy.db", Product(tmp_path / "new" / "other")
    assert product.json("db", "backup", str(file)) == {"file": str(file), "last": len(records(product))}
    assert sorted(p.name for p in tmp_path.iterdir() if p.is_file()) == ["copy.db"]
    assert other("db", "restore", str(file)).code == 0
    assert stat.S_IMODE(other.home.stat().st_mode) == 0o700
    assert records(other) == records(product)
    assert other.json("db", "check")["snapshots"] == 1


def test_a_backup_into_a_folder_that_is_not_there_is_refused(product: Product, tmp_path: Path) -> None:
    said = product("db", "backup", str(tmp_path / "none" / "copy.db"))
    assert (said.code, "there is no folder" in said.err) == (faults.BAD_INPUT, True)


def test_nothing_is_written_over(product: Product, tmp_path: Path) -> None:
    file = tmp_path / "copy.db"
    file.write_text("mine")
    assert product("db", "backup", str(file)).code == faults.CONFLICT
    assert file.read_text() == "mine"
    file.unlink()
    product("db", "backup", str(file))
    said = product("db", "restore", str(file))
    assert said.code == faults.CONFLICT
    assert "records already" in said.err


def test_while_a_controller_writes_backup_and_check_read(product: Product, tmp_path: Path) -> None:
    with closing(SqliteJournal(product.home / "journal.db")):
        assert product("db", "backup", str(tmp_path / "copy.db")).code == 0
        assert product("db", "check").code == 0
        for what in ("compact", "upgrade"):
            said = product("db", what)
            assert said.code == faults.CONFLICT
            assert "is written by process" in said.err
        assert product("db", "restore", str(tmp_path / "copy.db")).code == faults.CONFLICT


# --- compact -------------------------------------------------------------------------------------


def test_without_a_retention_time_nothing_goes(product: Product) -> None:
    before = records(product)
    assert product.json("db", "compact") == {"jobs": 0, "records": 0}
    assert records(product) == before


def test_what_is_past_its_time_goes_with_what_it_printed(product: Product) -> None:
    (product.home / "clearway.yaml").write_text("retention: 100s\n")
    output = product.home / "logs" / "1"
    output.mkdir(parents=True)
    (output / "1-0-0.stdout").write_text("hello")
    assert product.json("db", "compact")["jobs"] == 0  # no snapshot is old enough to stand for anything yet
    bench_moment = 2 * 3600 * 10**6
    with closing(SqliteJournal(product.home / "journal.db")) as journal:
        journal.append([ev.ControllerStarted(bench_moment)])
    assert product.json("db", "compact")["jobs"] == 4
    left = records(product)
    assert {r.job for r in left if isinstance(r, ev.Submitted)} == {JobId(5)}
    assert any(isinstance(r, ev.NodeAdded) for r in left)
    assert not output.exists()
    assert product.json("db", "check")["faults"] == []


# --- upgrade -------------------------------------------------------------------------------------


def as_version_1(product: Product) -> None:
    for table in ("snapshot", "snapshot_part", "leader"):
        damage(product, f"DROP TABLE {table}")
    damage(product, "UPDATE meta SET value='1' WHERE key='version'")


def test_an_old_journal_is_brought_up_to_date(product: Product) -> None:
    before = records(product)
    as_version_1(product)
    said = product("db", "check")
    assert said.code == faults.FAILED
    assert "run `clearway db upgrade`" in said.err
    told = product.json("db", "upgrade")
    assert (told["found"], told["version"]) == (1, tables.VERSION)
    assert records(product) == before
    assert "already" in product("db", "upgrade").out
    assert product("db", "check").code == 0


def test_a_controller_upgrades_its_own_file_by_itself(product: Product) -> None:
    as_version_1(product)
    with closing(SqliteJournal(product.home / "journal.db")) as journal:
        assert journal.version() == tables.VERSION
        assert journal.marks() == []
