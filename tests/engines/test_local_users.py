"""Whose processes tasks are, and in which virtual environment; what this engine has not is refused."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clearway.engines.local.engine import LocalEngine
from clearway.engines.local.paths import checkpoint_path, log_path
from clearway.engines.local.users import Users
from clearway.model.actions import Launch
from clearway.model.events import Grant
from clearway.model.fleet import NodeSpec
from clearway.model.ids import NodeId
from clearway.model.job import JobSpec
from clearway.testing.engines import Talk
from tests.engines.places import NODE, task

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clearway.ports.engine import TaskIsGone

pytestmark = pytest.mark.slow
UID = 65534
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can run something as another user")


class Home:
    """A home that other users can reach, and an engine in it."""

    def __init__(self, folder: Path, uids: dict[str, int]) -> None:
        self.home = folder / "home"
        self.home.mkdir(mode=0o700)
        self.engine = LocalEngine(self.home, NodeSpec(NODE), workdir=folder, uids=uids)
        self.talk = Talk(self.engine)

    def run(self, job: int, spec: JobSpec) -> TaskIsGone:
        """Run a task to its end."""
        self.engine.carry_out([Launch(task(job), spec, Grant(0, 0, NodeId(0)), NODE, 0, 1)])
        return self.talk.gone(task(job))

    def said(self, job: int) -> str:
        return log_path(self.home, task(job), "stdout").read_text()


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="clearway-users-"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made, ignore_errors=True)  # a runner may be leaving just now


@pytest.fixture
def own(folder: Path) -> Iterator[Home]:
    made = Home(folder, {})
    yield made
    made.engine.close()


@pytest.fixture
def shared(folder: Path) -> Iterator[Home]:
    made = Home(folder, {"ada": UID})
    yield made
    made.engine.close()


@root_only
def test_a_task_runs_with_the_uid_of_its_user(shared: Home) -> None:
    script = (
        "id -u; id -G | wc -w; echo $HOME; touch $CLEARWAY_CHECKPOINT_DIR/saved; echo '7' > $CLEARWAY_RESULT; umask"
    )
    spec = JobSpec("j", run=("sh", "-c", script), user="ada", workdir="/", input="1")
    gone = shared.run(1, spec)
    uid, groups, home, umask = shared.said(1).split()
    assert (gone.exit_code, gone.result, int(uid)) == (0, "7", UID)
    assert int(groups) >= 1
    assert home != str(Path.home())
    assert umask != "0077"
    assert checkpoint_path(shared.home, task(1)).joinpath("saved").stat().st_uid == UID


@root_only
def test_a_task_of_another_user_reads_nothing_of_the_home(shared: Home) -> None:
    (shared.home / "token").write_text("x")
    (shared.home / "token").chmod(0o600)
    tries = (f"ls {shared.home}", f"cat {shared.home}/token", f"ls {shared.home}/runner")
    script = "; ".join(f"{what} || echo closed" for what in tries)
    assert shared.run(1, JobSpec("j", run=("sh", "-c", script), user="ada", workdir="/")).exit_code == 0
    assert shared.said(1).split() == ["closed"] * 3


@root_only
def test_a_user_without_a_uid_runs_nothing(shared: Home) -> None:
    gone = shared.run(1, JobSpec("j", run=("id",), user="bo"))
    assert gone.error == "user 'bo' has no uid in the setting `uids`, and is not run as root"
    assert not log_path(shared.home, task(1), "stdout").exists()


@root_only
def test_nothing_becomes_root_whatever_the_order_says(folder: Path) -> None:
    made = Home(folder, {"ada": 0})
    gone = made.run(1, JobSpec("j", run=("id",), user="ada", workdir="/"))
    made.engine.close()
    assert "it cannot be run with uid 0" in gone.error


def test_what_is_enforced_is_said(own: Home) -> None:
    assert own.engine.enforced()["user"] == "not enforced: all tasks run as the user of the controller"
    assert own.run(1, JobSpec("j", run=("id", "-u"), user="ada")).exit_code == 0
    assert own.said(1) == f"{os.geteuid()}\n"


def test_without_root_uids_are_not_enforced_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    users = Users({"ada": UID})
    assert (users.refusal("bo"), users.order("ada")) == ("", {})
    assert users.told().startswith("not enforced: only a controller of root's")


def test_programs_of_a_virtual_environment_come_first(own: Home, folder: Path) -> None:
    programs = folder / "place" / "env" / "bin"
    programs.mkdir(parents=True)
    (programs / "python").symlink_to(sys.executable)
    (programs / "sh-of-mine").write_text("#!/bin/sh\necho mine $VIRTUAL_ENV\n")
    (programs / "sh-of-mine").chmod(0o700)
    for job, venv in ((1, str(folder / "place" / "env")), (2, "env")):
        spec = JobSpec("j", run=("sh-of-mine",), workdir=str(folder / "place"), venv=venv)
        assert own.run(job, spec).exit_code == 0
        assert own.said(job) == f"mine {folder / 'place' / 'env'}\n"


def test_an_environment_that_is_none_is_told(own: Home, folder: Path) -> None:
    gone = own.run(1, JobSpec("j", run=("true",), workdir=str(folder), venv="env"))
    assert gone.error == f"the virtual environment '{folder}/env' is none: it has no bin/python that can be run"


def test_a_container_image_is_refused(own: Home) -> None:
    gone = own.run(1, JobSpec("j", run=("true",), image="pytorch:2"))
    rule = "none: the engine `local` runs no containers; `venv` takes an environment"
    assert gone.error == f"image: 'pytorch:2' is refused: {rule}"
