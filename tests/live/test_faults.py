"""What a running product loses under it: it says so, keeps what it has, takes in nothing that it cannot keep, goes on.

Each fault is the same story. A job runs; something is taken away; a submit is refused with the reason, status and log
say what is wrong, the job goes on to its end; it is given back, and all is as if nothing had been, each attempt started
once.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from clearway.config.home import read_running
from clearway.model.errors import ClearwayError, StoreError
from clearway.sdk.client import Client
from tests import servers
from tests.api.live import live, until
from tests.cli.live import Product
from tests.disks import small_disk
from tests.live.processes import runner_of

if TYPE_CHECKING:
    from collections.abc import Iterator


pytestmark = [pytest.mark.slow, pytest.mark.real_engine]


class Story:
    """A controller with a job that runs until it is told to end, and one that is to run when all is well again."""

    def __init__(self, client: Client, home: Path, folder: Path) -> None:
        self.client, self.home, self.folder = client, home, folder
        self.pid = self._running()
        self.names = ["goes on"]
        self.client.submit([self.job("goes on", f"while [ ! -e '{folder}/end' ]; do sleep 0.05; done")])
        until((folder / "goes on").exists, "it runs")

    def job(self, name: str, run: str = "true") -> dict[str, Any]:
        return {"name": name, "run": f"echo x >> '{self.folder}/{name}'; {run}", "workdir": "/"}

    def _running(self) -> int:
        found = read_running(self.home)
        assert found is not None
        return found.pid

    def refused(self) -> str:
        """Submit until that is refused, and return why; what was refused as decided is in the journal later on."""
        said: list[str] = []

        def tried() -> bool:
            name = f"tried {len(self.names)}"
            try:
                self.client.submit([self.job(name)])
            except StoreError as error:
                said.append(str(error))
                if "nothing was accepted" not in said[0]:
                    self.names.append(name)
            else:
                self.names.append(name)
            return bool(said)

        until(tried, "a submit is refused")
        return said[0]

    def state(self) -> str:
        return str(self.client.status()["controller"]["state"])

    def says(self, text: str) -> None:
        """Whoever asks is told: status, the command, and the log, which says it once."""
        told = self.client.status()["controller"]
        assert told["state"] == "stuck"
        assert text in told["text"]
        assert f"stuck: {told['text'][:20]}" in Product(self.home)("status").out

    def let_end(self) -> None:
        (self.folder / "end").touch()

    def ends_well(self) -> None:
        """All that was taken in has run once, and the very same controller goes on."""
        until(lambda: self.state() == "up", "it goes on by itself")
        self.client.submit([self.job("afterwards")])
        self.names.append("afterwards")
        until(lambda: not self.client.jobs(), "all are over")
        rows = self.client.jobs(everything=True)
        assert sorted(row["name"] for row in rows) == sorted(self.names)
        assert {(row["state"], row["attempt"]) for row in rows} == {("succeeded", 1)}
        assert [(self.folder / name).read_text() for name in self.names] == ["x\n"] * len(self.names)
        assert self._running() == self.pid

    def said_once(self, text: str) -> None:
        lines = [line for line in (self.home / "controller.log").read_text().splitlines() if text in line]
        assert 1 <= len(lines) <= 3, lines


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "marks").mkdir()
    return tmp_path / "marks"


def test_a_full_disk(folder: Path) -> None:
    with small_disk() as disk, live(disk / "home") as client:
        story = Story(client, disk / "home", folder)
        ballast = disk / "ballast"
        _fill(ballast)
        assert "the disk is full" in story.refused()
        story.says("the disk is full")
        with pytest.raises(StoreError, match="nothing was accepted"):
            client.submit([{"name": "no", "run": "true", "workdir": "/"}])
        story.let_end()
        ballast.unlink()
        story.ends_well()
        story.said_once("the disk is full")
        story.said_once("can be written again")


def _fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        for piece in (65536, 4096, 1):
            try:
                while True:
                    file.write(bytes(piece))
            except OSError:
                continue


@contextmanager
def _bound() -> Iterator[tuple[Path, Path]]:
    """Give a folder and a place where it is mounted."""
    top = Path(tempfile.mkdtemp(prefix="clearway-mounted-"))
    there, place = top / "there", top / "place"
    there.mkdir()
    place.mkdir()
    try:
        _mount(there, place)
        yield there, place
    finally:
        subprocess.run(["/bin/umount", "--lazy", str(place)], check=False, capture_output=True)
        shutil.rmtree(top, ignore_errors=True)


def _mount(there: Path, place: Path) -> None:
    done = subprocess.run(["/bin/mount", "--bind", str(there), str(place)], capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"no right to mount: {done.stderr.decode().strip()}")


def test_a_folder_that_is_gone_from_its_place(folder: Path) -> None:
    with _bound() as (there, place):
        (there / "home").mkdir(mode=0o700)
        with live(place / "home", listen="127.0.0.1:0") as owner:
            listen = owner.status()["controller"]["listen"]
            story = Story(Client.at(listen, place / "home/token"), place / "home", folder)
            subprocess.run(["/bin/umount", "--lazy", str(place)], check=True)
            try:
                assert "is gone from its place" in story.refused()
                assert story.state() == "stuck"
                story.let_end()
            finally:
                _mount(there, place)
            story.ends_well()
            story.said_once("is gone from its place")


def _waits(story: Story, says: str) -> None:
    """A job that is submitted now starts later, and status says why."""
    story.client.submit([story.job("waits")])
    story.names.append("waits")
    until(lambda: says in story.client.status()["controller"]["text"], "status says what is wrong")
    assert story.state() == "up"
    assert story.client.job("waits")["attempt"] == 1
    assert not (story.folder / "waits").exists()


def test_a_folder_that_may_only_be_read(folder: Path) -> None:
    """What is open stays open; what is to be made cannot be."""
    with _bound() as (there, place):
        (there / "home").mkdir(mode=0o700)
        with live(place / "home") as client:
            story = Story(client, place / "home", folder)
            _mount(there, place)
            subprocess.run(["/bin/mount", "-o", "remount,ro,bind", str(place)], check=True)
            try:
                _waits(story, "Read-only file system")
                story.let_end()
                until(lambda: client.job("goes on")["state"] == "succeeded", "it ends")
            finally:
                subprocess.run(["/bin/umount", str(place)], check=True)
            story.ends_well()
            until(lambda: not client.status()["controller"]["text"], "all is well again")
            story.said_once("Read-only file system")


def test_a_disk_of_the_engine_that_is_full(folder: Path, tmp_path: Path) -> None:
    """The journal lies elsewhere, so that jobs are let in; none is failed for it."""
    with small_disk() as disk, live(tmp_path / "home", engine_home=str(disk / "engine")) as client:
        story = Story(client, tmp_path / "home", folder)
        ballast = disk / "ballast"
        _fill(ballast)
        marks = folder.parent / "many"
        client.submit([{"name": "many", "run": f"echo $CLEARWAY_INDEX >> '{marks}'", "workdir": "/", "array": 200}])
        until(lambda: "No space left" in client.status()["controller"]["text"], "status says what is wrong")
        story.let_end()
        until(lambda: client.job("goes on")["state"] == "succeeded", "it ends")
        ballast.unlink()
        assert client.wait("many")["state"] == "succeeded"
        assert sorted(map(int, marks.read_text().split())) == list(range(200))
        until(lambda: not client.status()["controller"]["text"], "all is well again")


def test_a_database_that_goes_and_comes_back(folder: Path, tmp_path: Path) -> None:
    server = servers.start()
    try:
        with live(tmp_path / "home", store=server.make("journal")) as client:
            story = Story(client, tmp_path / "home", folder)
            servers.end(server)
            assert "the server cannot be reached" in story.refused()
            story.says("the server cannot be reached")
            story.let_end()
            until(lambda: "lease" in (tmp_path / "home/controller.log").read_text(), "its lease cannot be renewed")
            server = servers.again(server)
            story.ends_well()
            story.said_once("cannot be written")
            story.said_once("cannot be renewed")
    finally:
        servers.stop(server)


@contextmanager
def _few_descriptors(pid: int) -> Iterator[None]:
    """Leave a process no descriptor more than it has."""
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    used = max(int(path.name) for path in Path(f"/proc/{pid}/fd").iterdir()) + 1
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (used, hard))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))


def test_no_descriptors_for_the_controller(folder: Path, tmp_path: Path) -> None:
    with live(tmp_path / "home") as client:
        story = Story(client, tmp_path / "home", folder)
        log, job = tmp_path / "home/controller.log", tmp_path / "job.yaml"
        job.write_text(f"{{name: asked, workdir: /, run: \"echo x >> '{folder}/asked'\"}}")
        with _few_descriptors(story.pid):
            asked = Product(story.home).process("submit", str(job), stdout=subprocess.DEVNULL)
            until(lambda: "no connection can be taken" in log.read_text(), "the log says what is missing")
            story.let_end()
        assert asked.communicate(timeout=60)[1] == "", "it is answered as soon as that can be"
        assert asked.returncode == 0
        story.names.append("asked")
        story.ends_well()
        story.said_once("no connection can be taken")


def test_no_descriptors_for_the_runner(folder: Path, tmp_path: Path) -> None:
    with live(tmp_path / "home") as client:
        story = Story(client, tmp_path / "home", folder)
        with _few_descriptors(runner_of(story.home)):
            client.submit([story.job("waits")])
            story.names.append("waits")
            until(lambda: "cannot start another process" in client.status()["controller"]["text"], "status says it")
            assert not (folder / "waits").exists()
            story.let_end()
        story.ends_well()
        until(lambda: not client.status()["controller"]["text"], "all is well again")
        assert "cannot start another process" in (tmp_path / "home/controller.log").read_text()


def test_the_same_refusal_reaches_every_reader(folder: Path) -> None:
    """Health says it to whoever may ask nothing else, and the command ends with the code of a store."""
    with small_disk() as disk, live(disk / "home") as client:
        story = Story(client, disk / "home", folder)
        ballast = disk / "ballast"
        _fill(ballast)
        story.refused()
        said = Product(story.home)("run", "--", "true")
        assert said.code != 0
        assert "disk is full" in said.err
        with pytest.raises(ClearwayError, match="disk is full"):
            client.cancel("goes on")
        story.let_end()
        ballast.unlink()
        story.ends_well()
