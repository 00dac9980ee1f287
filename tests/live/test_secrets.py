"""A secret reaches the job's process, and nothing else: not what is kept, shown, logged, ordered or listed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from clearway.config.home import read_running
from clearway.model.errors import InputError
from clearway.sdk.client import Client
from tests.api.live import live, until
from tests.api.serving import raw_answer
from tests.cli.live import Product
from tests.live.processes import commands, environment_of, runner_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

VALUE = "correct-horse-battery-staple \u00e9\n'\"$x"
RAW = VALUE.encode()
MARKS = (b"correct-horse", b"battery-staple")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("secrets") / "home"
    home.mkdir(mode=0o700)
    (home / "clearway.yaml").write_text("tenants: [{name: vision, users: [root, ann]}]\n")
    with live(home) as client:
        client.set_secret("TOKEN", VALUE)
        yield home


@pytest.fixture
def client(home: Path) -> Client:
    return Client.connect(home)


def _job(name: str, run: str, **words: Any) -> dict[str, Any]:
    return {"name": name, "run": run, "workdir": "/", "secrets": ["TOKEN"], **words}


def _output(client: Client, name: str) -> bytes:
    return b"".join(client.logs(name))


def _everything_shown(home: Path, client: Client) -> Iterator[str]:
    """Yield what each reader is answered with."""
    product = Product(home)
    yield json.dumps([client.status(), client.nodes(), client.queues(), client.secrets()])
    for row in client.jobs(everything=True):
        ref = f"id:{row['id']}"
        yield json.dumps([row, client.job(ref), client.why(ref), client.events(ref)])
        for command in ("show", "why", "logs"):
            yield str(product(command, ref))
    yield str(product("ps", "-a"))
    yield str(product("secret", "list"))
    yield str(product("explain"))
    running = read_running(home)
    assert running is not None
    for path in ("metrics", "api/v1/openapi.json"):
        asked = f"GET /{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()
        yield raw_answer(running.socket, asked).body.decode()  # type: ignore[attr-defined]


def _has(data: bytes) -> bool:
    return any(mark in data for mark in MARKS)


def test_it_is_nowhere_but_in_its_file_and_in_the_process(home: Path, client: Client, tmp_path: Path) -> None:
    marker = tmp_path / "go"
    (tmp_path / "expected").write_bytes(RAW)
    wait = f"while [ ! -e {marker} ]; do sleep 0.05; done"
    client.submit(
        [
            _job("runs", f'test "$TOKEN" = "$(cat {tmp_path}/expected)" && echo same; {wait}'),
            _job("fails", "exit 3", max_retries=1, retry_backoff=0),
            _job("cannot start", "x") | {"run": ["/no/such/program"]},
            _job("gang", "true", tasks=3),
            _job("array", "true", array=3),
            _job("too large", "true", env={"BIG": "x" * 200_000}),
        ]
    )  # fmt: skip
    until(lambda: _output(client, "runs") == b"same\n", "it has the value")
    until(lambda: len(client.jobs()) == 1, "the others are over")
    assert not [pid for pid, line in commands() if _has("\0".join(line).encode(errors="surrogateescape"))]
    running = read_running(home)
    assert running is not None
    for pid in (running.pid, runner_of(home)):
        assert not _has("\0".join(environment_of(pid)).encode(errors="surrogateescape"))
    assert not [text for text in _everything_shown(home, client) if _has(text.encode())]
    marker.touch()
    client.wait("runs")
    product = Product(home)
    for command in (("db", "backup", str(home / "copy.db")), ("history", "export", str(home / "history.json"))):
        assert product(*command).code == 0
    assert product("down").code == 0
    assert product("db", "compact").code == 0  # takes a snapshot
    holds = [path for path in home.rglob("*") if path.is_file() and _has(path.read_bytes())]
    assert holds == list((home / "secrets").rglob("TOKEN"))
    assert len(holds) == 1
    assert product.starting("up", "--detach").code == 0


def test_the_command_takes_it_from_stdin_or_a_file_and_never_shows_it(home: Path, tmp_path: Path) -> None:
    product, client = Product(home), Client.connect(home)
    said = product("secret", "set", "PIPED", stdin=VALUE + "\n")
    assert (said.code, said.out) == (0, "secret PIPED of user root is set\n")
    (tmp_path / "value").write_bytes(RAW)
    assert product("secret", "set", "FILED", "--file", str(tmp_path / "value")).code == 0
    assert product.json("secret", "list")["secrets"] == [
        {"name": name, "user": "root"} for name in ("FILED", "PIPED", "TOKEN")
    ]
    code = "import os; assert os.environ['PIPED'] == os.environ['FILED'] == os.environ['TOKEN']"
    words = {"secrets": ["PIPED", "FILED", "TOKEN"], "workdir": "/"}
    client.submit([{"name": "three", "run": ["python3", "-c", code], **words}])
    assert client.wait("three")["state"] == "succeeded"
    for name in ("PIPED", "FILED"):
        assert product("secret", "remove", name).code == 0
    assert product("secret", "remove", "PIPED").code == 4
    assert product("secret", "set", "A-B", stdin=VALUE).code == 2
    empty = product("secret", "set", "EMPTY", stdin="")
    assert (empty.code, "(not shown)" in empty.err) == (2, True)


def test_one_that_is_not_set_is_refused(client: Client) -> None:
    with pytest.raises(InputError, match="secrets: 'NONE' is refused: a secret that is set: clearway secret set NONE"):
        client.submit([_job("a", "true", secrets=["NONE"])])


def test_an_attempt_that_finds_one_gone_fails_and_names_it(client: Client, tmp_path: Path) -> None:
    client.set_secret("SHORT", VALUE)
    first = _job("first", f"while [ ! -e {tmp_path}/go ]; do sleep 0.05; done", secrets=[])
    client.submit([first, _job("late", "true", secrets=["SHORT"], after=["first"], max_retries=2)])
    client.remove_secret("SHORT")
    (tmp_path / "go").touch()
    client.wait("late")
    row = client.job("late")
    assert (row["state"], len(row["attempts"])) == ("failed", 1)
    assert "the secret SHORT is not set; set it with: clearway secret set SHORT" in row["reason"]["text"]


def test_the_next_attempt_has_the_new_value(client: Client) -> None:
    client.set_secret("TURNS", "old")
    client.submit([_job("again", 'test "$TURNS" = new', secrets=["TURNS"], max_retries=1000, retry_backoff=0.05)])
    until(lambda: client.job("again")["attempt"] > 1, "it is tried again")
    client.set_secret("TURNS", "new")
    assert client.wait("again")["state"] == "succeeded"


def test_a_tenants_secret_is_for_its_users_alone(client: Client) -> None:
    client.set_secret("SHARED", "ours", tenant="vision")
    client.submit([_job("ann's", 'test "$SHARED" = ours', secrets=["SHARED"], user="ann")])
    assert client.wait("ann's")["state"] == "succeeded"
    with pytest.raises(InputError, match="SHARED"):
        client.submit([_job("bob's", "true", secrets=["SHARED"], user="bob")])
    with pytest.raises(InputError, match="TOKEN"):
        client.submit([_job("ann's too", "true", user="ann")])


def test_errors_about_bodies_show_no_value(home: Path) -> None:
    running = read_running(home)
    assert running is not None
    for path, body in (
        ("jobs", b'{"jobs": [{"name": "a", "env": {"A": "%s", "A": "%s"}}]}' % (MARKS[0], MARKS[0])),
        ("jobs", b'{"jobs": [{"name": "a", "run": "x", "secrets": {"TOKEN": "%s"}}]}' % MARKS[0]),
    ):
        head = f"POST /api/v1/{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n"
        answer = raw_answer(running.socket, f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        assert answer.status == 422
        assert not _has(answer.body)  # type: ignore[attr-defined]
