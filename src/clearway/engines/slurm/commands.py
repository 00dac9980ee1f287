"""Slurm's command line: what it is told, and what it answers."""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING, NamedTuple

from clearway.model.errors import EngineError
from clearway.model.fleet import NodeSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

TIMEOUT_S = 60.0
PENDING = "PENDING"
ENDED = (
    "COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "OUT_OF_MEMORY", "DEADLINE",
)  # fmt: skip
"""States of a job that is over."""
MEBI, MILLI = 2**20, 1000
DOWN = ("DOWN", "FAIL", "POWERED_DOWN", "POWERING_DOWN", "NOT_RESPONDING", "UNKNOWN", "REBOOT")
TAINT = "slurm/closed"
"""On nodes that take no jobs of Slurm: drained ones, and those that are kept for others."""
CLOSED = ("DRAIN", "RESERVED", "MAINT", "PLANNED")
_KEPT = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "SLURM_CONF")


class Node(NamedTuple):
    """A node as Slurm tells of it: its words, what of it others may not take, and how it is."""

    spec: NodeSpec
    address: str
    used: frozenset[int]
    """Devices that some job holds, ours or a foreign one."""
    used_cpus: int
    used_memory: int
    up: bool
    types: tuple[str, ...] = ()
    """The type of each device by number, where each has one of its own."""


class Job(NamedTuple):
    """A batch job or a step of this engine: number, state, and what Slurm holds for it where."""

    number: str
    state: str
    cpus: int = 0
    node: str = ""

    @property
    def holds(self) -> bool:
        """Whether Slurm holds anything for it."""
        return self.state not in ENDED and self.state != PENDING


def environment() -> dict[str, str]:
    """Return what Slurm's commands, and by them the tasks, find of this process's environment."""
    return {name: os.environ[name] for name in _KEPT if name in os.environ}


def slurm(*command: str, given: str = "") -> str:
    """Run a command of Slurm and return what it prints. Raises EngineError with what it says where it fails."""
    try:
        done = subprocess.run(
            command, input=given, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, env=environment()
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EngineError(f"the command {command[0]} of Slurm does not work: {error}") from error
    if done.returncode:
        said = (done.stderr.strip() or f"code {done.returncode}").splitlines()[-1]
        raise EngineError(f"{command[0]}: {said}")
    return done.stdout


def jobs_of(prefix: str) -> dict[str, Job]:
    """Return this engine's jobs that Slurm still knows, by what their names end with; of several the one not over."""
    found: dict[str, Job] = {}
    for line in slurm("squeue", "--noheader", "--me", "--states=all", "--format=%i|%T|%C|%N|%j").splitlines():
        number, state, cpus, node, name = line.split("|", 4)
        key = name.removeprefix(prefix)
        if key != name and (key not in found or found[key].state in ENDED):
            found[key] = Job(number, state, int(cpus), node)
    return found


def nodes_of(partition: str) -> list[Node]:
    """Return the nodes of a partition ("": of all of them), by name."""
    chosen = ("--partition", partition) if partition else ()
    names = set(slurm("sinfo", "--noheader", "--Node", "--format=%N", *chosen).split())
    found = [read_node(line) for line in slurm("scontrol", "show", "node", "-d", "--oneliner").splitlines() if line]
    return sorted((node for node in found if node.spec.name in names), key=lambda node: node.spec.name)


def read_node(line: str) -> Node:
    """Read a line of `scontrol show node -d --oneliner`."""
    said = dict(re.findall(r"(\w+)=(\S*)", line))
    kinds = _gres(said.get("Gres", ""))
    gpus = sum(count for _, count in kinds)
    singles = tuple(kind for kind, count in kinds if count == 1 and kind)
    own = singles if len(set(singles)) == gpus else ()
    models = {kind for kind, _ in kinds}
    state = said["State"].replace("*", "+NOT_RESPONDING")
    is_open = not _any(CLOSED, state)
    spec = NodeSpec(
        said["NodeName"], cpus=int(said["CPUTot"]) * MILLI, memory=int(said["RealMemory"]) * MEBI, gpus=gpus,
        gpu_model=models.pop() if len(models) == 1 and not own else "", taints=() if is_open else (TAINT,),
        labels=tuple((f"slurm/{name}", "true") for name in _features(said.get("ActiveFeatures", ""))),
    )  # fmt: skip
    return Node(
        spec, said.get("NodeAddr", spec.name), indices(said.get("GresUsed", "")), int(said["CPUAlloc"]) * MILLI,
        int(said["AllocMem"]) * MEBI, not _any(DOWN, state), own,
    )  # fmt: skip


def _any(words: Sequence[str], state: str) -> bool:
    return any(part.startswith(tuple(words)) for part in state.split("+"))


def _features(text: str) -> list[str]:
    return [] if text == "(null)" else [name for name in text.split(",") if name]


def _gres(text: str) -> list[tuple[str, int]]:
    """Read `gpu:a100:4(S:0-1),gpu:2`: types and counts of GPUs."""
    bare = re.sub(r"\([^)]*\)", "", text)
    parts = [part.split(":") for part in bare.split(",") if part.split(":")[0] == "gpu"]
    return [(part[1] if len(part) > 2 else "", int(part[-1]) if len(part) > 1 else 1) for part in parts]  # noqa: PLR2004


def indices(text: str) -> frozenset[int]:
    """Read the device numbers of `gpu:a100:3(IDX:0-1,3)`."""
    found: set[int] = set()
    for ranges in re.findall(r"gpu[^(,]*\(IDX:([^)]*)\)", text):
        for part in ranges.split(","):
            first, _, last = part.partition("-")
            if first.isdigit():
                found |= set(range(int(first), int(last or first) + 1))
    return frozenset(found)


def gres_words(node: Node, devices: Sequence[int]) -> tuple[str, ...]:
    """Return the words of sbatch that ask for these devices: by type where each device has its own, else so many."""
    if not devices:
        return ()
    if node.types:
        return ("--gres=" + ",".join(f"gpu:{node.types[device]}:1" for device in devices),)
    return (f"--gres=gpu:{len(devices)}",)
