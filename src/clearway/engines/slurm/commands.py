"""Slurm's command line: what it is told, and what it answers."""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING, NamedTuple

from clearway.model.errors import EngineError
from clearway.model.fleet import NodeSpec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TIMEOUT_S = 60.0
MEBI, MILLI = 2**20, 1000
DOWN = ("DOWN", "FAIL", "POWERED_DOWN", "POWERING_DOWN", "NOT_RESPONDING", "UNKNOWN", "REBOOT")
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
    open: bool
    """Whether it takes jobs."""
    types: tuple[str, ...] = ()
    """The type of each device by number, where each has one of its own."""


class Job(NamedTuple):
    """A batch job of this engine: number, state, and why it waits."""

    number: str
    state: str
    reason: str


def slurm(*command: str, given: str = "") -> str:
    """Run a command of Slurm and return what it prints. Raises EngineError with what it says where it fails."""
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    try:
        done = subprocess.run(
            command, input=given, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, env=environment
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EngineError(f"the command {command[0]} of Slurm does not work: {error}") from error
    if done.returncode:
        said = (done.stderr.strip() or f"code {done.returncode}").splitlines()[-1]
        raise EngineError(f"{command[0]}: {said}")
    return done.stdout


def jobs_of(prefix: str) -> dict[str, Job]:
    """Return this engine's jobs that Slurm still knows as waiting or running, by what their names end with."""
    found = {}
    for line in slurm("squeue", "--noheader", "--me", "--format=%i|%T|%j|%r").splitlines():
        number, state, name, reason = line.split("|", 3)
        if name.startswith(prefix):
            found[name.removeprefix(prefix)] = Job(number, state, reason)
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
    spec = NodeSpec(
        said["NodeName"], cpus=int(said["CPUTot"]) * MILLI, memory=int(said["RealMemory"]) * MEBI, gpus=gpus,
        gpu_model=models.pop() if len(models) == 1 and not own else "",
        labels=tuple((f"slurm/{name}", "true") for name in _features(said.get("ActiveFeatures", ""))),
    )  # fmt: skip
    state = said["State"].replace("*", "+NOT_RESPONDING")
    return Node(
        spec, said.get("NodeAddr", spec.name), _indices(said.get("GresUsed", "")), int(said["CPUAlloc"]) * MILLI,
        int(said["AllocMem"]) * MEBI, not _any(DOWN, state), not _any(CLOSED, state), own,
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


def _indices(text: str) -> frozenset[int]:
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


def submit(name: str, node: str, words: Sequence[str], script: str, options: Mapping[str, str]) -> str:
    """Submit a batch job of one task on one node, and return its number."""
    chosen = [f"--{key}={value}" for key, value in options.items() if value]
    return slurm(
        "sbatch", "--parsable", f"--job-name={name}", f"--comment={name}", f"--nodelist={node}", "--nodes=1",
        "--ntasks=1", "--no-requeue", "--output=/dev/null", "--input=/dev/null", "--export=ALL", *chosen, *words,
        given=script,
    ).strip().partition(";")[0]  # fmt: skip
