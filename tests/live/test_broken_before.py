"""What once broke a running product, as its users and operators meet it: by the command line and the client."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clearway.config.home import read_running
from clearway.sdk.client import Client
from tests.api.live import PATIENCE_S, end, kill_controller, live

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.slow

CLEARWAY = str(Path(sys.executable).with_name("clearway"))
DEVICES = {"devices": 4}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def client(home: Path) -> Iterator[Client]:
    with live(home, **DEVICES) as found:
        yield found


def _cli(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([CLEARWAY, *arguments], capture_output=True, text=True, cwd=cwd, timeout=60, check=False)


def _until(holds: Callable[[], bool], what: str) -> None:
    limit = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < limit, f"never: {what}"
        time.sleep(0.02)


def test_a_relative_home_is_one_home_for_all(tmp_path: Path) -> None:
    try:
        ran = _cli("--home", "here", "run", "--wait", "--", "echo", "hi", cwd=tmp_path)
        assert (ran.returncode, ran.stdout) == (0, "hi\n")
        assert not (tmp_path / "here" / "here").exists()
        assert "echo" in _cli("--home", str(tmp_path / "here"), "ps", "-a", cwd=Path("/")).stdout
    finally:
        end(tmp_path / "here")


def test_a_directory_of_other_things_does_not_become_a_home(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "thesis.tex").touch()
    refused = _cli("--home", str(tmp_path), "run", "--", "true", cwd=tmp_path)
    assert refused.returncode == 3
    assert "holds other things" in refused.stderr
    assert tmp_path.stat().st_mode & 0o777 == 0o755
    assert _cli("--home", "", "ps", cwd=tmp_path).returncode == 2


def test_a_link_in_place_of_the_journal_changes_nothing_behind_it(home: Path, tmp_path: Path) -> None:
    home.mkdir(mode=0o700)
    other = tmp_path / "notes.txt"
    other.write_text("mine\n" * 1000)
    other.chmod(0o644)
    (home / "journal.db").symlink_to(other)
    refused = _cli("--home", str(home), "up", "--detach", cwd=tmp_path)
    assert refused.returncode == 3
    assert "not a journal" in refused.stderr
    assert other.stat().st_mode & 0o777 == 0o644
    assert other.read_text() == "mine\n" * 1000


@pytest.mark.parametrize("spoil", ["removed", "garbage"])
def test_a_controller_is_found_again_when_its_file_is_spoilt(client: Client, home: Path, spoil: str) -> None:
    before = read_running(home)
    path = home / "controller.json"
    path.unlink() if spoil == "removed" else path.write_text("{")
    _until(lambda: read_running(home) == before, "it writes who runs here again")
    assert client.status()["controller"]["state"] == "up"


def test_a_hangup_ends_a_controller_as_asked(client: Client, home: Path) -> None:
    client.submit([{"name": "goes on", "run": "sleep 60"}])
    running = read_running(home)
    assert running is not None
    os.kill(running.pid, signal.SIGHUP)
    _until(lambda: not (home / "controller.json").exists(), "it takes its leave")


def test_queues_of_the_settings_stand_in_any_order(home: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "clearway.yaml").write_text("queues: [{name: c, parent: b}, {name: b, parent: a}, {name: a}]\n")
    with live(home) as client:
        parents = {queue["name"]: queue["parent"] for queue in client.queues()}
    assert (parents["a"], parents["b"], parents["c"]) == (None, "a", "b")


def test_a_controller_that_cannot_begin_says_why_in_a_line(home: Path, tmp_path: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "runner").touch()
    refused = _cli("--home", str(home), "up", "--detach", cwd=tmp_path)
    assert refused.returncode == 3
    assert "cannot be made: File exists" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_many_jobs_start_where_descriptors_are_few(home: Path, tmp_path: Path) -> None:
    limited = f"ulimit -n 64; exec {CLEARWAY} --home {home} up --detach --devices 4"
    started = subprocess.run(["/bin/sh", "-c", limited], capture_output=True, text=True, check=False, timeout=60)
    assert started.returncode == 0, started.stderr
    try:
        client = Client.connect(home)
        client.submit([{"name": f"j{n}", "run": f"echo x > {tmp_path}/{n}", "cpus": 0} for n in range(120)])
        _until(lambda: not client.jobs(), "all are over")
        assert {row["state"] for row in client.jobs(everything=True)} == {"succeeded"}
        assert len(list(tmp_path.glob("[0-9]*"))) == 120
    finally:
        end(home)


def test_kills_of_the_controller_lose_nothing_and_repeat_nothing(home: Path, tmp_path: Path) -> None:
    """Forty short jobs, gangs, retries and chains among them, and a controller that is killed three times meanwhile."""
    log = tmp_path / "log"
    line = f'echo "$CLEARWAY_JOB $CLEARWAY_ATTEMPT $CLEARWAY_INDEX" >> {log}; sleep 0.$((CLEARWAY_JOB % 7))'
    jobs: list[dict[str, object]] = [{"name": f"j{n}", "run": line, "gpus": n % 3, "cpus": 0} for n in range(40)]
    kinds: list[dict[str, object]] = [{"tasks": 2, "gpus": 1}, {"run": f"{line}; exit 3"}, {"after": ["j1"]}]
    for n, more in enumerate(kinds * 5, start=10):
        jobs[n] |= more
    jobs[13] |= {"run": f'{line}; test "$CLEARWAY_ATTEMPT" = 2', "max_retries": 3, "retry_backoff": 0.1}
    with live(home, **DEVICES) as client:
        client.submit(jobs)
        for pause_s in (0.05, 0.4, 0.2):
            time.sleep(pause_s)
            kill_controller(home)
            with_new = _cli("--home", str(home), "up", "--detach", "--devices", "4", cwd=tmp_path)
            assert with_new.returncode == 0, with_new.stderr
        newest = Client.connect(home)
        _until(lambda: not newest.jobs(), "all are over")
        rows = {row["name"]: row for row in newest.jobs(everything=True)}
    starts = log.read_text().splitlines()
    assert len(rows) == 40
    assert len(starts) == len(set(starts)), "no task ran twice"
    for name, row in rows.items():
        expected = "failed" if name in {"j11", "j14", "j17", "j20", "j23"} else "succeeded"
        assert row["state"] == expected, json.dumps(row)
    assert rows["j13"]["attempt"] == 2
