from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from clearway.config.home import Running, fits_socket, home_dir, make_home, process_start, read_running, write_running
from clearway.model.errors import ControllerError


def test_home_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CLEARWAY_HOME", raising=False)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert home_dir() == tmp_path / ".local" / "state" / "clearway"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert home_dir() == tmp_path / "state" / "clearway"
    monkeypatch.setenv("CLEARWAY_HOME", str(tmp_path / "own"))
    assert home_dir() == tmp_path / "own"


def test_home_is_for_its_user_alone(tmp_path: Path) -> None:
    home = tmp_path / "a" / "b"
    make_home(home)
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    home.chmod(0o755)
    make_home(home)
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a directory of another user")
def test_home_of_another_user_is_not_used(tmp_path: Path) -> None:
    home = tmp_path / "other"
    home.mkdir()
    os.chown(home, 65534, 65534)
    with pytest.raises(ControllerError, match="belongs to user 65534"):
        make_home(home)


def test_home_that_is_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ControllerError, match="cannot be used"):
        make_home(tmp_path / "file")


def test_running_is_who_wrote_it_and_still_lives(tmp_path: Path) -> None:
    me = Running(os.getpid(), process_start(os.getpid()), "/s", "", "1")
    assert read_running(tmp_path) is None
    write_running(tmp_path, me)
    assert read_running(tmp_path) == me


def test_a_process_with_the_same_number_is_somebody_else(tmp_path: Path) -> None:
    write_running(tmp_path, Running(os.getpid(), "1@another boot", "/s", "", "1"))
    assert read_running(tmp_path) is None


def test_a_process_that_is_gone_or_a_zombie_has_no_start() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert process_start(child.pid)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert process_start(child.pid) == ""
    child.communicate()
    assert process_start(child.pid) == ""


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"pid": "x"}', '{"pid": 1}', '{"pid": 1e999}', "\0"])
def test_a_spoilt_controller_file_names_nobody(tmp_path: Path, text: str) -> None:
    (tmp_path / "controller.json").write_text(text)
    assert read_running(tmp_path) is None


def test_a_relative_home_is_made_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert home_dir(Path("here")) == tmp_path / "here"


def test_a_directory_of_other_things_is_not_closed_to_others(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(ControllerError, match="holds other things"):
        make_home(tmp_path)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755
    (tmp_path / "clearway.yaml").touch()
    make_home(tmp_path)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


def test_a_socket_path_is_measured_in_bytes() -> None:
    assert fits_socket(Path("/" + "a" * 99))
    assert not fits_socket(Path("/" + "a" * 100))
    assert not fits_socket(Path("/" + "ä" * 60))
