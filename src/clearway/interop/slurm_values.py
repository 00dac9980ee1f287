"""Values as Slurm's accounting writes them: durations, limits, states, exit codes, amounts of resources."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import NamedTuple

from clearway.model.errors import InputError
from clearway.model.values import SECOND_US

DURATION = re.compile(r"(?:([0-9]{1,6})-)?(?:([0-9]{1,9}):)?([0-9]{1,9}):([0-9]{1,2})(?:\.([0-9]{1,6}))?")
WHOLE = re.compile(r"[0-9]{1,9}")
NO_LIMIT = frozenset({"unlimited", "infinite", "partition_limit", "not_set", "invalid", "", "unknown"})
SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?)([KMGTPE]?)(?:i?B)?([cn]?)", re.IGNORECASE)
POWERS = {"": 2, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}  # a number alone is in megabytes
KIBI = 1024
COUNT = re.compile(r"([0-9]{1,12})([KMGT]?)")
EXIT = re.compile(r"([0-9]{1,3}):([0-9]{1,3})")
MAX_EXIT, SIGNALLED = 255, 128

OPEN = frozenset({
    "PENDING", "RUNNING", "SUSPENDED", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD",
    "STOPPED", "CONFIGURING", "COMPLETING", "SIGNALING", "STAGE_OUT", "RESIZING",
})  # fmt: skip
"""A job whose last row says so is not over."""
OWN_FAILURES = frozenset({"FAILED", "OUT_OF_MEMORY"})
NOT_ITS_OWN = frozenset({"PREEMPTED", "NODE_FAIL", "BOOT_FAIL", "REQUEUED", "REQUEUE_FED", "RESIZING", "LAUNCH_FAILED"})
STOPPED = frozenset({"CANCELLED", "DEADLINE"})
MOVED = "REVOKED"
STATES = {*OPEN, *OWN_FAILURES, *NOT_ITS_OWN, *STOPPED, MOVED, "COMPLETED", "TIMEOUT"}


def state(text: str) -> str:
    """Return a state without who caused it: `CANCELLED by 1001` is CANCELLED."""
    found = (text.split() or [""])[0].rstrip("+").upper()
    if found not in STATES:
        raise InputError("State", text, "a state of Slurm, as sacct writes it")
    return found


def duration_us(field: str, text: str) -> int:
    """Return `[days-][hours:]minutes:seconds`."""
    match = DURATION.fullmatch(text.strip())
    if match is None:
        raise InputError(field, text, "a duration such as 1-02:03:04 or 02:03:04")
    days, hours, minutes, seconds, part = match.groups(default="0")
    whole = ((int(days) * 24 + int(hours)) * 60 + int(minutes)) * 60 + int(seconds)
    return whole * SECOND_US + int(part.ljust(6, "0"))


def raw_us(field: str, text: str) -> int:
    """Return a number of seconds."""
    if not WHOLE.fullmatch(text):
        raise InputError(field, text, "a whole number of seconds")
    return int(text) * SECOND_US


def limit_us(field: str, text: str) -> int | None:
    """Return a time limit; None for none, or for that of the partition. A number alone is in minutes."""
    text = text.strip()
    if text.lower() in NO_LIMIT:
        return None
    return int(text) * 60 * SECOND_US if WHOLE.fullmatch(text) else duration_us(field, text)


def exit_code(text: str) -> int:
    """Return how an own failure ended: `2:0` is 2, `0:9` was killed by a signal."""
    match = EXIT.fullmatch(text.strip())
    code, signal = (int(match[1]), int(match[2])) if match else (0, 0)
    return min(code or (SIGNALLED + signal if signal else 1), MAX_EXIT)


def size(field: str, text: str) -> tuple[int, str]:
    """Return bytes, and per what: `c` a CPU, `n` a node, nothing for the job."""
    match = SIZE.fullmatch(text.strip())
    if match is None:
        raise InputError(field, text, "a size such as 64G, 4Gc (a CPU) or 4Gn (a node)")
    return math.ceil(Fraction(match[1]) * KIBI ** POWERS[match[2].upper()]), match[3].lower()


class Amounts(NamedTuple):
    """What a job held or asked for, all its nodes together. `others` are kinds that have no word here."""

    nodes: int = 0
    cpus: int = 0
    memory: int = 0
    gpus: int = 0
    models: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


def amounts(field: str, text: str) -> Amounts:
    """Read TRES, `billing=8,cpu=8,gres/gpu:a100=4,gres/gpu=4,mem=64G,node=1`."""
    found: dict[str, int] = {}
    memory, models, others = 0, dict[str, int](), list[str]()
    for part in filter(None, text.strip().split(",")):
        kind, equals, value = part.partition("=")
        if not equals:
            raise InputError(field, text, "resources such as cpu=8,gres/gpu=4,mem=64G,node=1")
        if kind == "mem":
            memory = size(field, value)[0]
        elif kind in ("cpu", "node", "gres/gpu"):
            found[kind] = _count(field, value)
        elif kind.startswith("gres/gpu:"):
            models[kind.removeprefix("gres/gpu:")] = _count(field, value)
        elif kind.startswith(("gres/", "license/")) and kind not in ("gres/gpumem", "gres/gpuutil"):
            others.append(kind)
    gpus = max(found.get("gres/gpu", 0), sum(models.values()))
    named = tuple(sorted(model for model, n in models.items() if n))
    return Amounts(found.get("node", 0), found.get("cpu", 0), memory, gpus, named, tuple(others))


def gres(field: str, text: str) -> tuple[int, tuple[str, ...]]:
    """Read an older GRES, `gpu:a100:4` or `gpu:4` a node: GPUs and their model."""
    for part in filter(None, text.strip().split(",")):
        words = part.partition("(")[0].split(":")
        if words[0] in ("gpu", "gres/gpu"):
            count = _count(field, words[-1]) if words[-1][:1].isdigit() else 1
            return count, tuple(w for w in words[1:] if not w[:1].isdigit())
    return 0, ()


def _count(field: str, text: str) -> int:
    match = COUNT.fullmatch(text)
    if match is None:
        raise InputError(field, text, "a whole number")
    return int(match[1]) * KIBI ** "KMGT".find(match[2]) * KIBI if match[2] else int(match[1])
