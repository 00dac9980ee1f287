"""A controller on a real Ray cluster of three nodes: what its people see, and what it has after kills."""

from __future__ import annotations

import json
import secrets
import shlex
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from clearway.model.errors import ClearwayError
from clearway.sdk.client import Client
from tests.engines import ray_calls
from tests.engines.ray_cluster import FALSE_HOST, PATIENCE_S, Cluster, Stranger, auth, kept_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytest.importorskip("ray", reason="the extra `ray` is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.real_engine]

SETTINGS = """
engine: ray
ray: {{address: '{address}'}}
listen: {listen}
policy: {{order: [priority, fifo], lease: 6s}}
queues:
  - {{name: gpu-work, defaults: {{nodes: {{kind: gpu}}}}}}
  - {{name: cpu-work, defaults: {{nodes: {{kind: cpu}}}}}}
"""
OWN_RAY = """
import json, os, ray, sys
assert os.environ["RAY_AUTH_MODE"] == "token"
ray.init(**({} if "WORLD" in sys.argv else {"include_dashboard": False}))
@ray.remote(num_gpus=2)
def given():
    return os.environ["CUDA_VISIBLE_DEVICES"]
has = ray.cluster_resources()
shown = ",".join(sorted(ray.get(given.remote()).split(",")))
print(json.dumps([has["CPU"], has["GPU"], len(ray.nodes()), shown]))
"""
TOKEN = secrets.token_hex(32)
N1, N2, N3 = "127.0.0.2", "127.0.0.3", "127.0.0.4"


class Town:
    """A cluster, a home, and the controller of it. n1 is the head and has CPUs alone, n2 and n3 have four devices."""

    def __init__(self, folder: Path) -> None:
        self.home, self.marks = folder / "home", folder / "marks"
        self.home.mkdir(0o700)
        self.marks.mkdir()
        self.cluster, self.listen = Cluster(TOKEN), ""
        self.controller: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        self.cluster.add("--labels=kind=cpu", gpus=0)
        for _ in range(2):
            self.cluster.add("--labels=kind=gpu")
        self.listen = kept_port()
        self.set_address(self.cluster.address)
        self.up()
        self.cluster.ready()
        self.until(lambda: self.ready() == ["n1", "n2", "n3"], "all nodes are there")

    def set_address(self, address: str) -> None:
        (self.home / "clearway.yaml").write_text(SETTINGS.format(address=address, listen=self.listen))

    def up(self) -> None:
        command = [str(Path(sys.executable).with_name("clearway")), "--home", str(self.home), "up"]
        with (self.home / "up.log").open("ab") as log:
            self.controller = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.cluster.environment
            )
        controller = self.controller
        self.until(lambda: controller.poll() is not None or self.answers(), "the controller answers")
        assert controller.poll() is None, self.seen()

    def answers(self) -> bool:
        try:
            self.client.status()
        except (ClearwayError, OSError):
            return False
        return True

    def kill(self) -> None:
        assert self.controller is not None
        self.controller.kill()
        self.controller.wait()

    def end(self) -> None:
        if self.controller is not None and self.controller.poll() is None:
            self.controller.send_signal(signal.SIGINT)
            self.controller.wait(PATIENCE_S)
        self.cluster.end()

    def bridge(self) -> psutil.Process:
        """Return the process that is Ray's driver."""
        assert self.controller is not None
        children = psutil.Process(self.controller.pid).children(recursive=True)
        (found,) = [child for child in children if "clearway.engines.ray.bridge" in child.cmdline()]
        return found

    @property
    def client(self) -> Client:
        return Client.connect(self.home)

    def ready(self) -> list[str]:
        return [node["name"] for node in self.client.nodes() if node["state"] == "ready"]

    def submit(self, name: str, run: str, **words: Any) -> str:
        mark = f"{self.marks}/{name}.$RANK"
        line = f"echo ${{CUDA_VISIBLE_DEVICES:-none}} >> {mark}; {run}; echo over >> {mark}"
        self.client.submit([{"name": name, "run": line, "workdir": "/", "cpus": 0.1, **words}])
        return name

    def told(self, name: str, rank: int = 0) -> list[str]:
        path = self.marks / f"{name}.{rank}"
        return path.read_text().split() if path.exists() else []

    def waits(self, name: str) -> str:
        """Return what a task runs that is to go on until it is told to end."""
        return f"while [ ! -e {self.marks}/{name}.end ]; do sleep 0.05; done"

    def let_end(self, *names: str) -> None:
        for name in names:
            (self.marks / f"{name}.end").touch()

    def succeeded(self, name: str) -> dict[str, Any]:
        self.client.wait(name, PATIENCE_S)
        row = self.client.job(name)
        assert row["state"] == "succeeded", (row, b"".join(self.client.logs(name, stream="stderr")))
        return row

    def over(self, names: list[str]) -> list[str]:
        return [name for name in names if self.client.job(name)["state"] == "succeeded"]

    def seen(self) -> str:
        """Return what there is to see where something did not come about."""
        talk = (self.home / "up.log").read_text()
        if not self.answers():
            return talk
        left = [job["name"] for job in self.client.jobs() if job["state"] != "succeeded"]
        said = [(name, self.client.why(name)) for name in left]
        return f"{self.client.nodes()} {said} {self.client.status()} {talk}"

    def until(self, holds: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            assert time.monotonic() < deadline, f"{what}; {self.seen()}"
            time.sleep(0.1)


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    found = Town(tmp_path_factory.mktemp("town"))
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("CLEARWAY_HOME", str(found.home))
            found.begin()
            yield found
    finally:
        found.end()


def test_gangs_shares_and_calls_have_what_was_decided(town: Town) -> None:
    gang = town.submit("gang", town.waits("gang"), tasks=2, gpus=3, one_per_node=True)
    town.until(lambda: all(town.told(gang, rank) == ["0,1,2"] for rank in (0, 1)), "both of the gang run")
    halves = [town.submit(f"half-{n}", town.waits("half"), gpus=0.5, nodes={"name": "n2"}) for n in (1, 2)]
    on_cpus, on_devices = ray_calls.on_cpus.map(range(20)), ray_calls.on_devices.map(range(20))
    town.until(lambda: all(town.told(half) == ["3"] for half in halves), "both share what the gang left of its node")
    assert set(on_cpus.get(PATIENCE_S)) == {(N1, "")}
    assert set(on_devices.get(PATIENCE_S)) == {(N3, "3")}
    town.let_end("gang", "half")
    assert [town.succeeded(name)["attempts"][0]["number"] for name in (gang, *halves)] == [1, 1, 1]


def test_users_of_ray_inside_and_beside_have_no_more_than_is_theirs(town: Town) -> None:
    stranger = Stranger(town.cluster, "n3")
    try:
        script = f"{sys.executable} -c {shlex.quote(OWN_RAY)}"
        inside = town.submit("inside", script, gpus=2, cpus=3, nodes={"name": "n2"})
        theirs = stranger.devices()

        def seen() -> bool:
            (node,) = [node for node in town.client.nodes() if node["name"] == "n3"]
            return set(node["unhealthy"]) == theirs

        town.until(seen, "the devices of a stranger are seen")
        beside = town.submit("beside", "true", gpus=2, nodes={"name": "n3"})
        town.succeeded(beside)
        assert set(map(int, town.told(beside)[0].split(","))) == set(range(4)) - theirs
        over = f"{sys.executable} $CLEARWAY_RAY {script} WORLD"
        gang = town.submit("world", over, tasks=2, one_per_node=True, gpus=2, cpus=1, nodes={"kind": "gpu"})
        town.succeeded(inside)
        found = json.loads(b"".join(town.client.logs(inside)).splitlines()[-1])
        assert found == [3, 2, 1, town.told(inside)[0]]
        town.succeeded(gang)
        found = json.loads(b"".join(town.client.logs(gang)).splitlines()[-1])
        assert found[:3] == [2, 4, 2]
        assert found[3] in {town.told(gang, rank)[0] for rank in (0, 1)}
    finally:
        stranger.leave()
    town.until(lambda: not any(node["unhealthy"] for node in town.client.nodes()), "they are free again")


def test_a_runtime_environment_is_made_on_the_node(town: Town, tmp_path: Path) -> None:
    """Modules at an address come as Ray brings them, folders of who submits as `code: copied` does."""
    modules, folder, module = tmp_path / "brought.zip", tmp_path / "folder", tmp_path / "carried"
    with zipfile.ZipFile(modules, "w") as packed:
        packed.writestr("brought/greeting.py", "WORD = 'hello'")
    (folder / "in").mkdir(parents=True)
    module.mkdir()
    (module / "__init__.py").write_text("MARK = '!'")
    (folder / "own.py").write_text("GAP = ' '")
    (folder / "in" / "main.py").write_text(
        "import os, carried, greeting, own; print(greeting.WORD, os.environ['WHOM'] + carried.MARK, sep=own.GAP)"
    )
    env = {"env_vars": {"WHOM": "you"}, "py_modules": [modules.as_uri(), str(module)], "working_dir": str(folder)}
    job = {"name": "ready", "run": f"{sys.executable} in/main.py", "cpus": 0.1}
    town.client.run_flow({"name": "made", "steps": [{**job, "runtime_env": env}]})
    broken = {"working_dir": (tmp_path / "nowhere.zip").as_uri()}
    town.client.submit([{**job, "name": "broken", "run": "true", "runtime_env": broken}])
    town.until(lambda: bool(town.client.flow("made")["state"] in {"succeeded", "failed"}), "the workflow ends")
    assert b"".join(town.client.logs("made.ready")) == b"hello you!\n"
    assert town.client.wait("broken", PATIENCE_S)["state"] == "failed"
    assert "runtime_env" in str(town.client.why("broken"))


def test_the_token_of_the_cluster_goes_no_further_than_the_controller(town: Town) -> None:
    town.succeeded(town.submit("asks", "cat /proc/self/environ"))
    seen = b"".join(town.client.logs("asks"))
    assert b"CLEARWAY_JOB" in seen
    assert TOKEN.encode() not in seen
    assert not any(TOKEN in " ".join(one.info["cmdline"] or ()) for one in psutil.process_iter(["cmdline"]))
    kept = [path for path in town.home.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]
    assert not kept


def test_a_wrong_token_and_a_wrong_port_are_called_wrong(town: Town, tmp_path: Path) -> None:
    head, server, wrong = town.cluster.address, town.cluster.client_server, "0" * 64
    asks = b"it asks for a token, and the one in RAY_AUTH_TOKEN is not its own"
    tried = []
    for number, (address, token, why) in enumerate([
        (head, wrong, asks), (f"ray://{server}", wrong, asks),
        (f"ray://{head}", TOKEN, b"leave out ray://"), (server, TOKEN, b"say ray://"),
    ]):  # fmt: skip
        home = tmp_path / str(number)
        home.mkdir(0o700)
        (home / "clearway.yaml").write_text(f"engine: ray\nray: {{address: '{address}'}}\n")
        command = [str(Path(sys.executable).with_name("clearway")), "--home", str(home), "up"]
        environment = {**town.cluster.environment, **auth(token)}
        tried.append((subprocess.Popen(command, env=environment, stderr=subprocess.PIPE), why))
    for one, why in tried:
        _, said = one.communicate(timeout=PATIENCE_S)
        assert one.returncode != 0
        assert why in said


def test_a_killed_controller_finds_what_runs(town: Town) -> None:
    """It comes back by the client server of the cluster, and goes on with it in the tests below."""
    runs = town.submit("runs", town.waits("runs"), tasks=2, gpus=2)
    ends = town.submit("ends", town.waits("ends"))
    counter = ray_calls.Counter.remote(5)
    first = counter.more.remote().get(PATIENCE_S)
    town.until(lambda: all(map(town.told, (runs, ends))) and bool(town.told(runs, 1)), "they run")
    trap = town.marks / "trap"
    town.cluster.run(FALSE_HOST, str(trap))
    town.bridge().kill()
    town.succeeded(town.submit("after", "true"))
    town.kill()
    town.let_end("ends")
    town.until(lambda: town.told(ends)[-1] == "over", "one ends while nobody is there")
    town.set_address(f"ray://{town.cluster.client_server}")
    town.up()
    assert len(town.succeeded(ends)["attempts"]) == 1
    assert counter.more.remote().get(PATIENCE_S) == (7, first[1]), "an actor goes on with what it has in memory"
    counter.end()
    assert town.client.job(runs)["state"] == "running"
    town.let_end("runs")
    assert len(town.succeeded(runs)["attempts"]) == 1
    assert [len(town.told(name, rank)) for name, rank in ((runs, 0), (runs, 1), (ends, 0))] == [2, 2, 2]
    caught = trap.read_text() if trap.exists() else ""
    assert "engines.ray.bridge" not in caught, "what others say in the name of a host is data beside the controller"


def test_a_task_goes_on_while_its_output_cannot_be_kept(town: Town) -> None:
    kept = town.submit("kept", f"{town.waits('kept')}; echo said")
    town.until(lambda: bool(town.told(kept)), "it runs")
    path = town.home / "logs" / str(town.client.job(kept)["id"]) / "1-0-0.stdout"
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(town.home / "nowhere" / "at all")
    town.let_end("kept")
    town.until(lambda: "cannot be kept" in str(town.client.status()), "it is told")
    assert town.client.job(kept)["state"] == "running"
    path.unlink()
    town.succeeded(kept)
    assert b"".join(town.client.logs(kept)) == b"said\n"


def test_a_node_that_dies_loses_attempts_and_no_job(town: Town) -> None:
    line = f"echo $$ >> {town.marks}/pids; {town.waits('lost')}"
    lost = town.submit("lost", line, tasks=2, gpus=3, one_per_node=True, priority=1)
    town.until(lambda: (town.marks / "pids").exists() and all(town.told(lost, rank) for rank in (0, 1)), "it runs")
    smalls = [town.submit(f"small-{number}", "sleep 1", gpus=0.5) for number in range(8)]
    calls = ray_calls.slowly.map(range(60))
    town.until(lambda: bool(town.over(smalls)), "small ones run beside it, and one has ended")
    over = town.over(smalls)
    for process in (town.bridge(), town.cluster.raylet("n3")):
        process.kill()
    town.until(lambda: town.ready() == ["n1", "n2"], "the node is missed")
    assert calls.get(PATIENCE_S) == [10 * number for number in range(60)]
    town.cluster.nodes["n3"].wait(PATIENCE_S)
    town.cluster.add("--labels=kind=gpu", again=3)
    town.until(lambda: all(len(town.told(lost, rank)) >= 2 for rank in (0, 1)), "it runs again, whole")
    before = (town.marks / "pids").read_text().split()[:2]
    assert not any(Path(f"/proc/{pid}").exists() for pid in before), "what was lost is gone before it runs again"
    town.let_end("lost")
    assert len(town.succeeded(lost)["attempts"]) > 1
    for name in (lost, *smalls):
        ends = [one["end"] for one in town.succeeded(name)["attempts"]]
        assert (ends[-1], set(ends[:-1]) <= {"lost"}) == ("succeeded", True)
    for name in over:
        assert town.told(name)[1:] == ["over"], "nothing runs again whose end is known"
