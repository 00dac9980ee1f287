"""Needs with real processes: learnt from what was measured, suggested, applied, taken back where it was too little."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clearway.engines.local.groups import MEMORY, Groups
from clearway.sdk.client import Client
from tests.api.live import live
from tests.cli.live import Product

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

MIB = 2**20
TAKES = "exec python3 -c 'x = bytearray({} << 20)'"
SMALL, LARGE, ASKED = 64, 400, 1024


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("needs") / "home"
    home.mkdir(mode=0o700)
    (home / "clearway.yaml").write_text("queues: [{name: sized, defaults: {right_size: apply}}]\n")
    with live(home):
        client = Client.connect(home)
        for _ in range(3):
            assert _over(client, takes(SMALL))["state"] == "succeeded"
        yield home


@pytest.fixture
def client(home: Path) -> Client:
    return Client.connect(home)


def takes(mib: int, **words: Any) -> dict[str, Any]:
    return {"name": "takes", "run": TAKES.format(mib), "workdir": "/", "memory": f"{ASKED}MiB", **words}


def _over(client: Client, job: dict[str, Any]) -> dict[str, Any]:
    (row,) = client.submit([job])
    client.wait(f"id:{row['id']}", 60)
    return client.job(f"id:{row['id']}")


def test_advice_says_what_would_do(home: Path) -> None:
    product = Product(home)
    file = home / "job.yaml"
    file.write_text(f"name: takes\nrun: {TAKES.format(SMALL)!r}\nmemory: {ASKED}MiB\n")
    (row,) = product.json("advise", str(file))["jobs"]
    (need,) = row["needs"]
    assert (need["word"], need["asked"], need["runs"], need["applied"]) == ("memory", ASKED * MIB, 3, False)
    assert SMALL * MIB < need["most"] < need["enough"] < 4 * SMALL * MIB
    said = product("advise", str(file))
    assert said.code == 0
    assert f"  {need['text']}\n" in said.out


def test_what_is_suggested_changes_nothing(home: Path, client: Client) -> None:
    row = _over(client, takes(SMALL, right_size="suggest"))
    assert [need["applied"] for need in row["needs"]] == [False]
    assert "1 GiB asked" in Product(home)("show", f"id:{row['id']}").out
    assert _over(client, takes(SMALL, right_size="off"))["needs"] == []


@pytest.mark.skipif(not (groups := Groups("probeneeds")).has(MEMORY), reason=groups.refused or "no groups for memory")
def test_what_is_applied_too_little_is_taken_back_and_the_next_is_told(client: Client) -> None:
    """The system ends what takes more than it was given: that job is tried again with what it asks for."""
    small = _over(client, takes(SMALL, queue="sized"))
    assert (small["state"], small["attempt"], small["words"]["memory"]) == ("succeeded", 1, ASKED * MIB)
    assert small["needs"][0]["applied"]
    large = _over(client, takes(LARGE, queue="sized"))
    assert [attempt["end"] for attempt in large["attempts"]] == ["failed", "succeeded"]
    assert large["tries"]["retries"] == 0
    assert [need["applied"] for need in large["needs"]] == [False]
    causes = client.why(f"id:{large['id']}")["causes"]
    assert [cause["code"] for cause in causes if cause["kind"] == "requeued"] == ["ran-short"]
    after = _over(client, takes(LARGE, queue="sized"))
    assert (after["state"], after["attempt"]) == ("succeeded", 1), "what it really took is known now"
    out = [_over(client, takes(LARGE, name="out", memory=f"{LARGE // 2}MiB")) for _ in range(2)]
    assert [row["state"] for row in out] == ["failed", "failed"]
    (need,) = out[1]["needs"]
    assert need["out_of_memory"] == 1
    assert LARGE * 3 // 4 * MIB <= need["enough"] < LARGE * MIB


groups.leave()
