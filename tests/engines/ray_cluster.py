"""A Ray cluster of several nodes on this machine, with devices that are only counted."""

from __future__ import annotations

import json
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
SIZES = ["--object-store-memory=80000000", "--memory=4000000000", "--num-cpus=8", "--num-gpus=4"]


class Cluster:
    """Nodes n1, n2, ..; the first is the head. Each has an address of its own on the loopback."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))
        self.nodes: dict[str, subprocess.Popen[bytes]] = {}
        with socket.socket() as probe:
            probe.bind(("127.0.0.2", 0))
            self.address = f"127.0.0.2:{probe.getsockname()[1]}"
        self.environment = {
            **os.environ, "RAY_AUTH_MODE": "disabled", "RAY_TMPDIR": str(self.folder), "RAY_enable_autoscaler_v2": "0",
        }  # fmt: skip

    def add(self, *more: str, resources: dict[str, int] | None = None) -> str:
        """Start a node, and return its name; it may not be there yet."""
        number = len(self.nodes) + 1
        name = f"n{number}"
        port = self.address.partition(":")[2]
        head = ["--head", f"--port={port}", "--include-dashboard=false", f"--temp-dir={self.folder}"]
        where = head if number == 1 else [f"--address={self.address}"]
        command = [
            *RAY, *SIZES, *where, f"--node-ip-address=127.0.0.{number + 1}", f"--node-name={name}",
            f"--resources={json.dumps(resources or {})}", "--include-log-monitor=false", *more,
        ]  # fmt: skip
        with (self.folder / f"{name}.log").open("wb") as log:
            self.nodes[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment, start_new_session=True
            )
        if number == 1:
            self._until_it_listens()
        self.raylet(name)  # two that start at once choose the same names for their sockets
        return name

    def raylet(self, name: str) -> psutil.Process:
        """Return the process that Ray calls the node."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            for child in psutil.Process(self.nodes[name].pid).children():
                if child.name() == "raylet":
                    return child
            time.sleep(0.1)
        raise AssertionError(f"{name} has no raylet")

    def end(self) -> None:
        """End every process of it, and wait until none is left."""
        every = [psutil.Process(one.pid) for one in self.nodes.values() if one.poll() is None]
        every += [child for one in every for child in one.children(recursive=True)]
        for process in every:
            try:
                process.send_signal(signal.SIGKILL)
            except psutil.NoSuchProcess:
                continue
        psutil.wait_procs(every, PATIENCE_S)
        for one in self.nodes.values():
            one.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _until_it_listens(self) -> None:
        host, _, port = self.address.partition(":")
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until and self.nodes["n1"].poll() is None:
            try:
                socket.create_connection((host, int(port)), 1).close()
            except OSError:
                time.sleep(0.1)
            else:
                return
        raise AssertionError((self.folder / "n1.log").read_text())
