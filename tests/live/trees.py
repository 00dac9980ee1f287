"""A job with a process tree that others look at: which of its processes live, and who holds the device."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.api.live import until

if TYPE_CHECKING:
    from clearway.sdk.client import Client

MAIN = """
import os, pathlib, signal, subprocess, sys, time
deaf = "trap '' TERM;" if "deaf" in sys.argv else ""
line = f"{deaf} echo $$ >> pids; while :; do sleep 0.1; done"
subprocess.Popen(["sh", "-c", line])
subprocess.Popen(["setsid", "sh", "-c", line])
with open("pids", "a") as file:
    file.write(f"{os.getpid()}\\n")
while not os.path.exists("crash"):
    time.sleep(0.02)
end = open("crash").read()
os._exit(0) if end == "exit" else os.kill(os.getpid(), getattr(signal, end))
"""
"""Two children, one in a session of its own; when told so it ends, by a signal or well, and the children go on."""

LOOKS = """
import os, sys, time
def lives(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
if any(lives(int(pid)) for pid in open("pids").read().split()):
    sys.exit(1)
time.sleep(0.2)
"""
"""Fails at once where a process of the tree lives."""


def python(code: str, *arguments: str) -> list[str]:
    return ["python3", "-c", code, *arguments]


class Tree:
    """The jobs J1 and J2 in a folder of their own, on a node with one device."""

    def __init__(self, client: Client, folder: Path) -> None:
        folder.mkdir()
        self.client, self.folder = client, folder
        self.held: list[float] = []

    def submit(self, name: str, run: list[str], **words: Any) -> str:
        (found,) = self.client.submit(
            [{"name": name, "run": run, "gpus": 1, "workdir": str(self.folder), "cpus": 0, **words}]
        )
        return f"id:{found['id']}"

    def begin(self, *how: str, **words: Any) -> tuple[str, str]:
        """Submit both, and wait until the three processes of J1 have told their numbers."""
        first = self.submit("J1", python(MAIN, *how), **words)
        until(lambda: len(self.pids) == 3, "all of J1 runs")
        return first, self.submit("J2", python(LOOKS))

    @property
    def pids(self) -> list[int]:
        path = self.folder / "pids"
        return [int(pid) for pid in path.read_text().split()] if path.exists() else []

    def living(self) -> list[int]:
        return [pid for pid in self.pids if _lives(pid)]

    def device_held(self) -> bool:
        (node,) = self.client.nodes()
        return bool(node["devices"][0]["held"] == 1)

    def watch(self, second: str) -> None:
        """Until J2 starts: the device is taken for as long as anything of J1 lives."""

        def started() -> bool:
            held = self.device_held()
            state = self.client.job(second)
            assert held or state["attempt"] or not self.living(), "the device is shown free, and something of J1 lives"
            return bool(state["attempt"])

        until(started, "J2 starts")
        assert self.living() == []

    def crash(self, how: str = "SIGSEGV") -> None:
        fresh = self.folder / "crash.new"
        fresh.write_text(how)
        fresh.replace(self.folder / "crash")


def _lives(pid: int) -> bool:
    try:
        said = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return said.rpartition(")")[2].split()[0] not in "ZX"
