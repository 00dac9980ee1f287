"""Tasks as steps inside one job of Slurm, which holds the nodes for as long as it runs."""

from __future__ import annotations

import re
import subprocess
import time
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from clearway.engines.slurm.commands import (
    CANCELLED,
    MARK,
    MEBI,
    MILLI,
    PENDING,
    Job,
    Node,
    environment,
    gres_words,
    indices,
    listed,
    nodes_of,
    slurm,
)
from clearway.model.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TOLD_S = 60.0
"""So long it is told that a program has ended."""
_HELD = re.compile(r"Nodes=(\S+) CPU_IDs=(\S+) Mem=(\d+) GRES=(\S*)")


class Within:
    """The job that has the number `job`, and its steps whose names begin with `prefix`."""

    def __init__(self, job: str) -> None:
        self._job, self.prefix = job, ""
        self._started: dict[str, subprocess.Popen[bytes]] = {}
        self._over: dict[str, float] = {}
        """When programs ended whose steps are over, or never began."""

    def nodes(self) -> list[Node]:
        """Return the nodes of the job, each with what the job has of it. Raises EngineError when it is over."""
        told = slurm("scontrol", "show", "job", "-d", "--oneliner", self._job)
        held = {name: part[1:] for part in _HELD.findall(told) for name in _names(part[0])}
        if not held:
            raise EngineError(f"the job {self._job} of Slurm, in which tasks were to run, holds no nodes (any more)")
        return [_part(node, *held[node.spec.name]) for node in nodes_of("") if node.spec.name in held]

    def known(self) -> dict[str, Job]:
        """Return the steps that run or wait, by what their names end with."""
        now = time.monotonic()
        for key, program in list(self._started.items()):
            if program.poll() is not None:
                del self._started[key]
                self._over[key] = now
        self._over = {key: at for key, at in self._over.items() if now - at < TOLD_S}
        found = {key: Job("", CANCELLED) for key in self._over} | {key: Job("", PENDING) for key in self._started}
        for number, name in listed(
            slurm("squeue", "--steps", "--noheader", f"--jobs={self._job}", f"--format={MARK}|%i|%j"), 2
        ):
            if name.startswith(self.prefix):
                found[name.removeprefix(self.prefix)] = Job(number, "RUNNING")
        return found

    def submit(self, key: str, order: Mapping[str, Any], command: Sequence[str], node: Node) -> str:
        """Have a step begin as soon as there is room for it. It is not known yet whether Slurm refuses it."""
        gres = gres_words(node, order["devices"])
        words = [
            "srun", "--quiet", f"--jobid={self._job}", f"--job-name={self.prefix}{key}", f"--nodelist={order['node']}",
            "--nodes=1", "--ntasks=1", "--exact", f"--cpus-per-task={max(order['cpus'], 1)}", "--mem=0",
            "--output=/dev/null", "--error=/dev/null", "--input=none", *(gres or ("--gres=none",)),
        ]  # fmt: skip
        nothing = subprocess.DEVNULL
        self._started[key] = subprocess.Popen(
            [*words, *command], stdin=nothing, stdout=nothing, stderr=nothing, env=environment(), cwd="/",
            start_new_session=True,
        )  # fmt: skip
        return ""

    def withdraw(self, key: str, _job: Job) -> None:
        """Take a step back if it waits."""
        if (program := self._started.get(key)) is not None:
            program.terminate()

    def close(self) -> None:
        """Leave the steps to themselves."""
        _DETACHED.extend(self._started.values())


_DETACHED: list[subprocess.Popen[bytes]] = []
"""Programs whose steps go on without us: Python must not take them for forgotten."""


def _names(hosts: str) -> list[str]:
    return slurm("scontrol", "show", "hostnames", hosts).split()


def _part(node: Node, cpus: str, memory: str, gres: str) -> Node:
    """Return a node as if it had only what a job holds of it; its other devices are somebody else's.

    Devices without types of their own are only counted.
    """
    held = indices(gres)
    gpus, others = (node.spec.gpus, frozenset(range(node.spec.gpus)) - held) if node.types else (len(held), frozenset())
    many = sum(int(last or first) - int(first) + 1 for first, _, last in (r.partition("-") for r in cpus.split(",")))
    spec = replace(node.spec, gpus=gpus, cpus=many * MILLI, memory=int(memory) * MEBI or node.spec.memory)
    return node._replace(spec=spec, used=others, used_cpus=0, used_memory=0)
