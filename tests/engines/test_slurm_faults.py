"""What goes wrong with Slurm itself, on a cluster as most are: devices without types, and memory that Slurm counts."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clearway.config.engine_words import Slurm
from clearway.engines.local.metrics import Metrics
from clearway.engines.local.orders import launch_order
from clearway.engines.local.paths import log_path
from clearway.engines.slurm import engine as module
from clearway.engines.slurm.engine import SlurmEngine
from clearway.model.actions import Halt, Launch
from clearway.model.errors import EngineError
from clearway.model.events import Grant, TaskRef
from clearway.model.ids import JobId, NodeId
from clearway.model.job import Demand, JobSpec, Role
from clearway.ports.engine import NodeIsUp
from clearway.testing.engines import Talk
from tests.engines.slurm_cluster import Cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.slow, pytest.mark.real_engine]
GROUPS = Path("/sys/fs/cgroup/memory")
MEBI = 2**20


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    plugin = "task/cgroup" if os.access(GROUPS, os.W_OK) else "task/none"
    found = Cluster(
        tmp_path_factory.mktemp("slurm"), ("",) * 4, TaskPlugin=plugin, SelectTypeParameters="CR_CPU_Memory"
    )
    try:
        found.begin()
        yield found
    finally:
        found.end()


class Town:
    """The cluster, an engine, and programs that stand in the way of Slurm's own."""

    def __init__(self, cluster: Cluster, folder: Path, home: Path) -> None:
        self.cluster, self.folder, self.home = cluster, folder, home
        self.talk: Talk
        self._jobs = 0

    def attach(self, **words: object) -> None:
        order = partial(launch_order, home=self.home, workdir=self.folder, devices=())
        self.talk = Talk(SlurmEngine(self.home, order, Metrics(self.home), Slurm("one", **words)))  # type: ignore[arg-type]

    def launch(self, *run: str, devices: tuple[int, ...] = (), memory: int = 0) -> TaskRef:
        self._jobs += 1
        task = TaskRef(JobId(self._jobs), 1, 0, 0)
        demand = Demand(cpus=1000, memory=memory * MEBI, gpus=len(devices))
        spec = JobSpec("j", run=run, roles=(Role(demand=demand),))
        self.talk.tell(Launch(task, spec, Grant(0, 0, NodeId(0), devices), "n1", 0, 1))
        return task

    def said(self, task: TaskRef) -> str:
        return log_path(self.home, task, "stdout").read_text()

    def other(self, *words: str) -> str:
        return self.cluster.tell(
            "sbatch", "--parsable", "--nodelist=n1", "--mem=1M", "--output=/dev/null", "--chdir=/", *words
        ).strip()

    def taints(self) -> list[tuple[str, ...]]:
        return [one.spec.taints for one in self.talk.heard if isinstance(one, NodeIsUp)]

    def jobs(self) -> list[list[str]]:
        return [line.split("|", 2) for line in self.cluster.tell("squeue", "-h", "-a", "-o", "%i|%T|%j").splitlines()]

    def instead(self, program: str, line: str) -> None:
        """Have a shell line run instead of one of Slurm's programs, which is there as `$REAL`."""
        real = self.cluster.tell("sh", "-c", f"command -v {program}").strip()
        path = self.folder / "bin" / program
        path.write_text(f"#!/bin/sh\nREAL={shlex.quote(real)}\nHERE={shlex.quote(str(self.folder))}\n{line}\n")
        path.chmod(0o755)


@pytest.fixture
def town(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Town]:
    found = Town(cluster, tmp_path, tmp_path / "home")
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_CONF", cluster.environment["SLURM_CONF"])
    found.attach()
    try:
        yield found
    finally:
        found.talk.engine.close()
        cluster.tell("scancel", "--user=root", "--full", "--signal=KILL")
        cluster.tell("scancel", "--user=root")
        cluster.until(lambda: not found.jobs(), "no job is left")


@pytest.mark.skipif(not os.access(GROUPS, os.W_OK), reason="no control groups of memory can be made here")
def test_a_task_that_ran_out_of_memory_says_so(town: Town) -> None:
    eats = f"{shlex.quote(sys.executable)} -c 'b = bytearray(300 << 20)'"
    itself, below = town.launch(*shlex.split(eats), memory=100), town.launch("sh", "-c", f"{eats}; exit 3", memory=100)
    fine = town.launch("sh", "-c", "kill -9 $$", memory=100)
    ends = [town.talk.gone(task) for task in (itself, below, fine)]
    assert [(end.exit_code, end.oom) for end in ends] == [(-9, True), (3, True), (-9, False)]


def test_devices_without_types_are_counted(town: Town) -> None:
    """Slurm alone knows which ones it gives, so that a task is shown those, and others' are only so many."""
    number = town.other("--gres=gpu:2", "--wrap=sleep 600")
    town.talk.until(
        lambda: any(isinstance(one, NodeIsUp) and len(one.unhealthy) == 2 for one in town.talk.heard), "seen"
    )
    up = [one for one in town.talk.heard if isinstance(one, NodeIsUp)][-1]
    assert (up.unhealthy, up.spec.cpus) == ((2, 3), 63_000)
    one, two = (town.launch("sh", "-c", "echo $CUDA_VISIBLE_DEVICES; sleep 1", devices=(n,)) for n in (0, 1))
    assert {town.talk.gone(task).exit_code for task in (one, two)} == {0}
    assert {town.said(one), town.said(two)} == {"2\n", "3\n"}
    town.cluster.tell("scancel", number)


def test_what_a_task_is_told_goes_through_no_shell(town: Town) -> None:
    odd = ["$(touch pwned)", "a\nb", "'\"`\\", "ü→\udcff", "--flag=#SBATCH", ""]
    script = "import sys; sys.stdout.buffer.write('|'.join(sys.argv[1:]).encode(errors='surrogateescape'))"
    task = town.launch(sys.executable, "-c", script, *odd)
    assert town.talk.gone(task).exit_code == 0
    assert log_path(town.home, task, "stdout").read_bytes() == "|".join(odd).encode(errors="surrogateescape")


def test_a_command_that_cannot_be_a_command_is_refused(town: Town) -> None:
    task = town.launch("echo", "a\0b")
    assert "null byte" in town.talk.gone(task).error


NOW_AND_THEN = """
n=$(cat "$HERE/n" 2>/dev/null || echo 0)
echo $((n + 1)) > "$HERE/n"
case $((n % 3)) in
    0) echo 'sbatch: error: Batch job submission failed: Socket timed out on send/recv operation' >&2; exit 1;;
    1) "$REAL" "$@"; kill -9 $$;;
    2) exec "$REAL" "$@";;
esac
"""


def test_a_submit_that_fails_now_and_then_is_made_once(town: Town) -> None:
    town.instead("sbatch", NOW_AND_THEN)
    mark = town.folder / "mark"
    tasks = [town.launch("sh", "-c", f"echo {number} >> '{mark}'") for number in range(5)]
    assert [town.talk.gone(task).exit_code for task in tasks] == [0] * 5
    assert sorted(mark.read_text().split()) == list("01234")


def test_a_job_that_slurm_refuses_ends_with_all_that_it_says(town: Town) -> None:
    town.instead(
        "sbatch", "printf 'sbatch: error: no account\\nsbatch: error: Batch job submission failed: No\\n' >&2; exit 1"
    )
    assert town.talk.gone(town.launch("true")).error == "Slurm refuses it: no account; Batch job submission failed: No"


def test_what_slurm_says_that_is_no_answer_is_none(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list that cannot be read does not say that nothing runs; a name of two lines is one name."""
    monkeypatch.setattr(module, "LATE_S", 0.0)
    number = town.other("--job-name=two\nlines|", "--wrap=sleep 600")
    go = town.folder / "go"
    task = town.launch("sh", "-c", f"while [ ! -e '{go}' ]; do sleep 0.05; done")
    town.talk.up(task)
    town.instead("squeue", "echo the doors are open from 8 to 18")
    town.talk.engine.look()
    town.talk.until(lambda: "the doors are open" in town.talk.engine.trouble, "it says that it got no answer")
    (town.folder / "bin" / "squeue").unlink()
    go.touch()
    assert town.talk.gone(task).exit_code == 0
    town.cluster.tell("scancel", number)


def test_a_task_that_was_given_up_does_not_run_on(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    task = town.launch("sh", "-c", "echo $$; exec sleep 600")
    town.talk.up(task)
    pid = int(town.said(task))
    monkeypatch.setattr(module, "LATE_S", 0.0)
    town.instead("squeue", "exit 0")
    assert town.talk.gone(task).exit_code is None
    town.talk.engine.acknowledge([task])
    town.cluster.until(lambda: not Path(f"/proc/{pid}").exists(), "it was ended")
    (town.folder / "bin" / "squeue").unlink()
    town.talk.listen(0.5)
    assert len(town.talk.ends(task)) == 1


def test_a_stop_that_a_step_does_not_hear_is_made_by_slurm(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LAST_S", 0.0)
    task = town.launch("sh", "-c", "echo $PPID; exec sleep 600")
    town.talk.up(task)
    os.kill(int(town.said(task)), signal.SIGSTOP)
    town.talk.tell(Halt(task, "n1", "SIGTERM", 0))
    town.talk.gone(task)
    town.cluster.until(lambda: not town.jobs(), "Slurm has ended it")


def test_a_job_of_no_task_is_ended(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that came to Slurm though its submit had failed and its task was given up."""
    monkeypatch.setattr(module, "LAST_S", 0.0)
    name = town.launch("true")
    town.talk.gone(name)
    prefix = next(path for path in (town.home / "slurm").glob("name")).read_text().split('"')[3]
    town.other(f"--job-name=clearway-{prefix}-77.1.0.0", "--wrap=sleep 600")
    town.cluster.until(lambda: not town.jobs(), "it is ended")


def test_a_node_that_cannot_begin_a_task_is_closed_for_a_while(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that does not see the home."""
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    assert town.talk.gone(town.launch("true")).error == ""
    town.talk.until(lambda: "n1 before their tasks begin" in town.talk.engine.trouble, "it says so")
    town.talk.until(lambda: town.taints()[-1:] == [("slurm/closed",)], "it is closed")
    monkeypatch.setattr(module, "BLIND_S", 0.0)
    town.talk.until(lambda: town.taints()[-1] == (), "it is open")


def test_a_partition_that_is_down_closes_its_nodes(town: Town) -> None:
    town.cluster.tell("scontrol", "update", "partitionname=one", "state=down")
    town.talk.until(lambda: ("slurm/closed",) in town.taints(), "it is closed")
    town.cluster.tell("scontrol", "update", "partitionname=one", "state=up")
    town.talk.until(lambda: town.taints()[-1] == (), "it is open")


@pytest.fixture
def small_disk(town: Town) -> Iterator[Path]:
    town.talk.engine.close()
    if subprocess.run(["/bin/mount", "-t", "tmpfs", "-o", "size=1m", "small", town.home], check=False).returncode:
        pytest.skip("no file system can be mounted here")
    town.attach()
    yield town.home
    subprocess.run(["/bin/umount", "--lazy", town.home], check=True)


def test_an_end_waits_for_a_full_disk_to_be_empty_again(town: Town, small_disk: Path) -> None:
    go = town.folder / "go"
    task = town.launch("sh", "-c", f"while [ ! -e '{go}' ]; do sleep 0.05; done")
    town.talk.up(task)
    filler = small_disk / "filler"
    with pytest.raises(OSError, match="No space"):
        filler.write_bytes(bytes(2 * MEBI))
    with pytest.raises(EngineError, match="No space"):
        town.launch("true")
    go.touch()
    town.talk.listen(2.0)
    assert not town.talk.ends(task)
    filler.unlink()
    assert town.talk.gone(task).exit_code == 0
