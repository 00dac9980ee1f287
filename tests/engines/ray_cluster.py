"""A Ray cluster of several nodes on this machine, with devices that are only counted."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

PATIENCE_S = 120.0
RAY = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--disable-usage-stats"]
SIZES = ["--object-store-memory=80000000", "--memory=4000000000"]
SOON = {"RAY_health_check_period_ms": "1000", "RAY_health_check_initial_delay_ms": "0"}
"""A node whose process is gone is missed within seconds; one that is only slow has 10 s for each of five answers."""

STRANGER = """
import ray, sys
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as Affinity
ray.init(sys.argv[1], log_to_driver=False)
node = next(node["NodeID"] for node in ray.nodes() if node["NodeName"] == sys.argv[2] and node["Alive"])
@ray.remote(num_gpus=2)
class Holder:
    def devices(self):
        return sorted(map(int, ray.get_gpu_ids()))
holder = Holder.options(scheduling_strategy=Affinity(node, soft=False)).remote()
print(*ray.get(holder.devices.remote()), flush=True)
sys.stdin.read()
"""

LEDGER = """
import ray, sys, time
from ray.util import list_named_actors, placement_group_table
ray.init(sys.argv[1], namespace=sys.argv[2], log_to_driver=False)
until = time.monotonic() + float(sys.argv[4])
while len(list_named_actors()) < int(sys.argv[3]) and time.monotonic() < until:
    time.sleep(0.1)
names = [told["name"] for told in placement_group_table().values() if told["state"] == "CREATED"]
print(len(list_named_actors()), *[name.partition(":")[2] for name in names if name.startswith(sys.argv[2] + ":")])
"""

FALSE_HOST = """
import os, ray, sys
ray.init(sys.argv[1], log_to_driver=False)
mark = sys.argv[2]
class Trap:
    def __reduce__(self):
        return os.system, (f"cat /proc/$PPID/cmdline >> {mark}",)
class Host:
    def where(self):
        return ray.get_runtime_context().get_node_id(), Trap()
    def holding(self, term):
        return Trap()
spaces = [one["namespace"] for one in ray.util.list_named_actors(all_namespaces=True)]
space = next(space for space in spaces if space.startswith("clearway-"))
host = ray.remote(Host).options(name="host-false", namespace=space, lifetime="detached", num_cpus=0).remote()
ray.get(host.__ray_ready__.remote())
"""


def free_port(host: str) -> str:
    """Return an address at which nothing listens: nobody else uses these hosts."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        return f"{host}:{probe.getsockname()[1]}"


def kept_port() -> str:
    """Return an address at which nothing listens, and which the system gives to nobody who does not ask for it."""
    for port in range(30_000 + os.getpid() % 2000, 32_700):  # another run may look at the same moment
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return f"127.0.0.1:{port}"
    raise AssertionError("no port is free")


def auth(token: str) -> dict[str, str]:
    """Return the environment in which this token is shown and asked for, none where it is empty."""
    return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token} if token else {"RAY_AUTH_MODE": "disabled"}


class Stranger:
    """A program that uses the cluster without Clearway: it has two devices of a node, until it is to leave."""

    def __init__(self, cluster: Cluster, node: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", STRANGER, cluster.address, node], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=cluster.environment,
        )  # fmt: skip

    def devices(self) -> set[int]:
        """Return what it has; may wait for it."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            words = line.split()
            if words and all(map(bytes.isdigit, words)):  # Ray prints warnings there too
                return set(map(int, words))
        raise AssertionError("it ended before it said what it has")

    def leave(self) -> None:
        """End it."""
        self._process.communicate()


class Cluster:
    """Nodes n1, n2, ..; the first is the head. Each has an address of its own on the loopback, in `net`."""

    def __init__(self, token: str = "", net: str = "127.0.0") -> None:
        self._net = net
        self.folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))
        self.nodes: dict[str, subprocess.Popen[bytes]] = {}
        self.address, self.client_server = free_port(f"{net}.2"), free_port(f"{net}.2")
        self.environment = {
            **os.environ, **SOON, **auth(token), "RAY_TMPDIR": str(self.folder),
            "GRPC_ENABLE_FORK_SUPPORT": "0",  # without it every third driver of the client server dies in its fork
            "RAY_enable_autoscaler_v2": "0",
        }  # fmt: skip

    def add(self, *more: str, cpus: int = 8, gpus: int = 4, again: int = 0) -> str:
        """Start a node, or that of this number again, and return its name; the first one is waited for."""
        number = again or len(self.nodes) + 1
        name = f"n{number}"
        port, client_port = (one.partition(":")[2] for one in (self.address, self.client_server))
        head = ["--head", f"--port={port}", f"--ray-client-server-port={client_port}", "--include-dashboard=false"]
        where = head if number == 1 else [f"--address={self.address}"]
        command = [
            *RAY, *SIZES, *where, f"--node-ip-address={self._net}.{number + 1}", f"--node-name={name}",
            f"--num-cpus={cpus}", f"--num-gpus={gpus}", "--include-log-monitor=false", *more,
            f"--temp-dir={self.folder}/{name}",
        ]  # fmt: skip
        with (self.folder / f"{name}.log").open("wb") as log:
            self.nodes[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment, start_new_session=True
            )
        if number == 1:
            self.ready()
        return name

    def ready(self) -> None:
        """Wait until all nodes that were started are there."""
        until = time.monotonic() + PATIENCE_S
        for name, process in self.nodes.items():
            log = self.folder / f"{name}.log"
            while "Ray runtime started" not in log.read_text():
                waiting = process.poll() is None and time.monotonic() < until
                assert waiting, log.read_text()
                time.sleep(0.1)

    def ledger(self, namespace: str, hosts: int = 0) -> tuple[int, list[str]]:
        """Return how many actors Ray has in a namespace, once there are so many, and the names of what is held."""
        command = [sys.executable, "-c", LEDGER, self.address, namespace, str(hosts), str(PATIENCE_S)]
        said = subprocess.run(command, env=self.environment, stdout=subprocess.PIPE, text=True, check=True).stdout
        count, *names = said.splitlines()[-1].split()
        return int(count), names

    def run(self, program: str, *words: str) -> None:
        """Run a program that uses the cluster."""
        command = [sys.executable, "-c", program, self.address, *words]
        subprocess.run(command, env=self.environment, check=True, timeout=PATIENCE_S)

    def raylet(self, name: str) -> psutil.Process:
        """Return the process that Ray calls the node."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            for child in psutil.Process(self.nodes[name].pid).children():
                if child.name() == "raylet":
                    return child
            time.sleep(0.1)
        raise AssertionError(f"{name} has no raylet")

    def leave(self, name: str) -> None:
        """End a node for good."""
        _end([self.nodes.pop(name)])

    def end(self) -> None:
        """End every process of it, and wait until none is left."""
        _end(list(self.nodes.values()))
        shutil.rmtree(self.folder, ignore_errors=True)


def _end(nodes: list[subprocess.Popen[bytes]]) -> None:
    every = [psutil.Process(one.pid) for one in nodes if one.poll() is None]
    every += [child for one in every for child in one.children(recursive=True)]
    for process in every:
        try:
            process.send_signal(signal.SIGKILL)
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(every, PATIENCE_S)
    for one in nodes:
        one.wait()
