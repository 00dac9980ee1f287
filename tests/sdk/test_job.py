from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clearway import sdk
from clearway.compose.launch import stop
from clearway.model.errors import ControllerError, InputError
from tests.api.live import PATIENCE_S, end

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    place = tmp_path_factory.mktemp("home")
    yield place
    end(place)


def test_a_job_from_python(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    job = sdk.submit(home, name="hello", run="pwd; echo bad >&2; exit 3", cpus=0.5)
    assert job.wait(PATIENCE_S)["state"] == job.state == "failed"
    assert b"".join(job.logs()).decode().strip() == str(tmp_path)
    assert b"".join(job.logs(stream="stderr")) == b"bad\n"
    assert job.row["exit_code"] == 3
    assert job.why()["reasons"]
    assert repr(job) == f"<Job {job.id} 'hello'>"
    assert job.warnings == ()


def test_a_job_is_cancelled_from_python(home: Path) -> None:
    job = sdk.submit(home, name="long", run=["sleep", "60"])
    with pytest.raises(TimeoutError, match=r"'long' is running after 0\.3 s"):
        job.wait(0.3)
    job.cancel()
    assert job.wait(PATIENCE_S)["state"] == "cancelled"


def test_a_refused_job_stores_nothing(home: Path) -> None:
    client = sdk.connect(home)
    before = client.status()["journal"]["records"]
    with pytest.raises(InputError, match="gpus: -1 is refused"):
        sdk.submit(home, name="bad", run="true", gpus=-1)
    assert client.status()["journal"]["records"] == before


def test_none_is_started_where_that_is_not_wanted(tmp_path: Path) -> None:
    with pytest.raises(ControllerError, match="no controller runs for"):
        sdk.connect(tmp_path, start=False)
    assert not stop(tmp_path)
