"""A working directory as a job takes it along."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from typing import TYPE_CHECKING

import pytest

from clearway.model.errors import InputError
from clearway.sdk import pack as packing
from clearway.sdk.pack import pack

if TYPE_CHECKING:
    from pathlib import Path


def names(folder: Path) -> list[str]:
    with tarfile.open(fileobj=io.BytesIO(pack(folder)[1])) as tar:
        return tar.getnames()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "project"
    (found / "lib").mkdir(parents=True)
    (found / "train.py").write_text("print(1)\n")
    (found / "lib" / "net.py").write_text("x = 1\n")
    (found / "run.sh").write_text("#!/bin/sh\n")
    (found / "run.sh").chmod(0o755)
    return found


def test_the_same_content_gives_the_same_bytes(folder: Path) -> None:
    first = pack(folder)
    os.utime(folder / "train.py", (1, 1))
    (folder / "train.py").chmod(0o600)
    assert pack(folder) == first
    (folder / "train.py").write_text("print(2)\n")
    assert pack(folder)[0] != first[0]


def test_all_but_caches_and_environments_is_taken_along(folder: Path) -> None:
    for name in (".venv/x", "__pycache__/x", "lib/__pycache__/x", "node_modules/x"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    assert names(folder) == ["lib/net.py", "run.sh", "train.py"]


def test_in_a_repository_it_is_what_git_counts_as_its_own(folder: Path) -> None:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)  # noqa: S607  the git of this machine
    (folder / ".gitignore").write_text("*.bin\n")
    (folder / "data.bin").write_text("x")
    (folder / "new.py").write_text("x")
    assert names(folder) == [".gitignore", "lib/net.py", "new.py", "run.sh", "train.py"]
    subprocess.run(["git", "-C", str(folder), "add", "-A"], check=True)  # noqa: S607  the git of this machine
    (folder / "new.py").unlink()
    assert "new.py" not in names(folder)


def test_only_whether_a_file_may_be_run_is_kept_of_its_mode(folder: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(pack(folder)[1])) as tar:
        assert {info.name: info.mode for info in tar} == {"lib/net.py": 0o644, "run.sh": 0o755, "train.py": 0o644}


@pytest.mark.parametrize("target", ["/etc/passwd", "../other", "lib/../../other"])
def test_a_link_that_leads_out_is_refused(folder: Path, target: str) -> None:
    (folder / "link").symlink_to(target)
    with pytest.raises(InputError, match="links that stay inside"):
        pack(folder)


def test_a_link_inside_is_taken_along(folder: Path) -> None:
    (folder / "lib" / "again.py").symlink_to("../train.py")
    with tarfile.open(fileobj=io.BytesIO(pack(folder)[1])) as tar:
        assert tar.getmember("lib/again.py").linkname == "../train.py"


def test_too_much_is_refused_naming_the_largest(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "LIMIT_BYTES", 1000)
    (folder / "model.pt").write_bytes(b"x" * 2000)
    with pytest.raises(InputError, match=r"among them model\.pt \(2000 bytes\)"):
        pack(folder)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a folder whose files can be read"):
        pack(tmp_path / "none")
