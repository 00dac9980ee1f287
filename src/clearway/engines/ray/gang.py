"""A Ray cluster of exactly the nodes and devices of a gang: each of its tasks runs this, with the command behind it.

The first task starts the head and runs the command, in which `ray.init()` joins it; the others are its nodes, and end
with it. Ray's own `ray symmetric-run` cannot do that here: it refuses to start on a node of a cluster, and ends with
`ray stop`, which would end that one. It goes to nodes as a text: standard library and Ray alone.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time

PATIENCE_S = 300.0
"""So long the tasks of a gang wait for each other."""
RAY = [sys.executable, "-m", "ray.scripts.scripts", "start", "--disable-usage-stats", "--include-log-monitor=false"]
PORTS = ["--min-worker-port=0", "--max-worker-port=0", "--dashboard-agent-listen-port=0"]
"""Any that are free: the usual ones belong to the cluster on whose nodes this runs."""


def main(command: list[str]) -> int:
    """Be the head or a node of the cluster; return the exit code of the command."""
    door = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    if os.environ["RANK"] == "0":
        return _head(door, int(os.environ["WORLD_SIZE"]) - 1, command)
    return _node(door)


def _head(door: tuple[str, int], others: int, command: list[str]) -> int:
    with socket.create_server(door) as server:
        server.settimeout(PATIENCE_S)
        with socket.create_server((door[0], 0)) as probe:
            address = f"{door[0]}:{probe.getsockname()[1]}"
        _start("--head", f"--node-ip-address={door[0]}", f"--port={address.rpartition(':')[2]}")
        nodes: list[socket.socket] = []
        while len(nodes) < others:
            node = server.accept()[0]
            node.settimeout(PATIENCE_S)
            if _line(node) == _who():  # and nobody else who found this port
                node.sendall(f"{address}\n".encode())
                nodes.append(node)
        for node in nodes:
            if _line(node) != "up":
                raise ConnectionError("a task of the gang could not start its node")
    code = subprocess.run(command, env={**_environment(), "RAY_ADDRESS": address}, check=False).returncode
    for node in nodes:
        node.sendall(b"over\n")
    return code if code >= 0 else 128 - code


def _node(door: tuple[str, int]) -> int:
    with _reach(door) as head:
        head.sendall(f"{_who()}\n".encode())
        _start(f"--address={_line(head)}", f"--node-ip-address={head.getsockname()[0]}")
        head.sendall(b"up\n")
        head.settimeout(None)
        return 0 if _line(head) == "over" else 1


def _reach(door: tuple[str, int]) -> socket.socket:
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            return socket.create_connection(door, PATIENCE_S)
        except OSError:  # its task starts at about this moment
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def _line(conversation: socket.socket) -> str:
    said = b""
    while not said.endswith(b"\n"):
        more = conversation.recv(1)
        if not more:
            return ""
        said += more
    return said.decode(errors="replace").strip()


def _who() -> str:
    return f"{os.environ['CLEARWAY_JOB']}.{os.environ['CLEARWAY_ATTEMPT']}"


def _start(*how: str) -> None:
    """Start Ray with what this task holds, in its own folder; it ends with the task."""
    held = json.loads(os.environ["RAY_OVERRIDE_RESOURCES"])
    own = [f"--num-cpus={held['CPU']}", f"--num-gpus={held['GPU']}", f"--temp-dir={os.environ['RAY_TMPDIR']}"]
    dashboard = ["--include-dashboard=false"] if "--head" in how else []
    command = [*RAY, *PORTS, *own, *dashboard, *how]
    done = subprocess.run(
        command, env=_environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"ray start: {(done.stderr or done.stdout).strip()[-2000:]}")


def _environment() -> dict[str, str]:
    return {word: said for word, said in os.environ.items() if word not in {"RAY_ADDRESS", "RAY_OVERRIDE_RESOURCES"}}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
