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

from clearway.compose.launch import EXIT_TAKEN, answering, ensure_running, start, status, stop
from clearway.config.home import Running, process_start, read_running, write_running
from clearway.model.errors import ConflictError, ControllerError, InputError
from clearway.sdk.client import Client
from clearway.sdk.launch import ensure_controller
from tests.api.live import PATIENCE_S, end, kill_controller, live, until

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow
LAUNCH = "import sys; from pathlib import Path; from clearway.compose.launch import *"
PROCESS = [sys.executable, "-m", "clearway.api.process", "--home"]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "home"
    yield place
    if processes_of(place):
        end(place)
        assert gone(place)


def processes_of(home: Path) -> list[str]:
    """Return the command lines of all processes that name this home."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(home) in line:
            found.append(line)
    return found


def gone(home: Path) -> bool:
    end_s = time.monotonic() + PATIENCE_S
    while processes_of(home) and time.monotonic() < end_s:
        time.sleep(0.02)
    return not processes_of(home)


def submit(client: Client, name: str, run: str, **words: object) -> str:
    return f"id:{client.submit([{'name': name, 'run': run, 'workdir': '/', **words}])[0]['id']}"


def test_one_is_started_and_found_again(home: Path) -> None:
    first = ensure_running(home)
    assert ensure_running(home) == first == read_running(home) == answering(home)
    assert status(home)["pid"] == first.pid
    assert stop(home)
    assert not stop(home)
    assert status(home) == {"running": False, "home": str(home)}
    assert not (home / "controller.json").exists()
    assert not (home / "socket").exists()


def test_many_who_start_one_at_once_get_the_same(home: Path) -> None:
    command = [sys.executable, "-c", f"{LAUNCH}; print(ensure_running(Path(sys.argv[1])).pid)", str(home)]
    starters = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(6)]
    pids = {starter.communicate(timeout=60)[0].strip() for starter in starters}
    assert len(pids) == 1
    assert [starter.returncode for starter in starters] == [0] * 6
    assert len([p for p in processes_of(home) if "clearway.api.process" in p]) == 1


def test_a_second_one_is_refused(home: Path) -> None:
    first = ensure_running(home)
    with pytest.raises(ConflictError, match=f"as process {first.pid}"):
        start(home)
    second = subprocess.run([*PROCESS, str(home)], capture_output=True, text=True, check=False)
    assert second.returncode == EXIT_TAKEN
    assert "another controller has" in second.stderr
    assert read_running(home) == first


def test_one_that_is_started_by_hand_meanwhile_is_waited_for(home: Path) -> None:
    by_hand = subprocess.Popen([*PROCESS, str(home)], stderr=subprocess.DEVNULL)
    assert ensure_running(home).pid in {by_hand.pid, *_pids(home)}
    stop(home)
    by_hand.wait(PATIENCE_S)


def _pids(home: Path) -> set[int]:
    running = read_running(home)
    return {running.pid} if running else set()


def test_a_stale_file_of_a_reused_process_number_fools_nobody(home: Path) -> None:
    home.mkdir(mode=0o700)
    write_running(home, Running(os.getpid(), "1@another boot", str(home / "socket"), "", "0"))
    assert not status(home)["running"]
    assert not stop(home)
    assert ensure_running(home).pid != os.getpid()


def test_a_bad_setting_is_told_with_the_last_words(home: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "clearway.yaml").write_text("polcy: fair\n")
    with pytest.raises(ControllerError, match=r"(?s)code 2.*polcy.*did you mean 'policy'.*clearway\.yaml"):
        ensure_running(home)
    (home / "clearway.yaml").write_text("policy: fairest\n")
    with pytest.raises(ControllerError, match=r"(?s)code 2.*fairest"):
        ensure_running(home)
    assert gone(home)


def test_a_journal_of_something_else_is_told(home: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "journal.db").write_bytes(b"this is no database" * 100)
    with pytest.raises(ControllerError, match=r"(?s)code 74.*journal"):
        ensure_running(home)
    assert gone(home)


def test_a_port_that_is_taken_is_told(home: Path, tmp_path: Path) -> None:
    first = ensure_running(home, {"listen": "127.0.0.1:0"})
    port = first.listen.rpartition(":")[2]
    with pytest.raises(ControllerError, match=rf"(?s)127\.0\.0\.1:{port} cannot be listened on"):
        ensure_running(tmp_path / "other", {"listen": f"127.0.0.1:{port}"})
    assert gone(tmp_path / "other")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_cleanly(home: Path, number: signal.Signals) -> None:
    process = subprocess.Popen([*PROCESS, str(home)], stderr=subprocess.PIPE, text=True)
    until(lambda: answering(home) or process.poll() is not None, "it answers")
    assert process.poll() is None
    process.send_signal(number)
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert "Traceback" not in said
    assert "is ready" in said, "in the foreground its log is seen"
    assert gone(home), "with nothing to run the runner leaves too"


def test_in_the_foreground_it_takes_the_place_of_its_starter(home: Path) -> None:
    command = [sys.executable, "-c", f"{LAUNCH}; start(Path(sys.argv[1]), detach=False)", str(home)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    until(lambda: answering(home) or process.poll() is not None, "it answers")
    assert process.poll() is None
    running = read_running(home)
    assert running is not None
    assert running.pid == process.pid
    stop(home)
    assert process.wait(PATIENCE_S) == 0


def test_a_client_can_stop_it(home: Path) -> None:
    client = ensure_controller(home)
    running = read_running(home)
    client.shutdown()
    assert running is not None
    until(lambda: process_start(running.pid) != running.started, "it is gone")
    with pytest.raises(ControllerError, match="no controller runs for .*clearway up"):
        Client.connect(home)


def test_after_a_kill_running_jobs_are_found_finished_ones_stay_and_queued_ones_go_on(home: Path) -> None:
    marks = home.parent / "marks"
    client = ensure_controller(home)
    ensure_running(home)
    finished = submit(client, "finished", f"echo finished >> {marks}")
    client.wait(finished, PATIENCE_S)
    until_told = f"while [ ! -e {marks}.go ]; do sleep 0.05; done"
    running = submit(client, "running", f"echo running >> {marks}; {until_told}; exit 5")
    until(lambda: client.job(running)["inner_state"] == "running", "the job runs")
    queued = submit(client, "queued", f"echo queued >> {marks}", after=["finished"], cpus=os.cpu_count())
    killed = kill_controller(home)
    assert not status(home)["running"], "controller.json of the dead one is stale"

    client = ensure_controller(home)
    assert read_running(home) != killed
    assert client.job(running)["inner_state"] == "running"
    (Path(f"{marks}.go")).touch()
    row = client.wait(running, PATIENCE_S)
    assert (row["state"], row["exit_code"], row["attempt"]) == ("failed", 5, 1)
    assert client.wait(queued, PATIENCE_S)["state"] == "succeeded"
    assert client.job(finished)["attempt"] == 1
    assert sorted(marks.read_text().split()) == ["finished", "queued", "running"], "each ran once"


def test_what_ends_while_no_controller_runs_is_known_to_the_next(home: Path) -> None:
    client = ensure_controller(home)
    refs = [submit(client, str(code), f"sleep 0.3; exit {code}") for code in (0, 3)]
    until(lambda: all(client.job(ref)["inner_state"] == "running" for ref in refs), "the jobs run")
    stop(home)
    time.sleep(0.6)
    client = ensure_controller(home)
    rows = [client.wait(ref, PATIENCE_S) for ref in refs]
    assert [(row["state"], row["exit_code"], row["attempt"]) for row in rows] == [("succeeded", 0, 1), ("failed", 3, 1)]


def test_a_reader_of_a_log_hears_that_the_controller_stopped(home: Path) -> None:
    client = ensure_controller(home)
    ref = submit(client, "long", "echo begun; sleep 60")
    pieces = client.logs(ref, follow=True)
    assert next(pieces) == b"begun\n"
    kill_controller(home)
    with pytest.raises(ControllerError):
        list(pieces)


def test_a_stop_does_not_wait_for_readers(home: Path) -> None:
    client = ensure_controller(home)
    ref = submit(client, "long", "echo begun; sleep 60")
    pieces = client.logs(ref, follow=True)
    next(pieces)
    began = time.monotonic()
    stop(home)
    assert time.monotonic() - began < PATIENCE_S
    with pytest.raises(ControllerError):
        list(pieces)
    ensure_running(home)


def test_a_deep_home_has_its_socket_elsewhere(tmp_path: Path) -> None:
    home = tmp_path / ("d" * 60) / ("e" * 60)
    with live(home) as client:
        assert client.wait(submit(client, "job", "true"), PATIENCE_S)["state"] == "succeeded"
        running = read_running(home)
        assert running is not None
        assert len(running.socket) <= 100
    assert not Path(running.socket).exists()


def test_loopback_needs_the_token(home: Path) -> None:
    with live(home, listen="127.0.0.1:0") as local:
        running = read_running(home)
        assert running is not None
        client = Client.at(running.listen, home / "token")
        assert client.status()["controller"]["pid"] == running.pid == local.status()["controller"]["pid"]
        (home / "wrong").write_text("wrong\n")
        with pytest.raises(ControllerError, match="token"):
            Client.at(running.listen, home / "wrong").status()
        with pytest.raises(InputError, match="token"):
            Client.at(running.listen, home / "none")
        token = (home / "token").read_text().strip()
    assert token not in (home / "controller.log").read_text()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
def test_another_user_cannot_use_the_controller(home: Path) -> None:
    code = """
import os, sys
from pathlib import Path
from clearway.sdk.client import Client
import clearway.sdk.transport, clearway.model.errors
os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
home = Path(sys.argv[1])
for use in (lambda: Client.connect(home).status(), lambda: Client(clearway.sdk.transport.unix(sys.argv[2])).status(),
            lambda: Client.at(sys.argv[3], home / "token").status(), lambda: (home / "journal.db").read_bytes()):
    try:
        use()
    except (clearway.model.errors.ControllerError, clearway.model.errors.InputError, PermissionError):
        continue
    sys.exit(1)
"""
    with live(home, listen="127.0.0.1:0"):
        running = read_running(home)
        assert running is not None
        command = [sys.executable, "-c", code, str(home), running.socket, running.listen]
        assert subprocess.run(command, check=False, cwd="/").returncode == 0


def test_settings_that_stay_the_same_are_written_once(home: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "clearway.yaml").write_text("queues: [{name: team, weight: 2}]\n")
    counts, weights = [], []
    for change in (None, None, "queues: [{name: team, weight: 3}]\n"):
        if change:
            (home / "clearway.yaml").write_text(change)
        client = ensure_controller(home)
        counts.append(client.status()["journal"]["records"])
        weights.append({q["name"]: q["weight"] for q in client.queues()}["team"])
        stop(home)
    assert weights == [2, 2, 3]
    assert counts[1] - counts[0] < counts[2] - counts[1]


def test_files_of_a_home_are_for_its_user_alone(home: Path) -> None:
    with live(home, listen="127.0.0.1:0"):
        modes = {path.name: path.stat().st_mode & 0o077 for path in home.iterdir() if not path.is_dir()}
        assert {name: mode for name, mode in modes.items() if mode} == {}
        assert json.loads((home / "controller.json").read_text())["socket"] == str(home / "socket")


def test_controller_and_runner_are_small(home: Path) -> None:
    with live(home) as client:
        client.wait(submit(client, "job", "true"), PATIENCE_S)
        running = read_running(home)
        assert running is not None
        rss = [_rss_mb(pid) for pid in _family(home)]
        assert len(rss) == 2
        assert sum(rss) < 120


def _family(home: Path) -> list[int]:
    return [
        int(entry.name)
        for entry in Path("/proc").glob("[0-9]*")
        if str(home).encode() in (entry / "cmdline").read_bytes()
    ]


def _rss_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
