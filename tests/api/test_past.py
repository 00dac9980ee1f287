"""Questions about the past, put to a controller that runs: answered beside it, and none outlives who asked."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import io
import os
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from clearway.api.pace import Pace
from clearway.api.past.child import Question
from clearway.api.past.relay import Relay, Relayed
from clearway.config.home import read_running
from clearway.model.errors import FullError, InputError, NotFoundError
from tests.api.live import PATIENCE_S, live, until
from tests.api.serving import served
from tests.disks import small_disk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import Receive, Scope, Send

    from clearway.sdk.client import Client
    from tests.servers import Server

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("past")


@pytest.fixture(scope="module")
def client(home: Path) -> Iterator[Client]:
    (home / "clearway.yaml").write_text("budgets: [{name: month, queue: default, gpu_hours: 100}]\n")
    with live(home, devices=1, listen="127.0.0.1:0") as found:
        (first,) = found.submit([{"name": "first", "run": ["true"], "gpus": 1, "user": "ada"}])
        assert found.wait(f"id:{first['id']}")["state"] == "succeeded"
        yield found


def test_accounts_cycles_and_reasons_come_from_the_controller(client: Client) -> None:
    (account,) = client.report(by="user")["accounts"]
    assert (account["name"], account["starts"], account["succeeded"]) == ("ada", 1, 1)
    cycle = client.cycle_of("first")
    assert (cycle["same"], [turn["name"] for turn in cycle["turns"]]) == (True, ["first"])
    assert client.cycle(cycle["cycle"]) == cycle
    then = client.why_then("first", datetime.now(UTC).isoformat())
    assert (then["state"], then["records"]) == ("succeeded", "here")
    assert client.audit()["first_difference"] is None
    arrivals, gpus = client.load_ahead(since="1h")["series"]
    assert (arrivals["name"], gpus["name"]) == ("arrivals", "gpus")
    judged = client.forecasts("1h", "user", starts=True)
    assert [(row["name"], row["runs"]) for row in judged["runs"]] == [("(all)", 1), ("ada", 1)]
    assert client.check_journal()["faults"] == []


def test_budgets_stand_in_a_report_as_they_do_now(client: Client) -> None:
    (now,) = client.budgets()
    assert (now["name"], now["queue"], now["most_gpu_hours"], now["used_up"]) == ("month", "default", 100, False)
    assert client.report()["budgets"] == [now], "nothing runs any more"
    assert client.waste()["budgets"] == [now]


def test_what_is_refused_is_refused_as_everywhere(client: Client) -> None:
    with pytest.raises(NotFoundError, match="no cycle 99999"):
        client.cycle(99999)
    with pytest.raises(NotFoundError, match="'nobody'"):
        client.cycle_of("nobody")
    with pytest.raises(NotFoundError, match="'nobody'"):
        client.load_ahead("nobody")
    with pytest.raises(InputError, match="still to come"):
        client.why_then("first", "2199-01-01T00:00:00Z")
    with pytest.raises(InputError, match="since"):
        client.report(since="tomorrow")


def test_files_come_whole_with_what_is_in_them(client: Client, home: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with copy.open("wb") as file:
        last = client.backup(file)["last"]
    with closing(sqlite3.connect(copy)) as database:
        assert database.execute("SELECT max(number) FROM journal").fetchone() == (last,)
    plain, packed, bundle = io.BytesIO(), io.BytesIO(), io.BytesIO()
    assert client.history(plain) == client.history(packed, compressed=True) == {"jobs": 1, "unfinished": 0}
    assert gzip.decompress(packed.getvalue()) == plain.getvalue()
    made = client.bundle(bundle)
    assert made["size"] == len(bundle.getvalue())
    until(lambda: not list(home.glob("sent-*")), "nothing is left in the home")


@pytest.mark.real_engine
def test_a_journal_in_postgresql_is_asked_as_one_in_a_file(postgres: Server, tmp_path: Path) -> None:
    (tmp_path / "clearway.yaml").write_text("budgets: [{name: month, queue: default, gpu_hours: 100}]\n")
    with live(tmp_path, devices=1, store=postgres.make("past")) as there:
        (first,) = there.submit([{"name": "first", "run": ["true"], "gpus": 1, "user": "ada"}])
        assert there.wait(f"id:{first['id']}")["state"] == "succeeded"
        told = there.report(by="user")
        assert [(one["name"], one["starts"], one["succeeded"]) for one in told["accounts"]] == [("ada", 1, 1)]
        assert told["budgets"] == there.budgets()
        cycle = there.cycle_of("first")
        assert (cycle["same"], [turn["name"] for turn in cycle["turns"]]) == (True, ["first"])
        assert there.check_journal()["faults"] == []
        history, bundle, copy = io.BytesIO(), io.BytesIO(), tmp_path / "copy.db"
        assert there.history(history) == {"jobs": 1, "unfinished": 0}
        assert there.bundle(bundle)["size"] == len(bundle.getvalue())
        with copy.open("wb") as file:
            last = there.backup(file)["last"]
        with closing(sqlite3.connect(copy)) as database:
            assert database.execute("SELECT max(number) FROM journal").fetchone() == (last,)
    assert not list(tmp_path.glob("journal.db*")), "nothing was read from a file of the home"


def test_who_goes_away_ends_the_process_that_works_for_him(client: Client, home: Path) -> None:
    running = read_running(home)
    assert running is not None
    held = [socket.socket(socket.AF_UNIX) for _ in range(4)]
    for one in held:
        one.connect(running.socket)
        one.sendall(b"GET /api/v1/audit HTTP/1.1\r\nHost: x\r\n\r\n")
        one.close()
    assert client.audit()["first_difference"] is None, "there is room again"
    until(lambda: not _children(running.pid), "no process is left over")


def _children(pid: int) -> list[str]:
    """Return the processes of a controller that answer questions."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            children = (task / "children").read_text().split()
            found += [one for one in children if b"past.child" in Path(f"/proc/{one}/cmdline").read_bytes()]
        except OSError:
            continue
    return found


def test_who_takes_nothing_of_a_file_makes_room_when_others_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clearway.api.past.relay.STALL_S", 0.2)
    monkeypatch.setattr("clearway.api.past.relay.MODULE", "tests.api.endless")
    relay = Relay(tmp_path, 1)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await Relayed(relay, Question("history", str(tmp_path), "sqlite"), Pace())(scope, receive, send)

    with served(app, tmp_path) as where, contextlib.ExitStack() as held:
        peers = [held.enter_context(socket.create_connection(("127.0.0.1", where[1]), PATIENCE_S)) for _ in range(2)]
        for peer in peers:  # the first one is answered, the other one waits for it
            peer.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert peers[1].recv(12) == b"HTTP/1.1 200", "the first one was cut off, though it never ends"


def test_what_is_made_to_be_sent_leaves_the_journal_its_room() -> None:
    with small_disk() as home:
        (home / "journal.db").write_bytes(os.urandom(1_200_000))
        head, *_ = _ended(Question("backup", str(home), "sqlite"))
        assert (head["status"], [one.name for one in home.iterdir()]) == (507, ["journal.db"])


def test_the_process_ends_well_when_its_answer_is_out_though_somebody_waits_still(client: Client, home: Path) -> None:
    assert client.status()
    head, body, said, code = _ended(
        Question("report", str(home), "sqlite", {"since": "1d", "until": None, "by": "user"})
    )
    assert (head["size"], said, code) == (len(body), b"", 0)


def _ended(asked: Question) -> tuple[dict[str, Any], bytes, bytes, int]:
    """Have a process answer while its stdin stays open; return head, body, stderr and exit code."""
    command, pipe = [sys.executable, "-m", "clearway.api.past.child"], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(msgspec.json.encode(asked) + b"\n")
        process.stdin.flush()
        head, _, body = process.stdout.read().partition(b"\n")
        said, code = process.stderr.read(), process.wait()
    return msgspec.json.decode(head), body, said, code


def test_more_than_can_wait_are_told_to_ask_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clearway.api.past.relay.MOST_WAITING", 0)

    async def ask() -> None:
        async with Relay(tmp_path).child(Question("audit", str(tmp_path), "sqlite")):
            pytest.fail("it was let in")

    with pytest.raises(FullError, match="wait already"):
        asyncio.run(ask())
