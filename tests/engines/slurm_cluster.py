"""A Slurm of four nodes on this machine, each with four devices that are only device files."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import stat
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "sinfo", "scontrol")
PATIENCE_S = 60.0
DEVICES = 4
NODES = ("n1", "n2", "n3", "n4")
CONF = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/ctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/ctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
SlurmdTimeout=10
ReturnToService=2
MpiDefault=none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
GresTypes=gpu
{nodes}
PartitionName=all Nodes=n[1-4] Default=YES State=UP MaxTime=INFINITE
PartitionName=one Nodes=n1 State=UP MaxTime=INFINITE
"""

CGROUP = """
CgroupPlugin=cgroup/v1
ConstrainRAMSpace=yes
ConstrainSwapSpace=yes
AllowedSwapSpace=0
"""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Cluster:
    """A running Slurm. `slurmd` is the process of each node, `kinds` the type of each device ("" without one).

    `conf`: lines of slurm.conf that are otherwise than in `CONF`, or beside it.
    """

    def __init__(self, folder: Path, kinds: Sequence[str] = ("g0", "g1", "g2", "g3"), **conf: str) -> None:
        self.kinds, self.conf = kinds, conf
        os.environ["PATH"] = f"{os.environ['PATH']}:/usr/sbin:/sbin"  # where Debian has daemons, and users do not look
        missing = [name for name in PROGRAMS if shutil.which(name) is None]
        if missing:
            pytest.skip(f"Slurm is not installed: {', '.join(missing)} missing")
        if os.getuid():
            pytest.skip("a cluster on one machine needs root, for its device files")
        self.folder = folder
        self.slurmd: dict[str, subprocess.Popen[bytes]] = {}
        self.others: list[subprocess.Popen[bytes]] = []

    def begin(self) -> None:
        for number in range(DEVICES):
            os.mknod(self.folder / f"gpu{number}", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        (self.folder / "state").mkdir()
        (self.folder / "munge.key").write_bytes(os.urandom(128))
        (self.folder / "munge.key").chmod(0o400)
        host, kinds = socket.gethostname().partition(".")[0], Counter(self.kinds)
        lines = "\n".join(
            f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={_free_port()} CPUs=64 RealMemory=64000 "
            f"Gres={','.join(f'gpu:{kind}:{many}' if kind else f'gpu:{many}' for kind, many in kinds.items())}"
            for name in NODES
        )  # fmt: skip
        kept = [line for line in CONF.splitlines() if line.partition("=")[0] not in self.conf]
        conf = "\n".join([*kept, *(f"{word}={value}" for word, value in self.conf.items()), ""])
        conf = conf.format(host=host, port=_free_port(), folder=self.folder, nodes=lines)
        (self.folder / "slurm.conf").write_text(conf)
        (self.folder / "cgroup.conf").write_text(CGROUP)
        gres = [
            f"Name=gpu {f'Type={kind} ' if kind else ''}File={self.folder}/gpu{number}\n"
            for number, kind in enumerate(self.kinds)
        ]
        (self.folder / "gres.conf").write_text("".join(gres))
        munge = [f"--{key}-file={self.folder}/munge.{key}" for key in ("key", "log", "pid", "seed")]
        self.others.append(
            self._start("munged", "--foreground", "--force", f"--socket={self.folder}/munge.socket", *munge)
        )
        self.until((self.folder / "munge.socket").exists, "munged listens")
        self.start_controller("-c")
        for name in NODES:
            self.start_node(name)
        self.until(
            lambda: self.tell("sinfo", "-h", "-N", "-p", "all", "-o", "%T").split() == ["idle"] * 4, "nodes are idle"
        )

    def start_controller(self, *words: str) -> None:
        self.slurmctld = self._start("slurmctld", "-D", *words)

    def start_node(self, name: str) -> None:
        self.slurmd[name] = self._start("slurmd", "-D", "-N", name)

    def lose_node(self, name: str) -> None:
        """Kill all that runs on a node, and its daemon: the cluster finds out by itself, or is told."""
        mark = f"SLURMD_NODENAME={name}".encode()
        self.slurmd[name].kill()
        self.slurmd[name].wait()
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                ours = str(self.folder).encode() in (found := Path(f"/proc/{process.pid}/environ").read_bytes())
                if ours and (mark in found.split(b"\0") or process.name() == f"slurmstepd-{name}"):
                    process.kill()
        self.tell("scontrol", "update", f"nodename={name}", "state=down", "reason=killed")

    def bring_back(self, name: str) -> None:
        self.start_node(name)
        self.tell("scontrol", "update", f"nodename={name}", "state=resume")

    def _start(self, *command: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{command[0]}.out").open("ab") as out:
            return subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, env=self.environment)

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf")}

    def tell(self, *command: str) -> str:
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        return done.stdout

    def until(self, holds: object, what: str) -> None:
        limit = time.monotonic() + PATIENCE_S
        while not holds():  # type: ignore[operator]
            assert time.monotonic() < limit, f"never: {what}: {self.said()}"
            time.sleep(0.05)

    def said(self) -> str:
        return "\n".join(path.read_text()[-1500:] for path in self.folder.glob("*.out"))

    def end(self) -> None:
        self.tell("scancel", "--user=root", "--full", "--signal=KILL")
        self.tell("scancel", "--user=root")
        self.until(lambda: not self.tell("squeue", "-h").strip(), "no job is left")
        processes = (*self.slurmd.values(), self.slurmctld, *self.others)
        for process in processes:
            process.terminate()
        for process in processes:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
