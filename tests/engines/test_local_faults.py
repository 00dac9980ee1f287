"""What goes wrong on a machine: it is said clearly, without secrets, and disturbs nobody else."""

from __future__ import annotations

import os
import resource
import signal
import socket
import stat
import sys
from typing import TYPE_CHECKING

import pytest

from clearway.engines.local import engine as engine_module
from clearway.engines.local.paths import RECORDS, RUNNER, SOCKET
from clearway.model.actions import Halt
from clearway.model.job import JobSpec
from clearway.ports.engine import NodeIsQuiet, NodeIsUp
from tests.engines.places import NODE, Place, lives, rss_bytes, task, until

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

SECRET = "hunter2-and-more"


def _still_works(place: Place, job: int = 900) -> None:
    place.launch(job, "exit 5")
    assert place.talk.gone(task(job)).exit_code == 5


# --- commands that cannot start ------------------------------------------------------------------


def test_a_variable_of_100_kb_is_passed(place: Place) -> None:
    place.launch(1, "echo ${#FOO}", env=(("FOO", "x" * 100_000),))
    assert place.talk.gone(task(1)).exit_code == 0
    assert place.output(1) == b"100000\n"


@pytest.mark.parametrize(
    "env",
    [(("FOO", SECRET + "x" * 200_000),), tuple((f"V{n}", SECRET + "x" * 100_000) for n in range(60))],
    ids=["one of 200 kB", "6 MB together"],
)
def test_an_environment_that_is_too_large_is_refused_once(place: Place, env: tuple[tuple[str, str], ...]) -> None:
    place.start(1, JobSpec("job", run=("true",), env=(*env, ("TOKEN", SECRET))))
    report = place.talk.gone(task(1))
    assert report.exit_code is None
    size = sum(len(value) for _, value in env)
    assert f"environment has {str(size)[0]}" in report.error
    assert "the largest variable, " + env[0][0][0] in report.error
    assert SECRET not in report.error
    _still_works(place)
    for path in (place.home / RUNNER).iterdir():
        assert path.is_socket() or SECRET.encode() not in path.read_bytes()


def test_a_script_of_1_mb_runs(place: Place) -> None:
    place.launch(1, "\n# " + "x" * 2**20 + "\necho OK")
    assert place.talk.gone(task(1)).exit_code == 0
    assert place.output(1) == b"OK\n"


def test_a_script_of_1_mb_with_too_large_an_environment_is_refused(place: Place) -> None:
    place.launch(1, "\n# " + "x" * 2**20, env=(("FOO", "y" * 200_000),))
    assert "FOO" in place.talk.gone(task(1)).error


@pytest.mark.parametrize(
    ("run", "says"),
    [
        (("no-such-thing",), "'no-such-thing' does not exist in any folder of PATH"),
        (("/no/such/thing",), "'/no/such/thing' does not exist"),
        (("./plain",), "'./plain' cannot be started: Permission denied"),
        (("./odd",), "the interpreter named in its first line does not exist"),
        (("./text",), "'./text' cannot be started: Exec format error"),
    ],
)
def test_a_command_that_cannot_start_is_named(place: Place, run: tuple[str, ...], says: str) -> None:
    for name, text, mode in (("odd", "#!/no/such\n", 0o755), ("text", "nothing\n", 0o755), ("plain", "", 0o644)):
        (place.scratch / name).write_text(text)
        (place.scratch / name).chmod(mode)
    place.start(1, JobSpec("job", run=run, env=(("TOKEN", SECRET),)))
    report = place.talk.gone(task(1))
    assert says in report.error
    assert SECRET not in report.error
    _still_works(place)


def test_a_variable_that_cannot_be_named_is_refused(place: Place) -> None:
    place.start(1, JobSpec("job", run=("true",), env=(("A=B", SECRET),)))
    report = place.talk.gone(task(1))
    assert "not allowed" in report.error
    assert SECRET not in report.error


def test_a_working_directory_that_cannot_be_entered_is_named(place: Place) -> None:
    (place.scratch / "file").touch()
    place.launch(1, "true", workdir="/no/such/folder")
    place.launch(2, "true", workdir=str(place.scratch / "file"))
    assert "'/no/such/folder' cannot be entered: No such file" in place.talk.gone(task(1)).error
    assert "cannot be entered: Not a directory" in place.talk.gone(task(2)).error
    assert place.started(1) == place.started(2) == 0
    _still_works(place)


def test_a_log_that_cannot_be_written_is_named(place: Place) -> None:
    (place.home / "logs").mkdir()
    (place.home / "logs/1").touch()
    place.launch(1, "true")
    assert "log file" in place.talk.gone(task(1)).error
    _still_works(place)


def test_descriptors_used_up_are_said_and_come_back(place: Place) -> None:
    place.limit_runner(resource.RLIMIT_NOFILE, len(os.listdir(f"/proc/{place.runner}/fd")))  # noqa: PTH208
    for job in range(1, 5):
        place.launch(job, "true")
    place.hear_until(lambda: "Too many open files" in place.trouble, "it says so")
    place.limit_runner(resource.RLIMIT_NOFILE, None)
    for job in range(1, 5):
        assert place.talk.gone(task(job)).exit_code == 0, "being short of something for a moment is no failure of a job"
    place.hear_until(lambda: not place.trouble, "it says that this is over")
    _still_works(place)


@pytest.mark.parametrize("number", ["HUP", "INT", "QUIT", "USR1", "USR2", "ALRM", "VTALRM", "PROF", "TSTP"])
def test_a_task_that_signals_its_parent_does_not_end_the_runner(place: Place, number: str) -> None:
    runner = place.runner
    place.launch(1, f"kill -{number} $PPID; exit 6")
    assert place.talk.gone(task(1)).exit_code == 6
    assert place.runner == runner
    _still_works(place)


def test_a_task_has_the_usual_limits_and_signals(place: Place) -> None:
    code = (
        "import os, resource, signal;"
        "print(resource.getrlimit(resource.RLIMIT_NOFILE)[0], oct(os.umask(0)), os.getsid(0) == os.getpid(),"
        "open('/proc/self/status').read().split('SigIgn:')[1].split()[0],"
        "sorted(map(int, os.listdir('/proc/self/fd')))[:-1])"
    )
    place.start(1, JobSpec("job", run=(sys.executable, "-c", code)))
    assert place.talk.gone(task(1)).exit_code == 0
    limit, umask, leader, ignored, *descriptors = place.output(1).decode().split()
    mask = os.umask(0)
    os.umask(mask)
    assert (int(limit), umask, leader) == (resource.getrlimit(resource.RLIMIT_NOFILE)[0], oct(mask), "True")
    own = 1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1  # these two Python itself ignores
    library = 0b11 << 31  # 32 and 33 are the C library's own, which it ignores in what `make` starts
    assert int(ignored, 16) & ~(own | library) == 0
    assert descriptors == ["[0,", "1,", "2]"]


# --- a disk that is full -------------------------------------------------------------------------


def test_a_disk_that_refuses_records_is_said_and_survived(place: Place) -> None:
    place.launch(1, "while [ ! -e go ]; do sleep 0.05; done; exit 4")
    place.talk.up(task(1))
    place.limit_runner(resource.RLIMIT_FSIZE, (place.home / RUNNER / RECORDS).stat().st_size)
    place.launch(2, "true")
    place.hear_until(lambda: "its start cannot be recorded" in place.trouble, "the trouble is told")
    place.launch(3, "true")
    place.talk.tell(Halt(task(3), NODE, "SIGTERM", 0))
    place.talk.gone(task(3))
    assert place.started(2) == place.started(3) == 0
    place.hear_until(lambda: "cannot write" in place.trouble, "the trouble is told")
    (place.scratch / "go").touch()
    assert place.talk.gone(task(1)).exit_code == 4
    place.limit_runner(resource.RLIMIT_FSIZE, None)
    assert place.talk.gone(task(2)).exit_code == 0, "a disk that is full for a while is no failure of a job"
    place.hear_until(lambda: place.trouble == "", "the trouble is over")
    _still_works(place)
    place.kill_runner()
    place.talk.engine.close()
    told = {report.task: report for report in place.open().inventory.gone}
    assert told[task(1)].exit_code == 4
    assert told[task(2)].exit_code == 0
    assert place.started(2) == 1


# --- output --------------------------------------------------------------------------------------


def test_100_mb_in_one_line_cost_no_memory(place: Place) -> None:
    before = rss_bytes(place.runner)
    place.launch(1, "head -c 100000000 /dev/zero | tr '\\0' x")
    assert place.talk.gone(task(1)).exit_code == 0
    size = len(place.output(1))
    assert size == 100_000_000
    assert rss_bytes(place.runner) - before < 4 * 2**20


def test_output_that_is_no_text_is_kept(place: Place) -> None:
    place.launch(1, r"printf '\262\n'; head -c 300000 /dev/zero | tr '\0' a; printf '\300'; printf '\0\033[31m' >&2")
    assert place.talk.gone(task(1)).exit_code == 0
    assert place.output(1) == b"\xb2\n" + b"a" * 300_000 + b"\xc0"
    assert place.output(1, "stderr") == b"\0\x1b[31m"


# --- trees ---------------------------------------------------------------------------------------


def test_a_child_without_environment_session_and_parents_is_ended_too(place: Place) -> None:
    child = "env -i setsid sh -c 'echo $$ > new; /bin/mv new child; while :; do /bin/sleep 0.1; done'"
    place.launch(1, f"({child} &); while [ ! -e child ]; do sleep 0.02; done; exit 2")
    pid = place.number_in("child")
    assert place.talk.gone(task(1)).exit_code == 2
    assert not lives(pid)


def test_a_tree_that_grows_while_it_is_killed_is_ended(place: Place) -> None:
    child = "sh -c 'echo $$ >> pids; exec sleep 3'"
    place.launch(1, f"trap '' TERM; while :; do ({child} &); sleep 0.01; done")
    pids = place.scratch / "pids"
    until(pids.exists, "it grows")
    place.talk.listen(0.5)
    assert place.halt(1, grace_s=0.2).exit_code == -9
    assert [pid for pid in pids.read_text().split() if lives(int(pid))] == []


def test_one_task_is_not_ended_with_another(place: Place) -> None:
    for job in (1, 2):
        place.launch(job, f"(setsid sh -c 'echo $$ > child{job}; exec sleep 600' &); exec sleep 600")
    children = [place.number_in("child1"), place.number_in("child2")]
    place.halt(1)
    assert [lives(pid) for pid in children] == [False, True]
    place.halt(2)
    assert [lives(pid) for pid in children] == [False, False]


# --- the connection ------------------------------------------------------------------------------


def test_only_its_user_can_get_at_it(place: Place) -> None:
    assert stat.S_IMODE((place.home / RUNNER).stat().st_mode) == 0o700
    place.launch(1, "true")
    place.talk.gone(task(1))
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (place.home / "logs/1").iterdir()}
    assert modes == {0o600}
    assert stat.S_IMODE((place.home / RUNNER / RECORDS).stat().st_mode) == 0o600


@pytest.mark.parametrize("words", [b'{"do":"lau', b"no json\n", b"[1]\n", b'{"do":"hello"}\n{"do":"launch"}\n{}\n'])
def test_a_controller_that_breaks_off_or_talks_nonsense_is_survived(place: Place, words: bytes) -> None:
    place.launch(1, "exec sleep 600")
    place.talk.up(task(1))
    place.talk.engine.close()
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(str(place.home / RUNNER / SOCKET))
        line.sendall(words)
    assert place.open().inventory.nodes[0].running == (task(1),)
    _still_works(place)


def test_the_newest_controller_has_the_runner(place: Place) -> None:
    first = place.talk
    place.launch(1, "exec sleep 600")
    first.up(task(1))
    assert place.open().inventory.nodes[0].running == (task(1),)
    first.listen(0.2)
    assert "another controller" in first.engine.trouble
    place.halt(1)
    first.listen(0.2)
    assert first.ends(task(1)) == []
    first.engine.close()


def test_a_runner_that_hangs_is_quiet_until_it_answers(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "PING_AFTER_S", 0.2)
    monkeypatch.setattr(engine_module, "QUIET_AFTER_S", 0.6)
    os.kill(place.runner, signal.SIGSTOP)
    place.launch(1, "exit 3")
    place.talk.listen(1.5)
    quiet = [report for report in place.talk.heard if isinstance(report, NodeIsQuiet)]
    assert len(quiet) == 1
    assert 600_000 <= quiet[0].quiet_us < 1_600_000
    os.kill(place.runner, signal.SIGCONT)
    assert place.talk.gone(task(1)).exit_code == 3
    place.talk.listen(0.1)
    assert any(isinstance(report, NodeIsUp) for report in place.talk.heard)


def test_a_home_with_a_long_name_works(tmp_path: Path) -> None:
    place = Place(tmp_path / ("long-" * 30))
    place.open()
    _still_works(place)
    place.clear()
