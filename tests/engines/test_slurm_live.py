"""A controller whose engine is a real Slurm of four nodes: from submit to end, and what goes wrong on the way."""

from __future__ import annotations

import os
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from clearway.compose.launch import ensure_running
from clearway.config.engine_words import Slurm
from clearway.engines.local.metrics import Metrics
from clearway.engines.local.orders import launch_order
from clearway.engines.local.paths import log_path
from clearway.engines.slurm.engine import SlurmEngine
from clearway.model.actions import Halt, Launch
from clearway.model.events import Grant, TaskRef
from clearway.model.ids import JobId, NodeId
from clearway.model.job import JobSpec
from clearway.sdk.client import Client
from clearway.testing.engines import Talk
from tests.api.live import PATIENCE_S, end, kill_controller, until
from tests.engines.slurm_cluster import NODES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.engines.slurm_cluster import Cluster

pytestmark = [pytest.mark.slow, pytest.mark.real_engine]
SETTINGS = """
engine: slurm
slurm: {partition: all}
policy: {order: [fifo], backfill: none, lease: 3s}
listen: 127.0.0.1:0
output_size: 1MiB
"""


class Town:
    """The cluster, and the home of its controller."""

    def __init__(self, cluster: Cluster, home: Path) -> None:
        self.cluster, self.home = cluster, home

    @property
    def client(self) -> Client:
        return Client.connect(self.home)

    def submit(self, run: str, **words: object) -> str:
        job = {"name": f"job {os.urandom(4).hex()}", "run": run, "workdir": "/", **words}
        return f"id:{self.client.submit([job])[0]['id']}"

    def succeeded(self, ref: str) -> dict[str, Any]:
        self.client.wait(ref, PATIENCE_S)
        row = self.client.job(ref)
        assert row["state"] == "succeeded", (row, b"".join(self.client.logs(ref, stream="stderr")))
        return row

    def said(self, ref: str, task: int = 0) -> str:
        return b"".join(self.client.logs(ref, task)).decode()

    def until_running(self, ref: str, attempt: int = 1) -> dict[str, Any]:
        def runs() -> bool:
            row = self.client.job(ref)
            return bool(row["state"] == "running" and len(row["attempts"]) == attempt)

        until(runs, f"attempt {attempt} of {ref} runs")
        return self.client.job(ref)

    def node(self, name: str) -> dict[str, Any]:
        return next(row for row in self.client.nodes() if row["name"] == name)


@pytest.fixture(scope="module")
def town(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    home = tmp_path_factory.mktemp("town") / "home"
    home.mkdir(mode=0o700)
    (home / "clearway.yaml").write_text(SETTINGS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLURM_CONF", cluster.environment["SLURM_CONF"])
        ensure_running(home)
        try:
            yield Town(cluster, home)
        finally:
            end(home)


def test_a_gang_runs_on_the_nodes_and_devices_that_were_decided(town: Town) -> None:
    line = "echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES $RANK/$WORLD_SIZE $MASTER_ADDR:$MASTER_PORT"
    ref = town.submit(line, tasks=2, gpus=3, cpus=2, one_per_node=True)
    row = town.succeeded(ref)
    tasks = row["attempts"][0]["tasks"]
    assert len({task["node"] for task in tasks}) == 2
    said = [town.said(ref, number).split() for number in (0, 1)]
    shown = [[task["node"], ",".join(map(str, task["devices"]))] for task in tasks]
    assert [words[:2] for words in said] == shown
    assert [words[2] for words in said] == ["0/2", "1/2"]
    assert said[0][3] == said[1][3]
    assert said[0][3].startswith("127.0.0.1:")


def test_a_task_reaches_its_controller_by_its_port(town: Town) -> None:
    """Through the home's socket only this machine could."""
    line = f"CLEARWAY_HOME=/nowhere {shlex.quote(str(Path(sys.executable).with_name('clearway')))} ps --json"
    ref = town.submit(line, cpus=1)
    town.succeeded(ref)
    assert ref.removeprefix("id:") in town.said(ref)


WORKS = """
import time
held, began = bytearray(100 << 20), time.monotonic()
while time.monotonic() - began < 2:
    pass
print("x" * (4 << 20))
"""


def test_a_task_is_measured_and_its_log_is_cut(town: Town) -> None:
    ref = town.submit(f"{shlex.quote(sys.executable)} -c {shlex.quote(WORKS)}", cpus=1)
    row = town.succeeded(ref)
    used = row["attempts"][0]["used"]
    assert used["peak_memory"] >= 100 << 20
    assert used["peak_cpus"] >= used["cpus"] > 0.1
    said = town.said(ref)
    assert len(said) < 2 << 20
    assert "bytes are cut here" in said


def test_a_cancelled_job_leaves_nothing_in_slurm(town: Town) -> None:
    ref = town.submit("sleep 600", gpus=1)
    town.until_running(ref)
    town.client.cancel(ref)
    town.client.wait(ref, PATIENCE_S)
    assert town.client.job(ref)["state"] == "cancelled"
    until(lambda: not town.cluster.tell("squeue", "-h", "-t", "running,completing").strip(), "Slurm holds nothing")


def test_a_killed_controller_finds_what_runs(town: Town, tmp_path: Path) -> None:
    go, mark = tmp_path / "go", tmp_path / "mark"
    ref = town.submit(f"echo x >> '{mark}'; while [ ! -e '{go}' ]; do sleep 0.05; done", gpus=2)
    town.until_running(ref)
    until(mark.exists, "it runs")
    kill_controller(town.home)
    ensure_running(town.home)
    assert town.until_running(ref)["attempts"][0]["number"] == 1
    go.touch()
    row = town.succeeded(ref)
    assert len(row["attempts"]) == 1
    assert mark.read_text() == "x\n"


def test_what_others_run_there_is_seen_and_left_to_them(town: Town) -> None:
    number = town.cluster.tell(
        "sbatch", "--parsable", "--partition=all", "--nodelist=n2", "--gres=gpu:g1:1", "--cpus-per-task=60",
        "--output=/dev/null", "--chdir=/", "--wrap=sleep 600",
    ).strip()  # fmt: skip
    assert number

    def seen() -> bool:
        row = town.node("n2")
        return bool(row["cpus"] == 4 and row["unhealthy"] == [1])

    until(seen, "what the other job holds is seen")
    ref = town.submit("true", tasks=4, gpus=4, one_per_node=True)
    until(
        lambda: town.client.job(ref)["state"] == "pending" and town.client.why(ref)["reasons"], "it says why it waits"
    )
    small = town.submit("echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES", gpus=3, nodes={"name": "n2"})
    town.client.cancel(ref)
    town.succeeded(small)
    assert town.said(small) == "n2 0,2,3\n"
    town.cluster.tell("scancel", number)
    until(lambda: town.node("n2")["unhealthy"] == [], "the device is free again")
    town.succeeded(town.submit("true", tasks=4, gpus=4, one_per_node=True))


def test_a_lost_node_has_its_job_run_elsewhere(town: Town) -> None:
    ref = town.submit("sleep 600", gpus=1)
    first = town.until_running(ref)["attempts"][0]["tasks"][0]["node"]
    town.cluster.lose_node(first)
    attempts = town.until_running(ref, attempt=2)["attempts"]
    assert attempts[0]["end"] == "lost"
    assert attempts[1]["tasks"][0]["node"] in set(NODES) - {first}
    town.cluster.bring_back(first)
    town.client.cancel(ref)
    town.client.wait(ref, PATIENCE_S)
    until(lambda: town.node(first)["state"] == "ready", "it is back")
    town.succeeded(town.submit("true", gpus=4, nodes={"name": first}))


def test_tasks_may_be_steps_inside_one_job(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_CONF", cluster.environment["SLURM_CONF"])
    number = cluster.tell(
        "sbatch", "--parsable", "--partition=all", "--nodelist=n3,n4", "--gres=gpu:g1:1,gpu:g3:1", "--cpus-per-task=3",
        "--ntasks-per-node=1", "--output=/dev/null", "--chdir=/", "--wrap=sleep 600",
    ).strip()  # fmt: skip
    cluster.until(lambda: cluster.tell("squeue", "-h", "-t", "running", "-j", number), "the job runs")
    home = tmp_path / "home"

    def attach() -> Talk:
        order = partial(launch_order, home=home, workdir=tmp_path, devices=())
        return Talk(SlurmEngine(home, order, Metrics(home), Slurm(within=number)))

    talk = attach()
    try:
        nodes = [(up.spec.name, up.spec.cpus, up.unhealthy) for up in talk.inventory.nodes]
        assert nodes == [("n3", 3000, (0, 2)), ("n4", 3000, (0, 2))]
        line = "echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES $SLURM_STEP_GPUS"
        spec = JobSpec("j", run=("sh", "-c", line))
        one = TaskRef(JobId(1), 1, 0, 0)
        talk.tell(Launch(one, spec, Grant(0, 0, NodeId(1), (3,)), "n4", 0, 1))
        assert talk.gone(one).exit_code == 0
        assert log_path(home, one, "stdout").read_text() == "n4 3 3\n"
        two = TaskRef(JobId(2), 1, 0, 0)
        talk.tell(Launch(two, JobSpec("j", run=("sleep", "600")), Grant(0, 0, NodeId(0), (1,)), "n3", 0, 1))
        talk.up(two)
        talk.engine.close()
        talk = attach()
        assert talk.inventory.nodes[0].running == (two,)
        talk.tell(Halt(two, "n3", "SIGTERM", 5_000_000))
        assert talk.gone(two).exit_code == -15
    finally:
        talk.engine.close()
        cluster.tell("scancel", number)
