"""What jobs take along, in whatever words they stand."""

from __future__ import annotations

import io
import tarfile
from typing import TYPE_CHECKING, Any

import pytest

from clearway.model.errors import InputError
from clearway.sdk.carry import Carrier

if TYPE_CHECKING:
    from pathlib import Path


class Kept:
    """What was sent."""

    def __init__(self) -> None:
        self.sent: dict[str, bytes] = {}

    def carry(self, words: Any) -> Any:
        return Carrier(self.sent.__setitem__).carry(words)

    def names(self, digest: str) -> list[str]:
        with tarfile.open(fileobj=io.BytesIO(self.sent[digest])) as tar:
            return tar.getnames()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("src/main.py", "src/data.bin", "src/deep/data.bin", "lib/net/__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_folders_of_a_runtime_environment_are_taken_along(here: Path) -> None:
    kept = Kept()
    env = {"working_dir": "src", "py_modules": ["lib/net", "s3://b/m.zip"], "excludes": ["*.bin"], "pip": ["x"]}
    job = kept.carry([{"name": "j", "run": "x", "runtime_env": env}])[0]
    assert job["workdir"] == str(here / "src")
    assert job["runtime_env"] == {"pip": ["x"], "py_modules": ["s3://b/m.zip"]}
    assert kept.names(job["code"]) == [".py_modules/.keep", "main.py", ".py_modules/net/__init__.py"]


def test_modules_alone_leave_the_working_directory_as_it_is(here: Path) -> None:
    kept = Kept()
    job = kept.carry({"workdir": str(here), "runtime_env": {"py_modules": ["lib/net"]}})
    assert (job["workdir"], job["runtime_env"]) == (str(here), None)
    assert kept.names(job["code"]) == [".py_modules/.keep", ".py_modules/net/__init__.py"]


def test_code_is_taken_along_with_modules(here: Path) -> None:
    kept = Kept()
    words = {"workdir": "src", "code": "copied", "runtime_env": {"py_modules": ["../lib/net"]}}
    job = kept.carry(words)
    assert job["workdir"] == str(here / "src")
    assert "main.py" in kept.names(job["code"])


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    "words",
    [
        {"steps": [{"workdir": "src", "code": "copied"}]},
        {"chain": [{"group": [{"workdir": "src", "code": "copied"}]}]},
        {"chord": {"group": [], "callback": {"workdir": "src", "code": "copied"}}},
        {"job": {"workdir": "src", "code": "copied"}},
        {"steps": [{"run": "true", "undo": {"workdir": "src", "code": "copied"}}]},
        {"workflow": {"steps": [{"name": "a", "on_error": {"workdir": "src", "code": "copied"}}]}},
    ],
)
def test_jobs_are_found_in_the_words_of_workflows_schedules_and_searches(words: Any) -> None:
    kept = Kept()
    found = kept.carry(words)
    (digest,) = kept.sent
    assert "main.py" in kept.names(digest)
    assert digest in str(found)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("words", "field"),
    [
        ({"code": "copied", "runtime_env": {"working_dir": "src"}}, "runtime_env"),
        ({"code": "sha256:00", "runtime_env": {"py_modules": ["lib/net"]}}, "runtime_env"),
        ({"runtime_env": {"py_modules": ["lib/net.whl"]}}, "runtime_env.py_modules"),
        ({"runtime_env": {"working_dir": "nowhere"}}, "workdir"),
    ],
)
def test_what_cannot_be_taken_along_is_refused(words: Any, field: str) -> None:
    with pytest.raises(InputError) as caught:
        Kept().carry(words)
    assert caught.value.field == field


def test_a_variable_that_is_called_code_is_none() -> None:
    words = {"name": "j", "env": {"code": "copied"}, "runtime_env": {"pip": ["x"]}}
    assert Kept().carry(words) == words
