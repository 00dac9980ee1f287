"""A controller that has no room for more calls."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from clearway.calls.wire import CallSpec, Enter, Recipe, encode
from clearway.config.home import read_running
from clearway.model.errors import InputError
from clearway.sdk.tasks import parts
from clearway.sdk.transport import PREFIX, _UnixConnection
from tests.api.live import live
from tests.sdk import tasks_used as used

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow
PATIENCE_S = 60


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch, live(tmp_path / "home", devices=1, most_calls=3):
        patch.setenv("CLEARWAY_HOME", str(tmp_path / "home"))
        yield tmp_path / "home"


def _enter_one(home: Path) -> tuple[int, str | None, dict[str, object]]:
    running = read_running(home)
    assert running is not None
    words = json.dumps({"run": ["true"], "workdir": "/"})
    said = Enter("by hand", [Recipe("f", "f", words=words)], [CallSpec(0, b"")], {"f": b"code"})
    connection = _UnixConnection(running.socket, PATIENCE_S)
    connection.request("POST", PREFIX + "calls", encode(said), {"Content-Type": "application/msgpack"})
    answer = connection.getresponse()
    told = json.loads(answer.read())
    connection.close()
    return answer.status, answer.getheader("Retry-After"), told


def test_more_calls_than_there_is_room_for_are_refused_and_the_client_sends_them_again(
    home: Path, tmp_path: Path
) -> None:
    waiting = [used.waits_for.remote(str(tmp_path / "seen")) for _ in range(3)]
    assert all(handle.id for handle in waiting)
    more = [used.add.remote(n) for n in range(7)]
    status, after, told = _enter_one(home)
    assert (status, after, told["title"]) == (429, "1", "full")
    assert "most_calls is 3" in str(told["detail"])
    (tmp_path / "seen").touch()
    assert [handle.get(PATIENCE_S) for handle in more] == list(range(1, 8))
    assert [handle.get(PATIENCE_S) for handle in waiting] == ["seen"] * 3
    with pytest.raises(InputError, match="at most 3 at once"):
        used.add.map(range(4)).get(PATIENCE_S)


def test_a_map_is_larger_than_any_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEARWAY_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(parts, "WHOLE_BYTES", 100_000)
    sizes = [1000 + n % 7 for n in range(1200)]
    with live(tmp_path / "home", body_limit="200KiB"):
        assert used.length.map([b"x" * size for size in sizes]).get(PATIENCE_S) == sizes
