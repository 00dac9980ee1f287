"""Code that jobs take along: what is edited after the submit changes no job that waits."""

from __future__ import annotations

import hashlib
import io
import tarfile
from typing import TYPE_CHECKING

import pytest

from clearway.api.code import code_path
from clearway.config.home import read_running
from clearway.model.errors import InputError
from tests.api.live import PATIENCE_S
from tests.api.serving import raw_answer

if TYPE_CHECKING:
    from pathlib import Path

    from clearway.sdk.client import Client

pytestmark = pytest.mark.slow


@pytest.fixture
def project(tmp_path: Path) -> Path:
    found = tmp_path / "project"
    found.mkdir()
    (found / "say.sh").write_text("echo before > out; cat out; pwd\n")
    return found


def _job(project: Path, **words: object) -> dict[str, object]:
    return {"name": "j", "run": "sh say.sh", "workdir": str(project), "code": "copied", **words}


def _output(client: Client, number: int) -> str:
    client.wait(f"id:{number}", PATIENCE_S)
    return b"".join(client.logs(f"id:{number}")).decode()


def test_a_later_edit_changes_no_job_that_waits(client: Client, home: Path, project: Path) -> None:
    (first,) = client.submit([{"name": "gate", "run": "sleep 60", "workdir": "/"}])
    (held,) = client.submit([_job(project)])
    (live,) = client.submit([_job(project, code="live", after=["gate"])])
    (again,) = client.submit([_job(project, after=["gate"])])
    said = _output(client, held["id"])
    (project / "say.sh").write_text("echo after\n")
    client.cancel(f"id:{first['id']}")
    assert said.startswith("before\n")
    assert str(home / "work") in said
    assert not (project / "out").exists()  # it runs in a folder of its own
    assert client.wait(f"id:{live['id']}", PATIENCE_S)["state"] == "failed"  # its gate was cancelled
    (last,) = client.submit([_job(project)])
    assert _output(client, last["id"]) == "after\n"
    assert again["id"] > live["id"]
    assert len(list((home / "code").iterdir())) == 2  # each content once


def test_code_waits_with_its_job(client: Client, project: Path) -> None:
    (gate,) = client.submit([{"name": "gate2", "run": "sleep 1", "workdir": "/"}])
    (waits,) = client.submit([_job(project, after=["gate2"])])
    (project / "say.sh").write_text("echo after\n")
    assert _output(client, waits["id"]).startswith("before\n")
    assert gate["id"] < waits["id"]


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("sha256:" + "0" * 64, "sent to this controller before"),
        ("sha256:abc", "64 digits"),
        ("frozen", "live, copied"),
    ],
)
def test_a_job_names_code_that_is_here(client: Client, project: Path, code: str, rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        client.submit([_job(project, code=code)])


def test_code_is_what_its_digest_says(home: Path) -> None:
    assert _put(home, "sha256:" + "0" * 64, b"x") == 422
    assert _put(home, "sha256:zz", b"x") == 422
    assert _put(home, _digest(b"no tar"), b"no tar") == 422
    assert _put(home, _digest(_tar("../x")), _tar("../x")) == 422
    assert _put(home, _digest(_tar("/etc/x")), _tar("/etc/x")) == 422
    good = _tar("x")
    assert _put(home, _digest(good), good) == 200
    assert _put(home, _digest(good), good) == 200
    assert code_path(home, _digest(good)).stat().st_mode & 0o777 == 0o600


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _tar(name: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        tar.addfile(tarfile.TarInfo(name))
    return out.getvalue()


def _put(home: Path, digest: str, content: bytes) -> int:
    running = read_running(home)
    assert running is not None
    head = (
        f"PUT /api/v1/code/{digest} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    return raw_answer(running.socket, head.encode() + content).status
