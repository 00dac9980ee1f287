from __future__ import annotations

import contextlib
import http.client
import json
import re
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from clearway.api.limits import MOST_OPEN
from clearway.config.home import read_running
from clearway.model.errors import InputError, NotAllowedError, NotFoundError
from clearway.sdk.client import Client
from tests.api.asking import Port
from tests.api.live import live, until
from tests.api.serving import raw_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow
PATIENCE_S = 30
EVIL = '<script>alert("x")</script>' + "&<b>" * 230  # 1,000 characters or so, all of them trouble in a page


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tokens")


@pytest.fixture(scope="module")
def client(home: Path) -> Iterator[Client]:
    with live(home, devices=1, listen="127.0.0.1:0") as found:
        yield found


@pytest.fixture(scope="module")
def port(home: Path, client: Client) -> Port:
    assert client.status()
    return Port(home)


def _as(client: Client, port: Port, tmp_path: Path, **words: object) -> Client:
    """Return a client that shows a token of its own."""
    file = tmp_path / "token"
    file.write_text(client.make_token(words)["token"])
    return Client.at(port.url, file)


def _job(client: Client, name: str, **words: object) -> str:
    [row] = client.submit([{"name": name, "run": ["sleep", "600"], **words}])
    return f"id:{row['id']}"


def test_a_secret_is_told_once_and_only_its_hash_is_kept(client: Client, home: Path) -> None:
    made = client.make_token({"user": "ada", "role": "viewer", "expires": "1h"})
    assert re.fullmatch(r"cw_[\w-]{43}", made["token"])
    [row] = [row for row in client.tokens() if row["id"] == made["id"]]
    assert "token" not in row
    kept = b"".join(path.read_bytes() for path in home.iterdir() if path.is_file())
    assert made["token"].encode() not in kept
    assert made["id"].encode() in kept


def test_a_revoked_token_and_one_whose_time_is_over_open_nothing(client: Client, port: Port) -> None:
    made = client.make_token({"user": "ada", "role": "viewer"})
    assert port.ask("GET", "/api/v1/session", token=made["token"]).body["name"] == "ada"
    client.revoke_token(made["id"])
    assert port.ask("GET", "/api/v1/session", token=made["token"]).status == 401
    with pytest.raises(NotFoundError):
        client.revoke_token(made["id"])
    short = client.make_token({"user": "ada", "role": "viewer", "expires": "1s"})["token"]
    while port.ask("GET", "/api/v1/session", token=short).status != 401:
        time.sleep(0.05)


def stream(port: Port, path: str, **headers: str) -> socket.socket:
    """Ask for an answer that does not end, and return its connection when it has begun."""
    found = socket.create_connection(
        (port.host.partition(":")[0], int(port.host.partition(":")[2])), timeout=PATIENCE_S
    )
    lines = [f"GET /api/v1/{path} HTTP/1.1", f"Host: {port.host}", *(f"{k}: {v}" for k, v in headers.items())]
    found.sendall("\r\n".join([*lines, "", ""]).encode())
    assert found.recv(12) == b"HTTP/1.1 200"
    return found


def goes_on(connection: socket.socket, until_told: bytes) -> bool:
    """Read until something is told; False where the connection ends before that."""
    told = b""
    with contextlib.suppress(ConnectionError):
        while until_told not in told:
            piece = connection.recv(65536)
            if not piece:
                return False
            told += piece
        return True
    return False


@pytest.mark.parametrize("way", ["token", "session"])
def test_what_is_under_way_ends_with_its_token_and_nothing_else_does(
    client: Client, port: Port, tmp_path: Path, way: str
) -> None:
    made, other = (client.make_token({"user": user, "role": "viewer"}) for user in ("ada", "bob"))
    shown = {"Authorization": f"Bearer {made['token']}"}
    if way == "session":
        (tmp_path / "token").write_text(made["token"])
        shown = {"Cookie": Browser(Client.at(port.url, tmp_path / "token"), port).cookie}
    with (
        stream(port, "events", **shown) as mine,
        stream(port, "events", Authorization=f"Bearer {other['token']}") as others,
    ):
        assert goes_on(others, b"hello")
        client.revoke_token(made["id"])
        assert not goes_on(mine, b"never told"), "its stream has ended"
        client.submit([{"name": "told-to-bob", "run": ["true"]}])
        assert goes_on(others, b"told-to-bob")
    client.revoke_token(other["id"])


@pytest.mark.parametrize(
    "words",
    [{}, {"user": "ada"}, {"role": "viewer"}, {"user": "ada", "role": "king"}, {"user": "", "role": "viewer"},
     {"user": "ada", "role": "viewer", "expires": "-1s"}, {"user": "ada", "role": "viewer", "scopes": ["moon"]},
     {"user": "ada", "role": "viewer", "what": 1}],
)  # fmt: skip
def test_bad_words_of_a_token_are_refused(client: Client, words: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        client.make_token(words)


def test_a_submitter_changes_the_work_of_its_tenant_only(client: Client, port: Port, tmp_path: Path) -> None:
    theirs, mine = _job(client, "theirs", tenant="speech"), _job(client, "ours", tenant="vision")
    ada = _as(client, port, tmp_path, user="ada", role="submitter", tenant="vision")
    own = _job(ada, "own")
    row = client.job(own)
    assert (row["user"], row["tenant"]) == ("ada", "vision")
    assert {job["name"] for job in ada.jobs()} >= {"theirs", "ours", "own"}, "it sees all"
    for ask in (ada.cancel, ada.hold, ada.release, ada.requeue, ada.suspend, lambda ref: ada.set(ref, {"priority": 1})):
        with pytest.raises(NotAllowedError, match="tenant 'vision'"):
            ask(theirs)
    for words in ({"tenant": "speech"}, {"user": "bob", "tenant": "speech"}):
        with pytest.raises(NotAllowedError):
            _job(ada, "in another's name", **words)
    assert ada.cancel(mine)["id"]
    assert ada.cancel(own)["id"]
    client.cancel(theirs)


def test_a_submitter_without_a_tenant_changes_its_own_work_only(client: Client, port: Port, tmp_path: Path) -> None:
    bob = _as(client, port, tmp_path, user="bob", role="submitter")
    theirs, own = _job(client, "of ada", user="ada"), _job(bob, "of bob")
    with pytest.raises(NotAllowedError, match="user 'bob'"):
        bob.cancel(theirs)
    bob.cancel(own)
    client.cancel(theirs)


def test_workflows_schedules_and_searches_are_their_owners_too(client: Client, port: Port, tmp_path: Path) -> None:
    bob = _as(client, port, tmp_path, user="bob", role="submitter")
    flow = client.run_flow({"name": "theirs", "steps": [{"name": "a", "run": ["sleep", "600"]}]})
    client.set_schedule({"name": "theirs", "cron": "0 0 1 1 *", "job": {"run": ["true"]}})
    client.run_search({"name": "theirs", "trials": 1, "space": {"x": [1]}, "job": {"run": ["sleep", "600"]}})
    asks: tuple[Callable[[], object], ...] = (
        lambda: bob.cancel_flow(str(flow["id"])),
        lambda: bob.remove_schedule("theirs"),
        lambda: bob.set_schedule({"name": "theirs", "cron": "* * * * *", "job": {"run": ["true"]}}),
        lambda: bob.cancel_search("theirs"),
    )
    for ask in asks:
        with pytest.raises(NotAllowedError):
            ask()
    client.cancel_flow(str(flow["id"]))
    client.remove_schedule("theirs")
    client.cancel_search("theirs")


@pytest.mark.parametrize("noun", ["jobs", "flows", "schedules", "searches"])
def test_no_secret_of_a_tenant_is_had_by_naming_it(client: Client, port: Port, tmp_path: Path, noun: str) -> None:
    client.set_secret("DB", b"hidden", tenant="vision")
    bob = _as(client, port, tmp_path, user="bob", role="submitter")
    words = {"name": "a", "run": ["env"], "workdir": "/", "tenant": "vision", "secrets": ["DB"]}
    asks: dict[str, Callable[[], object]] = {
        "jobs": lambda: bob.submit([words]),
        "flows": lambda: bob.run_flow({"name": "f", "steps": [words]}),
        "schedules": lambda: bob.set_schedule({"name": "s", "cron": "* * * * *", "job": words}),
        "searches": lambda: bob.run_search({"name": "x", "trials": 1, "space": {"x": [1]}, "job": words}),
    }
    with pytest.raises(NotAllowedError, match="tenant"):
        asks[noun]()


def test_no_search_of_anothers_is_replaced_when_it_is_over(client: Client, port: Port, tmp_path: Path) -> None:
    words = {"name": "best", "trials": 1, "space": {"x": [1]}, "job": {"run": ["sleep", "600"], "workdir": "/"}}
    client.run_search(words)
    client.cancel_search("best")
    until(lambda: client.search("best")["state"] != "running", "the search is over")
    bob = _as(client, port, tmp_path, user="bob", role="submitter")
    with pytest.raises(NotAllowedError, match="search best"):
        bob.run_search(words)
    client.run_search(words)
    client.cancel_search("best")


def test_no_name_of_a_workflow_hides_anothers_number(client: Client) -> None:
    steps = [{"name": "a", "run": ["true"], "workdir": "/"}]
    first = client.run_flow({"name": "first", "steps": steps})["id"]
    for name in (str(first), f"id:{first}"):
        client.run_flow({"name": name, "steps": steps})
        assert client.flow(name)["name"] == "first"


def test_the_body_of_a_retry_is_bounded_as_all_others_are(client: Client, home: Path) -> None:
    flow = client.run_flow({"name": "short", "steps": [{"name": "a", "run": ["true"]}]})
    running = read_running(home)
    assert running is not None
    head = f"POST /api/v1/flows/{flow['id']}/retry HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999999\r\n\r\n"
    assert raw_answer(running.socket, head.encode()).status == 413


def test_every_change_leaves_a_line_that_operators_can_read(client: Client, port: Port, tmp_path: Path) -> None:
    ada = _as(client, port, tmp_path, user="ada-of-the-lines", role="submitter")
    job = _job(ada, "with a line", env={"SECRET": "hidden-in-env"})
    ada.cancel(job)
    with pytest.raises(NotAllowedError):
        ada.set_queue({"name": "mine"})
    with pytest.raises(NotAllowedError):
        ada.changes()
    lines = client.changes(who="ada-of-the-lines")
    assert [(line["method"], line["path"], line["status"]) for line in lines] == [
        ("POST", "/api/v1/queues", 403),
        ("POST", f"/api/v1/jobs/{job.replace(':', '%3A')}/cancel", 200),
        ("POST", "/api/v1/jobs", 201),
    ]
    assert lines[2]["about"] == {"jobs": [int(job.removeprefix("id:"))], "count": 1}
    assert {line["address"] for line in lines} == {"127.0.0.1"}
    assert lines[0]["via"].startswith("token ")
    assert "hidden-in-env" not in json.dumps(lines)
    assert client.changes(since="2100-01-01T00:00:00Z") == []


def test_what_is_no_name_of_a_secret_may_be_one_and_is_in_no_line(client: Client, home: Path) -> None:
    with pytest.raises(InputError):
        client.set_secret("typed-in-place/of a name", b"x")
    with pytest.raises(InputError):
        client.remove_secret("typed-in-place/of a name")
    assert [line["path"] for line in client.changes()[:2]] == ["/api/v1/secrets/(not shown)"] * 2
    assert not [path.name for path in home.glob("*") if path.is_file() and b"typed-in-place" in path.read_bytes()]


def test_lines_are_for_the_owner_alone(client: Client, home: Path) -> None:
    assert client.changes()
    assert (home / "changes.jsonl").stat().st_mode & 0o077 == 0


def test_who_asks_too_often_is_told_when_to_come_again(tmp_path: Path) -> None:
    with live(tmp_path, devices=0, listen="127.0.0.1:0", rate_limit=1) as client:
        port = Port(tmp_path)
        hasty, patient = (client.make_token({"user": one, "role": "viewer"})["token"] for one in ("hasty", "patient"))
        answer = port.ask("GET", "/api/v1/session", token=hasty)
        while answer.status == 200:  # on a slow machine some fit into each second
            answer = port.ask("GET", "/api/v1/session", token=hasty)
        assert answer.status == 429
        assert int(answer.headers["retry-after"]) >= 1
        assert port.ask("GET", "/api/v1/session", token=patient).status == 200, "each has its own bucket"


def test_nobody_takes_all_room_with_streams_and_their_end_makes_room(client: Client, port: Port) -> None:
    tokens = [client.make_token({"user": user, "role": "viewer"})["token"] for user in ("greedy", "modest")]
    with contextlib.ExitStack() as held:
        for _ in range(MOST_OPEN):
            while (answer := _stream(held, port, tokens[0])).status != 200:
                assert b"asks too often" in answer.read()
                time.sleep(0.05)
        until(lambda: "under way" in str(port.ask("GET", "/api/v1/session", token=tokens[0]).body), "no more room")
        assert port.ask("GET", "/api/v1/session", token=tokens[1]).status == 200
    until(lambda: port.ask("GET", "/api/v1/session", token=tokens[0]).status == 200, "there is room again")


def _stream(held: contextlib.ExitStack, port: Port, token: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(port.host, timeout=PATIENCE_S)
    held.callback(connection.close)
    connection.request("GET", "/api/v1/events", headers={"Authorization": f"Bearer {token}"})
    answer = connection.getresponse()
    held.callback(answer.close)
    return answer


class Browser:
    """What a browser keeps: its cookie, and what the page told it."""

    def __init__(self, client: Client, port: Port) -> None:
        self.port, self.link = port, client.link()
        self.path = self.link["url"].removeprefix(port.url)
        self.entered = port.ask("GET", self.path)
        if b"<form" in self.entered.body:
            self.entered = port.ask("POST", self.path, Origin=port.url)
        self.cookie = self.entered.headers.get("set-cookie", "").partition(";")[0]

    def ask(self, method: str, path: str, **more: Any) -> Any:
        return self.port.ask(method, path, Cookie=self.cookie, **more)


def test_a_link_opens_the_page_once(client: Client, port: Port) -> None:
    browser = Browser(client, port)
    assert browser.entered.status == 200
    told = browser.entered.headers["set-cookie"]
    assert "HttpOnly" in told
    assert "SameSite=strict" in told
    assert browser.ask("GET", "/api/v1/jobs").status == 200
    again = port.ask("GET", browser.path)
    assert (again.status, again.headers.get("set-cookie")) == (401, None)
    assert port.ask("GET", "/enter?code=guessed").status == 401
    assert port.ask("GET", "/enter").status == 401


def test_a_change_from_a_session_needs_its_second_secret_and_the_pages_origin(client: Client, port: Port) -> None:
    browser = Browser(client, port)
    csrf = browser.ask("GET", "/api/v1/session").body["csrf"]
    words = {"name": "from the page"}
    ours = {"Origin": port.url, "X_CSRF_Token": csrf}
    for wrong in (
        {},
        {"Origin": port.url},
        {"X_CSRF_Token": csrf},
        {**ours, "Origin": "http://evil.example"},
        {**ours, "Origin": "null"},
        {**ours, "X_CSRF_Token": csrf + "x"},
    ):
        assert browser.ask("POST", "/api/v1/queues", body=words, **wrong).status == 403, wrong
    assert browser.ask("POST", "/api/v1/queues", body=words, **ours).status == 200
    assert browser.ask("POST", "/api/v1/session/end", **ours).status == 200
    assert browser.ask("GET", "/api/v1/jobs").status == 401


def test_a_link_hands_on_no_more_than_its_maker_may(client: Client, port: Port, tmp_path: Path) -> None:
    viewer = _as(client, port, tmp_path, user="eve", role="viewer")
    browser = Browser(viewer, port)
    assert browser.ask("GET", "/api/v1/session").body["role"] == "viewer"
    assert browser.ask("GET", "/api/v1/tokens").status == 403


def test_a_link_that_is_not_the_owners_asks_the_person_first(client: Client, port: Port, tmp_path: Path) -> None:
    eve = _as(client, port, tmp_path, user="eve<b>", role="viewer")
    path = eve.link()["url"].removeprefix(port.url)
    for _ in range(2):  # who looks at links before people do does not use them up
        asked = port.ask("GET", path)
        assert (asked.status, asked.headers.get("set-cookie")) == (200, None)
        assert b"<strong>eve&lt;b&gt;</strong>, with the role viewer" in asked.body
    for origin in ({}, {"Origin": "null"}, {"Origin": "https://evil.example"}):
        led = port.ask("POST", path, **origin)
        assert (led.status, led.headers.get("set-cookie")) == (403, None), "another page has the browser come in"
    assert "set-cookie" in port.ask("POST", path, Origin=port.url).headers
    assert port.ask("POST", path, Origin=port.url).status == 401
    assert port.ask("GET", path).status == 401


@pytest.mark.parametrize("path", ["/", "/enter?code=guessed", "/static/index.html", "/nothing"])
def test_a_browser_that_is_not_in_is_told_what_to_do(port: Port, path: str) -> None:
    told = port.ask("GET", path, Accept="text/html,application/xhtml+xml;q=0.9,*/*;q=0.8")
    assert (told.status, told.headers["content-type"]) == (401, "text/html; charset=utf-8")
    assert b"clearway dashboard" in told.body
    assert told.headers["cache-control"] == "no-store"


def test_a_body_of_two_lengths_is_refused_with_what_stands_behind_it(client: Client, port: Port) -> None:
    token = client.make_token({"user": "smuggler", "role": "viewer"})["token"]
    head = f"POST /api/v1/links HTTP/1.1\r\nHost: {port.host}\r\nAuthorization: Bearer {token}\r\n"
    both = "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    host, _, number = port.host.rpartition(":")
    with socket.create_connection((host, int(number)), PATIENCE_S) as peer:
        peer.sendall(f"{head}{both}GET /api/v1/health HTTP/1.1\r\nHost: {port.host}\r\n\r\n".encode())
        told = b"".join(iter(lambda: peer.recv(65536), b""))
    assert told.startswith(b"HTTP/1.1 400 ")
    assert told.count(b"HTTP/1.1 ") == 1


def test_a_program_that_is_not_in_gets_a_problem(port: Port) -> None:
    for path, kind in (("/api/v1/jobs", "text/html"), ("/", "*/*"), ("/metrics", "text/plain")):
        assert port.ask("GET", path, Accept=kind).body["title"] == "not allowed", path


def test_a_session_ends_when_its_token_is_revoked(client: Client, port: Port, tmp_path: Path) -> None:
    made = client.make_token({"user": "mallory", "role": "viewer"})
    (tmp_path / "token").write_text(made["token"])
    browser = Browser(Client.at(port.url, tmp_path / "token"), port)
    assert browser.ask("GET", "/api/v1/jobs").status == 200
    client.revoke_token(made["id"])
    assert browser.ask("GET", "/api/v1/jobs").status == 401


def test_every_answer_keeps_a_page_from_loading_or_running_what_is_not_its_own(port: Port) -> None:
    for path in ("/api/v1/health", "/enter", "/nothing"):
        policy = port.ask("GET", path).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy


def test_names_full_of_html_come_back_as_data(client: Client, port: Port) -> None:
    job = _job(client, EVIL[:1000])
    token = client.make_token({"user": EVIL[:200], "role": "viewer"})["token"]
    answer = port.ask("GET", "/api/v1/jobs?limit=1", token=token)
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.body["jobs"][0]["name"] == EVIL[:1000]
    client.cancel(job)


def _clearway(home: Path, *words: str) -> str:
    command = [sys.executable, "-m", "clearway.cli.main", "--home", str(home), *words]
    code = "from clearway.cli.main import main; main()"
    return subprocess.run([sys.executable, "-c", code, *command[3:]], capture_output=True, text=True, check=True).stdout


def test_the_commands_make_list_and_revoke_tokens_and_tell_of_changes(client: Client, home: Path, port: Port) -> None:
    secret = _clearway(home, "token", "create", "carol", "--role", "operator", "--expires", "30d").strip()
    who = port.ask("GET", "/api/v1/session", token=secret).body
    assert (who["name"], who["role"]) == ("carol", "operator")
    [row] = [row for row in client.tokens() if row["user"] == "carol"]
    assert row["id"] in _clearway(home, "token", "list")
    assert "opens nothing" in _clearway(home, "token", "revoke", row["id"])
    assert "POST /tokens" in _clearway(home, "changes")
    assert json.loads(_clearway(home, "changes", "--json", "--limit", "1"))["changes"][0]["path"].endswith("/revoke")
    assert _clearway(home, "dashboard", "--no-open").startswith(f"{port.url}/enter?code=")


def test_a_client_elsewhere_is_told_where_by_the_environment(
    client: Client, port: Port, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text(client.make_token({"user": "far", "role": "viewer"})["token"])
    monkeypatch.setenv("CLEARWAY_URL", port.url)
    monkeypatch.setenv("CLEARWAY_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="token_file"):
        Client.usual()
    monkeypatch.setenv("CLEARWAY_TOKEN_FILE", str(tmp_path / "token"))
    assert Client.usual().session()["name"] == "far"
    with pytest.raises(NotAllowedError):
        Client.usual().submit([{"name": "x", "run": ["true"]}])
