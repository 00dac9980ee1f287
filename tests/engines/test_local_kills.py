"""Kill -9 of the controller, of the runner, of both, at any moment: nothing starts twice, every end is told."""

from __future__ import annotations

import functools
import os
import random
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from clearway.engines.local import procs
from clearway.engines.local.paths import RECORDS, RUNNER
from clearway.engines.local.records import Records
from clearway.model.job import JobSpec
from clearway.ports.engine import NodeIsUp, TaskIsGone
from clearway.testing.engines import how
from tests.engines.places import Place, lives, task, until

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


def _known_or_not(code: int) -> set[int | None]:
    """What may be told of an end that the runner's parent did not see: newer systems tell, older do not."""
    return {code, None}


def test_another_runner_goes_on_with_what_the_first_one_started(place: Place) -> None:
    place.launch(1, "echo $$ > pid; exec sleep 600")
    place.talk.up(task(1))
    pid = place.number_in("pid")
    old = place.kill_runner()
    place.hear_until(lambda: place.runner != old, "another runner answers")
    place.talk.listen(0.3)
    back = [report for report in place.talk.heard if isinstance(report, NodeIsUp)]
    assert [up.running for up in back] == [(task(1),)]
    assert lives(pid)
    assert place.started(1) == 1
    assert place.halt(1).exit_code in _known_or_not(-15)
    assert not lives(pid)


def test_an_orphans_exit_code_is_known_where_the_system_tells(place: Place) -> None:
    place.launch(1, "while [ ! -e go ]; do sleep 0.05; done; exit 7")
    place.talk.up(task(1))
    old = place.kill_runner()
    place.hear_until(lambda: place.runner != old, "another runner answers")
    (place.scratch / "go").touch()
    assert place.talk.gone(task(1)).exit_code in _known_or_not(7)
    assert place.started(1) == 1


def test_what_an_orphan_left_behind_is_found_and_ended(place: Place) -> None:
    place.launch(1, "(setsid sh -c 'echo $$ > child; while :; do sleep 0.1; done' &); exec sleep 600")
    place.talk.up(task(1))
    child = place.number_in("child")
    place.kill_runner()
    place.halt(1, grace_s=1)
    assert not lives(child)


def test_an_end_that_no_runner_saw_is_told_without_a_code(place: Place) -> None:
    place.launch(1, "echo $$ > pid; exec sleep 600")
    pid = place.number_in("pid")
    place.talk.engine.close()
    place.kill_runner()
    os.kill(pid, signal.SIGKILL)
    until(lambda: procs.look(pid) is None, "the task is gone")
    talk = place.open()
    heard = [*talk.inventory.gone] or [talk.gone(task(1))]
    assert [how(one) for one in heard] == [TaskIsGone(task(1))]
    assert place.started(1) == 1


_CONTROLLER = """
import sys, time
from pathlib import Path
from tests.engines.places import Place, task
place = Place.__new__(Place)
place.home, place.scratch = Path(sys.argv[1]), Path(sys.argv[2])
place.open()
for job in range(1, 6):
    place.launch(job, "sleep 0.5; exit " + str(job) if job < 3 else "exec sleep 600")
    place.talk.up(task(job))
print(place.runner, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("both", [False, True], ids=["controller", "controller and runner"])
def test_after_a_kill_everything_is_found_again(tmp_path: Path, both: bool) -> None:  # noqa: FBT001
    place = Place(tmp_path)
    command = [sys.executable, "-c", _CONTROLLER, str(place.home), str(place.scratch)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as controller:
        assert controller.stdout is not None
        runner = int(controller.stdout.readline())
        controller.kill()
    if both:
        os.kill(runner, signal.SIGKILL)
    time.sleep(1)
    talk = place.open()
    for job in (1, 2):
        found = [report for report in talk.inventory.gone if report.task == task(job)] or [talk.gone(task(job))]
        assert found[0].exit_code == (None if both else job)
    running = set(talk.inventory.nodes[0].running) - {report.task for report in talk.heard}  # type: ignore[union-attr]
    assert running >= {task(3), task(4), task(5)}
    assert [place.started(job) for job in range(1, 6)] == [1] * 5
    for job in (3, 4, 5):
        assert place.halt(job).exit_code in _known_or_not(-15)
    place.clear()


def test_a_runner_that_is_killed_again_and_again_starts_nothing_twice(place: Place) -> None:
    chance = random.Random(5)
    jobs = range(1, 121)
    for job in jobs:
        place.launch(job, "exit 0")
        if job % 20 == 0:
            place.talk.listen(chance.random() / 10)
            place.kill_runner()
    for job in jobs:
        report = place.talk.gone(task(job))
        assert report.error == ""
        assert place.started(job) <= 1
        assert report.exit_code is None or (report.exit_code, place.started(job)) == (0, 1)
    assert sum(place.started(job) for job in jobs) > len(jobs) // 2


def _plant(place: Place, pid: int, start: int, boot: str) -> None:
    folder = place.home / RUNNER
    folder.mkdir(mode=0o700, parents=True)
    records = Records(str(folder / RECORDS))
    records.read()
    records.add("run", "1.1.0.0", pid, start, boot)
    records.sync()
    records.close()


@pytest.mark.parametrize("other", ["start time", "boot"])
def test_a_stranger_with_the_same_number_is_left_alone(tmp_path: Path, other: str) -> None:
    place = Place(tmp_path)
    with subprocess.Popen(["/bin/sleep", "600"], start_new_session=True) as stranger:
        proc = procs.look(stranger.pid)
        assert proc is not None
        wrong_start = other == "start time"
        _plant(place, proc.pid, proc.start - wrong_start, procs.boot() if wrong_start else "another boot")
        talk = place.open()
        assert talk.inventory.nodes[0].running == () or how(talk.gone(task(1))) == TaskIsGone(task(1))
        assert how(place.halt(1, grace_s=0)) == TaskIsGone(task(1))
        assert stranger.poll() is None
        stranger.kill()
    talk.engine.close()


def test_a_torn_last_record_is_cut_off(tmp_path: Path) -> None:
    place = Place(tmp_path)
    _plant(place, 2**22 + 1, 1, procs.boot())
    with (place.home / RUNNER / RECORDS).open("ab") as file:
        file.write(b'["run","2.1.0.0",12')
    place.open()
    assert place.halt(1).exit_code is None
    place.launch(2, "exit 0")
    assert place.talk.gone(task(2)).exit_code == 0
    place.clear()


def test_records_stay_short(place: Place) -> None:
    records = place.home / RUNNER / RECORDS
    for job in range(1, 41):  # ends that are long to record: a sentence each
        place.start(job, JobSpec("job", run=("x" * 50,), workdir="/" + "y" * 4000 + str(job)))
    for job in range(1, 41):
        place.talk.gone(task(job))
    assert records.stat().st_size < 2**20


def test_an_end_is_told_while_nobody_listened(place: Place) -> None:
    place.launch(1, "sleep 0.3; exit 3")
    place.talk.up(task(1))
    place.talk.engine.close()
    records = place.home / RUNNER / RECORDS
    until(lambda: b'"gone"' in records.read_bytes(), "its end is written down")
    assert tuple(map(how, place.open().inventory.gone)) == (TaskIsGone(task(1), 3),)


def test_what_was_told_just_before_the_end_is_done(place: Place) -> None:
    for job in (1, 2, 3):
        place.launch(job, f"exit {job}")
    place.talk.engine.close()
    place.open()
    for job in (1, 2, 3):
        # a stop may be quicker than its shell
        until(functools.partial(place.began, job), "it is started")
        place.halt(job)
        assert place.started(job) == 1


def test_a_runner_without_tasks_leaves_with_its_controller(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.open()
    place.launch(1, "exit 0")
    place.talk.gone(task(1))
    runner = place.runner
    place.talk.engine.close()
    until(lambda: procs.look(runner) is None, "the runner leaves")


def test_a_runner_with_tasks_stays(place: Place) -> None:
    place.launch(1, "exec sleep 600")
    place.talk.up(task(1))
    runner = place.runner
    place.talk.engine.close()
    time.sleep(0.5)
    assert lives(runner)
    place.open()
    assert place.runner == runner


def test_sigterm_does_not_end_a_runner_with_tasks(place: Place) -> None:
    place.launch(1, "exec sleep 600")
    place.talk.up(task(1))
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(place.runner, number)
    time.sleep(0.3)
    assert place.halt(1).exit_code == -15
