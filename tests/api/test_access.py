from __future__ import annotations

import contextlib
import http.client
import os
import socket
import stat
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import msgspec
import pytest
from starlette.responses import PlainTextResponse

from clearway.api.access import Access, read_token
from clearway.api.doors import Doors
from clearway.api.server import unix_socket
from clearway.api.tokens import KEY, Token, digest_of
from clearway.config.settings import Settings
from clearway.model.errors import ControllerError
from clearway.store import MemoryJournal
from tests.api.live import until
from tests.api.serving import raw_answer, served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.types import Receive, Scope, Send

PATIENCE_S = 30
TOKEN = "a-token-for-this-test"
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")


async def inside(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse(scope["path"])(scope, receive, send)


def doors(home: Path, token: str = TOKEN, notes: MemoryJournal | None = None) -> Doors:
    return Doors(Settings(home, listen=("127.0.0.1", 0)), "ada", notes or MemoryJournal(), lambda: 0, token)


def guarded(home: Path, token: str = TOKEN) -> Access:
    return Access(inside, doors(home, token))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    tmp_path.chmod(0o700)
    return tmp_path


@pytest.fixture
def where(home: Path) -> Iterator[tuple[str, int]]:
    with served(guarded(home), home) as found:
        yield found


def _get(path: str, *headers: str) -> bytes:
    return "\r\n".join((f"GET {path} HTTP/1.1", "Connection: close", *headers, "", "")).encode("latin-1")


def test_the_owner_comes_in_through_the_socket_without_a_token(where: tuple[str, int]) -> None:
    answer = raw_answer(where[0], _get("/api/v1/jobs", "Host: anything"))
    assert answer.status == 200


def test_a_name_keeps_its_slashes_as_it_was_sent(where: tuple[str, int]) -> None:
    answer = raw_answer(where[0], _get("/api/v1/jobs/a%2Fb%0A/why?x=1", "Host: x"))
    assert answer.body == b"/api/v1/jobs/a%2Fb%0A/why"  # type: ignore[attr-defined]


def test_socket_and_directory_are_for_the_owner_alone(home: Path, where: tuple[str, int]) -> None:
    assert stat.S_IMODE(os.stat(where[0]).st_mode) == 0o600  # noqa: PTH116
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/api/v1/health", ["Host: 127.0.0.1"], 200),
        ("/api/v1/jobs", ["Host: 127.0.0.1"], 401),
        ("/", ["Host: 127.0.0.1"], 401),
        ("/openapi.json", ["Host: 127.0.0.1"], 401),
        ("/api/v1/health/../jobs", ["Host: 127.0.0.1"], 401),
        ("/api/v1/health%2F..%2Fjobs", ["Host: 127.0.0.1"], 401),
        ("/api/v1/jobs", ["Host: 127.0.0.1", f"Authorization: Bearer {TOKEN}"], 200),
        ("/api/v1/jobs", ["Host: localhost:80", f"Authorization: bearer {TOKEN}"], 200),
        ("/api/v1/jobs", ["Host: [::1]:80", f"Authorization: Bearer {TOKEN}"], 200),
        ("/api/v1/jobs", ["Host: 127.0.0.1", f"Authorization: Bearer {TOKEN}x"], 401),
        ("/api/v1/jobs", ["Host: 127.0.0.1", f"Authorization: Bearer {TOKEN[:-1]}"], 401),
        ("/api/v1/jobs", ["Host: 127.0.0.1", "Authorization: Bearer "], 401),
        ("/api/v1/jobs", ["Host: 127.0.0.1", "Authorization: Bearer"], 401),
        ("/api/v1/jobs", ["Host: 127.0.0.1", f"Authorization: Basic {TOKEN}"], 401),
        ("/api/v1/jobs", ["Host: 127.0.0.1", "Authorization: Bearer \xff\xfe"], 401),
        ("/api/v1/jobs", ["Host: rebound.example", f"Authorization: Bearer {TOKEN}"], 421),
        ("/api/v1/health", ["Host: rebound.example"], 421),
        ("/api/v1/jobs", ["Host: 127.0.0.1.example", f"Authorization: Bearer {TOKEN}"], 421),
    ],
)
def test_on_loopback_nothing_but_health_without_the_token(
    where: tuple[str, int], path: str, headers: list[str], status: int
) -> None:
    answer = raw_answer(("127.0.0.1", where[1]), _get(path, *headers))
    assert answer.status == status
    assert TOKEN.encode() not in answer.body  # type: ignore[attr-defined]
    assert answer.getheader("Access-Control-Allow-Origin") is None


def test_an_empty_token_opens_nothing(home: Path) -> None:
    with served(guarded(home, ""), home) as where:
        for shown in ("Authorization: Bearer ", "Authorization: Bearer", "X: y"):
            assert raw_answer(("127.0.0.1", where[1]), _get("/", "Host: 127.0.0.1", shown)).status == 401


@pytest.mark.parametrize(
    ("answered", "begun"),
    [(0, b""), (0, b"GET"), (1, b"G"), (2, b"GET /api/v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")],
)
def test_whoever_does_not_end_a_head_is_cut_off_also_behind_an_answer(
    monkeypatch: pytest.MonkeyPatch, where: tuple[str, int], answered: int, begun: bytes
) -> None:
    monkeypatch.setattr("clearway.api.access.HEAD_S", 0.2)
    with socket.create_connection(("127.0.0.1", where[1]), PATIENCE_S) as peer:
        for _ in range(answered):
            peer.sendall(b"GET /api/v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            told = b""
            while not told.endswith(b"/api/v1/health"):
                piece = peer.recv(65536)
                assert piece, told
                told += piece
        peer.sendall(begun)
        try:
            rest = peer.recv(65536)
        except ConnectionResetError:
            rest = b""
        assert rest == b""


def test_however_many_come_by_the_port_the_owner_gets_in(
    monkeypatch: pytest.MonkeyPatch, where: tuple[str, int]
) -> None:
    monkeypatch.setattr("clearway.api.access.most_at_ports", lambda: 3)
    with contextlib.ExitStack() as held:
        peers = [held.enter_context(socket.create_connection(("127.0.0.1", where[1]), PATIENCE_S)) for _ in range(9)]
        for peer in peers[3:]:
            assert _turned_away(peer)
        assert raw_answer(where[0], _get("/api/v1/jobs", "Host: x")).status == 200
    until(lambda: _gets_in(where[1]), "there is room again")


@pytest.mark.parametrize(("size", "cut"), [(64 * 2**20, True), (2**16, False)])
def test_who_takes_nothing_of_a_big_answer_is_cut_off(
    monkeypatch: pytest.MonkeyPatch, home: Path, size: int, *, cut: bool
) -> None:
    monkeypatch.setattr("clearway.api.access.STALL_S", 0.2)
    gone = threading.Event()

    async def big(_scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x" * size, "more_body": cut})
        while (await receive())["type"] != "http.disconnect":
            pass
        gone.set()

    with served(Access(big, doors(home)), home) as where, socket.socket() as peer:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        peer.settimeout(PATIENCE_S)
        peer.connect(("127.0.0.1", where[1]))
        peer.sendall(_get("/", "Host: 127.0.0.1", f"Authorization: Bearer {TOKEN}"))
        assert gone.wait(PATIENCE_S), "it is over, or cut off where it goes on"
        told = 0
        while not cut and (piece := peer.recv(65536)):
            told += piece.count(b"x")
        assert cut or told >= size


class _Late(MemoryJournal):
    """Where a token is kept that is good for another moment."""

    def recall(self, key: str) -> str | None:
        token = Token("e", digest_of("short"), "eve", "viewer", "", 0, 200_000)
        return msgspec.json.encode([token]).decode() if key == KEY else super().recall(key)


def test_an_answer_ends_with_the_time_of_its_token(home: Path) -> None:
    async def endless(_scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x", "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass

    with (
        served(Access(endless, doors(home, notes=_Late())), home) as where,
        socket.create_connection(("127.0.0.1", where[1]), PATIENCE_S) as peer,
    ):
        peer.sendall(_get("/", "Host: 127.0.0.1", "Authorization: Bearer short"))
        assert peer.recv(12) == b"HTTP/1.1 200"
        with contextlib.suppress(ConnectionResetError):
            while peer.recv(65536):
                pass


def _turned_away(peer: socket.socket) -> bool:
    try:
        return peer.recv(1) == b""
    except ConnectionResetError:
        return True


def _gets_in(port: int) -> bool:
    try:
        return raw_answer(("127.0.0.1", port), _get("/api/v1/health", "Host: 127.0.0.1")).status == 200
    except (OSError, http.client.HTTPException):
        return False


BECOME = """
import os, socket, sys
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
"""
CONNECT = """
peer = socket.socket(socket.AF_UNIX)
try:
    peer.connect(sys.argv[1])
except PermissionError:
    sys.exit(13)
try:
    peer.sendall(b"GET /api/v1/jobs HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n")
    peer.settimeout(10)
    answer = peer.recv(65536)
except (ConnectionResetError, BrokenPipeError):
    answer = b""
sys.exit(0 if answer else 7)
"""


def _as_nobody(code: str, *args: str) -> int:
    """Run Python code as another user of this machine, and return its exit code."""
    return subprocess.run([sys.executable, "-c", BECOME + code, *args], cwd="/", check=False).returncode


@pytest.fixture
def open_home(home: Path) -> Iterator[Path]:
    """A home whose directories above let everybody through, so that only its own modes are tried."""
    above = [p for p in home.parents if p != p.parent and not p.stat().st_mode & 0o001]
    for directory in above:
        directory.chmod(directory.stat().st_mode | 0o001)
    yield home
    for directory in above:
        directory.chmod(directory.stat().st_mode & ~0o001)


@only_root
def test_another_user_cannot_reach_the_socket(open_home: Path) -> None:
    with served(guarded(open_home), open_home) as where:
        assert _as_nobody(CONNECT, where[0]) == 13, "the directory keeps them out"
        open_home.chmod(0o755)
        assert _as_nobody(CONNECT, where[0]) == 13, "the socket's own mode keeps them out"


@only_root
def test_another_user_who_got_past_the_modes_is_turned_away_by_the_kernels_word(open_home: Path) -> None:
    with served(guarded(open_home), open_home) as where:
        open_home.chmod(0o755)
        os.chmod(where[0], 0o666)  # noqa: PTH101, S103
        assert _as_nobody(CONNECT, where[0]) == 7, "the door is shut before a byte is read"
        assert raw_answer(where[0], _get("/", "Host: x")).status == 200, "the owner still comes in"


@only_root
def test_another_user_cannot_read_the_token(open_home: Path) -> None:
    read_token(open_home / "token")
    open_home.chmod(0o755)
    read = "try: open(sys.argv[1]).read()\nexcept PermissionError: sys.exit(13)"
    assert _as_nobody(read, str(open_home / "token")) == 13
    (open_home / "token").chmod(0o644)
    assert _as_nobody(read, str(open_home / "token")) == 0, "the mode was what kept them out"


def test_a_token_is_made_once_for_the_owner_alone(home: Path) -> None:
    token = read_token(home / "token")
    assert len(token) >= 43
    assert read_token(home / "token") == token
    assert stat.S_IMODE((home / "token").stat().st_mode) == 0o600


def test_a_token_that_others_can_read_is_not_used(home: Path) -> None:
    read_token(home / "token")
    (home / "token").chmod(0o644)
    with pytest.raises(ControllerError, match="mode 0600"):
        read_token(home / "token")


def test_an_empty_token_file_is_told(home: Path) -> None:
    (home / "token").write_text("\n")
    (home / "token").chmod(0o600)
    with pytest.raises(ControllerError, match="empty"):
        read_token(home / "token")


def test_a_token_file_that_leads_elsewhere_is_not_followed(home: Path) -> None:
    (home / "real").write_text("x")
    (home / "token").symlink_to(home / "real")
    with pytest.raises(OSError, match="token"):
        read_token(home / "token")


def test_a_long_path_gets_a_socket_in_a_private_directory(home: Path) -> None:
    deep = home / ("d" * 120)
    deep.mkdir()
    with unix_socket(deep) as listener:
        path = listener.getsockname()
        assert len(path) <= 100
        assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700  # noqa: PTH116, PTH120
    assert not os.path.exists(os.path.dirname(path))  # noqa: PTH110, PTH120
