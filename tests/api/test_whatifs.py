"""What-ifs put to a controller that runs: worked out beside it, a few of them kept, none that may not be asked."""

from __future__ import annotations

import asyncio
import io
import re
from typing import TYPE_CHECKING, Any

import pytest

from clearway.api.past.relay import Relay
from clearway.api.past.shelf import Shelf
from clearway.api.past.whatifs import KEPT, Whatifs
from clearway.config.home import read_running
from clearway.model.errors import ClearwayError, ConflictError, FullError, InputError, NotFoundError, StoreError
from tests.api.asking import Port
from tests.api.live import live, until
from tests.cli.live import Product

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clearway.sdk.client import Client

pytestmark = pytest.mark.slow
EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("whatifs")


@pytest.fixture(scope="module")
def client(home: Path) -> Iterator[Client]:
    with live(home, devices=2, listen="127.0.0.1:0") as found:
        for at in range(3):
            rows = found.submit([{"name": f"{EVIL}-{at}-{n}", "run": ["true"], "gpus": 1, "user": EVIL} for n in "ab"])
            for row in rows:
                assert found.wait(f"id:{row['id']}")["state"] == "succeeded"
        yield found


def done(client: Client, number: int) -> dict[str, Any]:
    until(lambda: client.whatif(number)["state"] != "working", "it is worked out")
    return client.whatif(number)


def test_it_is_worked_out_kept_and_sent_as_a_page(client: Client, home: Path) -> None:
    row = client.ask_whatif({"policy": "sjf", "fleet": ["+8xH100"]})
    assert (row["state"], row["words"]["policy"]) == ("working", "sjf")
    found = done(client, row["id"])
    assert found["state"] == "done", found
    assert [change.partition(":")[0] for change in found["changes"]] == [
        "policy sjf instead of fair",
        "machines +8xH100",
    ]
    assert found["answer"]["comparison"]["policies"]["what if"]["finished"] == 6
    assert set(found["figures"]) == {"as_is", "what_if"}
    assert found["figures"]["as_is"]["use"] >= 0
    listed = client.whatifs()[0]
    assert (listed["summary"], "answer" in listed) == (found["summary"], False)
    page = io.BytesIO()
    client.whatif_page(row["id"], page)
    assert EVIL not in page.getvalue().decode(), "names are only text"
    assert not re.search(r"<script|<img|<iframe|<link|@import|url\(", page.getvalue().decode())
    token = (home / "token").read_text().strip()
    sent = Port(home).ask("GET", f"/api/v1/whatifs/{row['id']}/page", token=token)
    assert sent.headers["content-disposition"] == f'attachment; filename="whatif-{row["id"]}.html"'
    assert "default-src 'none'" in sent.headers["content-security-policy"]
    until(lambda: not list(home.glob("sent-*")), "nothing is left in the home")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({}, "something that would be otherwise"),
        ({"policy": "/etc/passwd.yaml"}, "a bundle"),
        ({"policy": {"order": ["nonsense"]}}, "nonsense"),
        ({"fleet": ["/etc/fleet.yaml"]}, "so many more"),
        ({"policy": "sjf", "since": "lately"}, "since"),
        ({"policy": "sjf", "sinse": "1d"}, "since"),
        ({"policy": "sjf", "seed": -1}, "seed"),
        ({"policy": {"order": ["fifo"] * 100_000}}, "at most 262144 bytes"),
        ({"limits": ["x=1"] * 3, "queues": [str(n) for n in range(101)]}, "at most 100"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anything_is_done(
    client: Client, words: dict[str, Any], says: str
) -> None:
    before = len(client.whatifs())
    with pytest.raises(InputError, match=says):
        client.ask_whatif(words)
    assert len(client.whatifs()) == before


def test_one_that_fails_says_why_and_is_removed(client: Client) -> None:
    row = client.ask_whatif({"queues": ["nowhere.weight=2"]})
    found = done(client, row["id"])
    assert (found["state"], "nowhere" in found["reason"]) == ("failed", True)
    with pytest.raises(ConflictError, match="failed"):
        client.whatif_page(row["id"], io.BytesIO())
    client.remove_whatif(row["id"])
    with pytest.raises(NotFoundError):
        client.whatif(row["id"])


def test_no_more_than_a_few_at_once_and_what_is_worked_on_can_be_removed(client: Client, home: Path) -> None:
    begun: list[int] = []
    with pytest.raises(FullError, match="worked out already"):
        begun.extend(client.ask_whatif({"policy": "fifo"})["id"] for _ in range(40))
    for number in begun:
        client.remove_whatif(number)
    assert not {row["id"] for row in client.whatifs()} & set(begun)
    until(lambda: not list(home.glob("sent-*")), "nothing is left in the home")


def test_a_command_has_it_worked_out_and_kept(client: Client, home: Path, tmp_path: Path) -> None:
    assert read_running(home) is not None
    product, page = Product(home), tmp_path / "page.html"
    said = product("whatif", "--policy", "fifo", "--keep", "--html", str(page))
    assert said.code == 0, said
    assert said.out.startswith("what if: policy fifo instead of fair\n")
    assert "<h1>What if: policy fifo instead of fair</h1>" in page.read_text()
    assert client.whatifs()[0]["words"]["policy"] == "fifo"
    failed = product("whatif", "--limit", "nothing=1", "--keep")
    assert (failed.code != 0, "nothing" in failed.err) == (True, True)


def test_the_newest_are_kept_and_a_spoilt_one_says_so(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    for number in (1, 2):
        shelf.keep({"id": number, "state": "done"}, {"read": "x"}, "<p>", tmp_path / "made")
    assert (sorted(shelf.numbers()), shelf.answer(2), shelf.page(2)) == ([1, 2], {"read": "x"}, b"<p>")
    (tmp_path / "whatifs" / "1" / "row.json").write_text("{")
    assert shelf.row(1)["state"] == "failed"
    shelf.drop(1)
    with pytest.raises(ClearwayError, match="cannot be read"):
        shelf.page(1)
    (tmp_path / "whatifs" / "2" / "answer.json").write_text("")
    with pytest.raises(StoreError, match="what-if 2 is spoilt"):
        shelf.answer(2)
    (tmp_path / "whatifs" / "2" / "row.json").write_text("[]")
    assert (shelf.row(2)["id"], shelf.row(2)["state"]) == (2, "failed")
    assert KEPT == 20


def test_one_for_which_no_process_can_be_had_has_failed_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "no-python"))

    async def asked() -> dict[str, Any]:
        kept = Whatifs(Relay(tmp_path, 1), tmp_path, "sqlite")
        number = kept.begin({"policy": "sjf"}, "ada", "now")["id"]
        await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})
        return kept.row(number)

    found = asyncio.run(asked())
    assert (found["state"], "no-python" in found["reason"]) == ("failed", True)
