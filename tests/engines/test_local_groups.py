"""What control groups enforce. Where this machine has none, the engine must say so, and that is what is tested."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from clearway.engines.local.engine import LocalEngine
from clearway.engines.local.groups import CPU, MEMBERS, MEMORY, Groups, enter
from clearway.model.job import Demand, JobSpec, Role
from tests.engines.places import Place, lives, task, until

pytestmark = pytest.mark.slow

HERE = Groups(f"probe{os.getpid()}")
HERE.leave()
needs_memory = pytest.mark.skipif(not HERE.has(MEMORY), reason=HERE.refused or "no control group for memory")
needs_members = pytest.mark.skipif(not HERE.has(MEMBERS), reason=HERE.refused or "no control groups")

EATS_MEMORY = "exec python3 -c 'x = bytearray(400 << 20); print(len(x))'"
HIDES = (
    "python3 - <<'END'\n"
    "import os, time\n"
    "if os.fork() == 0:\n"
    "    os.setsid()\n"
    "    if os.fork() == 0:\n"
    "        time.sleep(0.2)\n"
    "        os.execve('/bin/sh', ['sh', '-c', 'trap \"\" TERM; echo $$ > hidden; while :; do sleep 1; done'], {})\n"
    "    os._exit(0)\n"
    "os.wait()\n"
    "while not os.path.exists('hidden'):\n"
    "    time.sleep(0.01)\n"
    "END"
)


def _start(place: Place, job: int, line: str, *, memory: int = 0, cpus: int = 0) -> None:
    role = Role("task", 1, 1, Demand(memory=memory, cpus=cpus))
    place.start(job, JobSpec("job", run=place.line(line), shell=True, roles=(role,)))  # noqa: S604  a line of ours


@needs_memory
def test_a_task_that_uses_more_memory_than_it_asked_for_is_killed_and_told_so(place: Place) -> None:
    _start(place, 1, EATS_MEMORY, memory=100 << 20)
    gone = place.talk.gone(task(1))
    assert gone.oom
    assert gone.exit_code == -9


@needs_memory
def test_a_task_within_its_memory_is_left_alone(place: Place) -> None:
    _start(place, 1, EATS_MEMORY, memory=800 << 20)
    gone = place.talk.gone(task(1))
    assert (gone.exit_code, gone.oom) == (0, False)


@needs_memory
def test_running_out_of_memory_is_remembered_by_the_next_runner(place: Place) -> None:
    _start(place, 1, EATS_MEMORY, memory=100 << 20)
    place.hear_until(lambda: any(getattr(r, "oom", False) for r in place.talk.heard), "it is told")
    place.kill_runner()
    place.talk.engine.close()
    assert [gone.oom for gone in place.open().inventory.gone] == [True]


@needs_members
def test_what_hides_from_everything_else_is_ended_before_the_task_is(place: Place) -> None:
    """It left its session, has no parent and no environment, and others run: only the group knows whose it is."""
    place.launch(2, "sleep 60")
    place.launch(1, HIDES)
    hidden = place.number_in("hidden")
    place.halt(1, 0.3)
    assert not lives(hidden)
    place.halt(2, 0)


@needs_members
def test_nothing_is_left_of_groups(place: Place) -> None:
    _start(place, 1, "true", memory=100 << 20, cpus=500)
    place.talk.gone(task(1))
    name = (place.home / "runner" / "name").read_text()
    mine = Groups(name)
    assert all(not _folders(base) for base in set(mine._base.values()))


@needs_members
def test_a_runner_that_comes_next_ends_what_is_in_a_group_of_nobody(tmp_path: Path) -> None:
    groups = Groups(f"left{os.getpid()}")
    files = groups.make("1.1.0.0", 0, 0)
    pid = os.fork()
    if pid == 0:
        enter(files)
        time.sleep(60)
        os._exit(0)
    until(lambda: groups.members("1.1.0.0") == [pid], "it is in its group")
    groups.sweep(["2.1.0.0"])
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -9
    groups.leave()
    assert tmp_path.exists()


@pytest.mark.skipif(not HERE.has(CPU), reason=HERE.refused or "no control group for CPUs")
def test_a_task_has_the_weight_of_the_cpus_it_asked_for(place: Place) -> None:
    """What the system makes of weights is its own; a race between two tasks would fail on a busy machine."""
    _start(place, 1, "cat /proc/self/cgroup > groups.new && mv groups.new groups; sleep 60", cpus=1500)
    shown = place.scratch / "groups"
    until(shown.exists, "the task runs")
    mine = Groups((place.home / "runner" / "name").read_text())
    folder = mine._folder(CPU, "1.1.0.0")
    assert f"{mine._name}/1.1.0.0" in shown.read_text()
    weights = [file.read_text().strip() for file in Path(folder).iterdir() if file.name in {"cpu.weight", "cpu.shares"}]
    assert weights in (["150"], ["1536"])


def test_the_engine_says_what_it_enforces(place: Place) -> None:
    engine = place.talk.engine
    assert isinstance(engine, LocalEngine)
    said = engine.enforced()
    assert ("killed by the system" in said["memory"]) == HERE.has(MEMORY)
    assert ("certain" in said["stop"]) == HERE.has(MEMBERS)


def test_a_machine_without_groups_says_why(tmp_path: Path) -> None:
    groups = Groups("nowhere", str(tmp_path))
    assert not any(map(groups.has, (MEMBERS, MEMORY, CPU)))
    assert "control groups" in groups.refused
    assert groups.make("1.1.0.0", 1, 1) == []
    assert groups.members("1.1.0.0") == []
    assert not groups.ran_out_of_memory("1.1.0.0")


def _folders(base: str) -> list[str]:
    return [entry.name for entry in os.scandir(base) if entry.is_dir()]
