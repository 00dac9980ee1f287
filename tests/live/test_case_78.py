"""However many say one key at once, through whichever door, one job is made and the first is not spoilt."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from clearway.config.home import read_running
from clearway.model.errors import ConflictError
from clearway.sdk.client import Client
from tests.api.live import kill_controller, live, until
from tests.cli.live import Product

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

ROUNDS, CLIENTS = 100, 20


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("78") / "home"
    with live(home, fleet={"nodes": [{"name": "n", "gpus": 2}]}, listen="127.0.0.1:0"):
        yield home


@pytest.fixture
def doors(home: Path) -> list[Client]:
    """The socket, and loopback: what a controller can be reached by."""
    running = read_running(home)
    assert running is not None
    return [Client.connect(home), Client.at(running.listen, home / "token")]


def _job(key: str, folder: Path, **words: Any) -> dict[str, Any]:
    run = f"echo x >> '{folder}/{key}'"
    return {"name": f"job of {key}", "run": run, "gpus": 1, "workdir": "/", "idempotency_key": key, **words}


def _at_once(doors: list[Client], jobs: list[dict[str, Any]]) -> list[int | str]:
    """Submit each job from a client of its own, all in one moment; return the numbers, or why one was refused."""
    gate = threading.Barrier(len(jobs))

    def submit(at: int) -> int | str:
        gate.wait()
        try:
            return int(doors[at % len(doors)].submit([jobs[at]])[0]["id"])
        except ConflictError as error:
            return str(error)

    with ThreadPoolExecutor(len(jobs)) as threads:
        return list(threads.map(submit, range(len(jobs))))


def test_one_key_is_one_job_in_every_round(doors: list[Client], tmp_path: Path) -> None:
    client, numbers = doors[0], []
    for key in (f"same {n}" for n in range(ROUNDS)):
        job = _job(key, tmp_path)
        (first,) = client.submit([job])
        time.sleep(0.005)
        (second,) = doors[1].submit([job])
        found = {first["id"], second["id"], *_at_once(doors, [job] * CLIENTS)}
        assert len(found) == 1, "the handle of the same job, each time"
        numbers += list(found)
    assert len(set(numbers)) == ROUNDS
    _ran_once(client, tmp_path, ROUNDS)
    assert len(client.jobs(everything=True)) == ROUNDS


def test_the_first_of_all_is_among_those_at_once(doors: list[Client], tmp_path: Path) -> None:
    before = len(doors[0].jobs(everything=True))
    for n in range(10):
        assert len(set(_at_once(doors, [_job(f"new {n}", tmp_path)] * CLIENTS))) == 1
    _ran_once(doors[0], tmp_path, 10)
    assert len(doors[0].jobs(everything=True)) == before + 10


def test_other_words_under_one_key_are_a_conflict_that_names_it(doors: list[Client], tmp_path: Path) -> None:
    jobs = [_job("taken", tmp_path, name=f"job {n}") for n in range(CLIENTS)]
    answers = _at_once(doors, jobs)
    (number,) = [one for one in answers if isinstance(one, int)]
    assert all("taken" in one for one in answers if isinstance(one, str))
    _ran_once(doors[0], tmp_path, 1)
    assert doors[0].job(f"id:{number}")["name"] == f"job {answers.index(number)}"


def test_a_batch_with_a_key_that_is_taken_otherwise_is_refused_whole(doors: list[Client], tmp_path: Path) -> None:
    client = doors[0]
    client.submit([_job("in a batch", tmp_path)])
    before = client.status()["journal"]["records"]
    client.wait("job of in a batch")
    settled = len(client.jobs(everything=True))
    with pytest.raises(ConflictError, match="in a batch"):
        client.submit([_job("beside it", tmp_path), _job("in a batch", tmp_path, priority=1)])
    assert len(client.jobs(everything=True)) == settled
    assert before
    (new, old) = client.submit([_job("beside it", tmp_path), _job("in a batch", tmp_path)])
    assert old["id"] < new["id"]
    _ran_once(client, tmp_path, 2)


def test_a_key_twice_in_one_batch_is_one_job(doors: list[Client], tmp_path: Path) -> None:
    first, second = doors[0].submit([_job("twice", tmp_path)] * 2)
    assert first["id"] == second["id"]
    _ran_once(doors[0], tmp_path, 1)


@pytest.mark.parametrize("key", ["\u00e9", "e\u0301", "K", "k", "a b", "x" * 1000, "../x", "\n"], ids=range(8))
def test_keys_are_told_apart_byte_for_byte(doors: list[Client], tmp_path: Path, key: str) -> None:
    job = {**_job("file", tmp_path), "idempotency_key": key, "name": "told apart"}
    assert len(set(_at_once(doors, [job] * 4))) == 1
    _ran_once(doors[0], tmp_path, 1)


def test_a_key_stays_taken_after_a_cancel_and_after_a_crash(home: Path, tmp_path: Path) -> None:
    client, job = Client.connect(home), _job("kept", tmp_path, run="sleep 600")
    (first,) = client.submit([job])
    client.cancel(f"id:{first['id']}")
    assert client.wait(f"id:{first['id']}")["state"] == "cancelled"
    kill_controller(home)
    assert Product(home).starting("up", "--detach", "--listen", "127.0.0.1:0").code == 0
    again = Client.connect(home)
    assert again.submit([job])[0]["id"] == first["id"]
    with pytest.raises(ConflictError, match="kept"):
        again.submit([{**job, "env": {"A": "secret"}}])
    assert again.job(f"id:{first['id']}")["state"] == "cancelled"


def _ran_once(client: Client, folder: Path, many: int) -> None:
    until(lambda: not client.jobs(), "all are over")
    files = [path.read_text() for path in folder.iterdir()]
    assert files == ["x\n"] * many
    rows = client.jobs(everything=True)[:many]
    assert {(row["state"], row["attempt"]) for row in rows} == {("succeeded", 1)}
