"""Slurm's command line: what it is told, and what it answers."""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from clearway.model.errors import EngineError
from clearway.model.fleet import NodeSpec
from clearway.model.values import SECOND_US

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TIMEOUT_S = 60.0
PENDING, CANCELLED, FAILED, OUT_OF_MEMORY = "PENDING", "CANCELLED", "FAILED", "OUT_OF_MEMORY"
ENDED = (
    "COMPLETED", CANCELLED, FAILED, "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", OUT_OF_MEMORY, "DEADLINE",
)  # fmt: skip
"""States of a job that is over."""
MEBI, MILLI = 2**20, 1000
DOWN = ("DOWN", "FAIL", "POWERED_DOWN", "POWERING_DOWN", "NOT_RESPONDING", "UNKNOWN", "REBOOT")
TAINT = "slurm/closed"
"""On nodes that take no jobs of Slurm: drained ones, and those that are kept for others."""
CLOSED = ("DRAIN", "RESERVED", "MAINT", "PLANNED")
PASSING = re.compile(
    r"timed out|contact|temporar|connect|socket|receive|send|zero bytes|communicat|try again|in progress|not respond",
    re.IGNORECASE,
)
"""What Slurm's commands say when it is not the job that is at fault: asked again, they may do it."""
MARK = "clearway"
"""What each line of a list begins with that was asked for here: a name may be of several lines, and hold anything."""
_KEPT = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "SLURM_CONF")


class Node(NamedTuple):
    """A node as Slurm tells of it: its words, what of it others may not take, and how it is."""

    spec: NodeSpec
    address: str
    used: frozenset[int]
    """Devices that some job holds, ours or a foreign one; where they have no numbers, the first ones, so many."""
    used_cpus: int
    used_memory: int
    up: bool
    types: tuple[str, ...] = ()
    """The type of each device by number, where each has one of its own."""
    partition: str = ""
    limit_us: int | None = None
    """What the partition gives a job at most, None for no limit."""

    def closed(self) -> Node:
        """Return it as one that takes no tasks."""
        return self._replace(spec=replace(self.spec, taints=(TAINT,)))


class Partition(NamedTuple):
    """A partition, as one of its nodes is listed in it."""

    name: str
    is_default: bool
    is_up: bool
    limit_us: int | None


class Job(NamedTuple):
    """A batch job or a step of this engine."""

    number: str
    state: str

    @property
    def rank(self) -> int:
        """How lively it is: one that is over, one that waits, one that runs."""
        return 0 if self.state in ENDED else 1 + self.holds

    @property
    def holds(self) -> bool:
        """Whether Slurm holds anything for it."""
        return self.state not in ENDED and self.state != PENDING


def environment() -> dict[str, str]:
    """Return what Slurm's commands, and by them the tasks, find of this process's environment."""
    return {name: os.environ[name] for name in _KEPT if name in os.environ}


def run(*command: str, given: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command of Slurm. Raises EngineError where it does not come to an end."""
    try:
        return subprocess.run(
            command, input=given, capture_output=True, encoding="utf-8", errors="replace", timeout=TIMEOUT_S,
            check=False, env=environment(), cwd="/",
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EngineError(f"the command {command[0]} of Slurm does not work: {error}") from error


def slurm(*command: str) -> str:
    """Run a command of Slurm and return what it prints. Raises EngineError with what it says where it fails."""
    done = run(*command)
    if done.returncode:
        raise EngineError(f"{command[0]}: {said_by(done)}")
    return done.stdout


def said_by(done: subprocess.CompletedProcess[str]) -> str:
    """Return in one line what a command says that failed."""
    lines = [re.sub(r"^\w+: (error|fatal): ", "", line.strip()) for line in done.stderr.splitlines()]
    return "; ".join(filter(None, lines)) or f"it ended with {done.returncode} and said nothing"


def listed(printed: str, columns: int) -> list[list[str]]:
    """Read a list whose format begins with `MARK|`. Raises EngineError for what is none."""
    before, *lines = re.split(rf"^{MARK}\|", printed, flags=re.MULTILINE)
    found = [line.rstrip("\n").split("|", columns - 1) for line in lines]
    if before.strip() or any(len(row) != columns for row in found):
        raise EngineError(f"Slurm does not answer as it should: {printed[:200]!r}")
    return found


def jobs_of(prefix: str) -> dict[str, Job]:
    """Return this engine's jobs that Slurm still knows, by what their names end with; of several the liveliest one."""
    found: dict[str, Job] = {}
    printed = slurm("squeue", "--noheader", "--me", "--states=all", f"--format={MARK}|%i|%T|%j")
    for number, state, name in listed(printed, 3):
        key, job = name.removeprefix(prefix), Job(number, state)
        if key != name and (key not in found or found[key].rank < job.rank):
            found[key] = job
    return found


def nodes_of(partition: str) -> list[Node]:
    """Return the nodes of a partition ("": of all of them), by name, each with the partition that jobs there go to."""
    chosen = ("--partition", partition) if partition else ()
    places: dict[str, Partition] = {}
    for name, place, state, limit in listed(slurm("sinfo", "-h", "-N", f"--format={MARK}|%N|%P|%a|%l", *chosen), 4):
        one = Partition(place.rstrip("*"), place.endswith("*"), state == "up", _limit_us(limit))
        places[name] = max(places.get(name, one), one, key=lambda each: (each.is_up, each.is_default))
    lines = slurm("scontrol", "show", "node", "-d", "--oneliner").splitlines()
    found = [read_node(line, places) for line in lines if line.strip()]
    return sorted((node for node in found if node is not None), key=lambda node: node.spec.name)


def _limit_us(text: str) -> int | None:
    """Read `1-02:30:00`, `30:00` or `infinite`."""
    days, _, clock = text.rpartition("-")
    parts = clock.split(":")
    if not all(part.isdigit() for part in (*parts, days or "0")):
        return None
    hours, minutes, seconds = [0] * (3 - len(parts)) + [int(part) for part in parts]
    return (((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds) * SECOND_US


def read_node(line: str, places: Mapping[str, Partition]) -> Node | None:
    """Read a line of `scontrol show node -d --oneliner`, None for a node that is not in `places`."""
    said: dict[str, str] = {}
    for word, value in re.findall(r"(\w+)=(\S*)", line):
        said.setdefault(word, value)  # what people write, as reasons and comments, comes last
    try:
        place = places.get(said["NodeName"])
        return None if place is None else _node(said, place)
    except (KeyError, ValueError) as error:
        raise EngineError(f"Slurm does not tell of its nodes as it should: {line[:200]!r}") from error


def _node(said: Mapping[str, str], place: Partition) -> Node:
    kinds = _gres(said.get("Gres", ""))
    gpus = sum(count for _, count in kinds)
    singles = tuple(kind for kind, count in kinds if count == 1 and kind)
    own = singles if len(set(singles)) == gpus else ()
    models = {kind for kind, _ in kinds}
    state = said["State"].replace("*", "+NOT_RESPONDING")
    is_open = place.is_up and not _any(CLOSED, state)
    used = said.get("GresUsed", "")
    spec = NodeSpec(
        said["NodeName"], cpus=int(said.get("CPUEfctv", said["CPUTot"])) * MILLI, gpus=gpus,
        memory=(int(said["RealMemory"]) - int(said.get("MemSpecLimit", 0))) * MEBI,
        gpu_model=models.pop() if len(models) == 1 and not own else "", taints=() if is_open else (TAINT,),
        labels=tuple((f"slurm/{name}", "true") for name in _features(said.get("ActiveFeatures", ""))),
    )  # fmt: skip
    return Node(
        spec, said.get("NodeAddr", spec.name), indices(used) or frozenset(range(sum(many for _, many in _gres(used)))),
        int(said["CPUAlloc"]) * MILLI, int(said["AllocMem"]) * MEBI, not _any(DOWN, state), own, place.name,
        place.limit_us,
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
    for ranges in re.findall(r"gpu[^(,]*\(IDX:([^)]*)\)", text.replace("(null)", "")):
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
