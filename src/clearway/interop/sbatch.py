"""Batch scripts of Slurm (`#SBATCH` lines) as the words of a job. What has no counterpart is named."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

from clearway.interop import slurm_values as sv
from clearway.interop.katib import Turned
from clearway.model.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

MARK = re.compile(r"^#SBATCH\s+(.*)$")
SHORT = {
    "J": "job-name", "p": "partition", "t": "time", "N": "nodes", "n": "ntasks", "c": "cpus-per-task", "G": "gpus",
    "D": "chdir", "a": "array", "A": "account", "q": "qos", "o": "output", "e": "error", "C": "constraint",
    "d": "dependency", "w": "nodelist", "x": "exclude", "H": "hold",
}  # fmt: skip
OUTPUT = frozenset({"output", "error", "open-mode"})
"""Where it prints: Clearway keeps that by itself."""
FLAGS = frozenset({"exclusive", "requeue", "no-requeue", "hold", "overcommit", "contiguous", "parsable", "wait"})
SECOND_US = 1_000_000


def read_script(text: str, name: str) -> Turned:
    """Return a batch script as a job, called `name` where it says none. InputError: it is none, or a value is odd."""
    if not text.startswith("#!"):
        raise InputError("script", text[:40], "a batch script, which begins with #!")
    options, missing = _options(text)
    words: dict[str, Any] = {"name": name, "run": ["/bin/sh", "-c", text]}
    shell = text[2:].partition("\n")[0].split()
    words["run"] = [*shell, "-c", text] if shell and shell[-1].endswith("sh") else words["run"]
    for option, value in options.items():
        if option in OUTPUT:
            continue
        turn = _TURNS.get(option)
        told = f"--{option}" if turn is None else turn(words, value)
        missing += [told] if told else []
    _tasks(words, options, missing)
    missing += [f"the script uses {name}" for name in sorted(set(re.findall(r"\bSLURM_\w+", text)))]
    return Turned(words, missing)


def _options(text: str) -> tuple[dict[str, str], list[str]]:
    """Return the options of the lines before the first command, and what is said that is no option."""
    found: dict[str, str] = {}
    odd: list[str] = []
    for line in text.splitlines()[1:]:
        match = MARK.match(line)
        if match:
            parts = shlex.split(match[1], comments=True)
            _take(parts, found, odd)
        elif line.strip() and not line.startswith("#"):
            break
    return found, odd


def _take(parts: list[str], found: dict[str, str], odd: list[str]) -> None:
    while parts:
        part = parts.pop(0)
        if part.startswith("--"):
            name, equals, value = part[2:].partition("=")
        elif part.startswith("-") and part[1:2] in SHORT:
            name, value = SHORT[part[1]], part[2:].removeprefix("=")
            equals = value
        else:
            odd.append(part)
            continue
        if not equals and name not in FLAGS and parts and not parts[0].startswith("-"):
            value = parts.pop(0)
        found[name] = value


def _put(word: str, read: Callable[[str], Any] = str) -> Callable[[dict[str, Any], str], str]:
    def turn(words: dict[str, Any], value: str) -> str:
        words[word] = read(value)
        return ""

    return turn


def _whole(value: str) -> int:
    if not value.isascii() or not value.isdigit():
        raise InputError("#SBATCH", value, "a whole number")
    return int(value)


def _time(words: dict[str, Any], value: str) -> str:
    limit_us = sv.limit_us("time", value if value.count("-") == 0 else _days(value))
    if limit_us is not None:
        words["time_limit"] = f"{limit_us // SECOND_US}s"
    return ""


def _days(value: str) -> str:
    """Return `D-H` and `D-H:M` as `D-H:M:S`."""
    return value + ":00" * (2 - value.count(":"))


def _memory(words: dict[str, Any], value: str) -> str:
    found, _ = sv.size("mem", value)
    if found:
        words["memory"] = found
        return ""
    return "--mem=0, all memory of a node"


def _gpus(words: dict[str, Any], value: str) -> str:
    count, models = sv.gres("gres", value if value.startswith(("gpu", "gres/gpu")) else f"gpu:{value}")
    if count:
        words["gpus"] = count
        words |= {"gpu_model": list(models)} if models else {}
        return ""
    return f"--gres={value}"


def _array(words: dict[str, Any], value: str) -> str:
    indices, _, many = value.partition("%")
    words["array"] = indices
    return f"--array %{many}: how many run at once" if many else ""


def _constraint(words: dict[str, Any], value: str) -> str:
    if re.fullmatch(r"\w+(?:&\w+)*", value):
        words["nodes"] = {f"slurm/{one}": "true" for one in value.split("&")}
        return ""
    return f"--constraint={value}"


_TURNS: dict[str, Callable[[dict[str, Any], str], str]] = {
    "job-name": _put("name"),
    "partition": _put("queue"),
    "chdir": _put("workdir"),
    "cpus-per-task": _put("cpus", _whole),
    "time": _time,
    "mem": _memory,
    "gres": _gpus,
    "gpus-per-node": _gpus,
    "gpus-per-task": _gpus,
    "gpus": _gpus,
    "array": _array,
    "constraint": _constraint,
    "nodes": lambda _words, _value: "",
    "ntasks": lambda _words, _value: "",
    "ntasks-per-node": lambda _words, _value: "",
}
"""What each option becomes, which may be a gap. Those of tasks are looked at together."""


def _tasks(words: dict[str, Any], options: dict[str, str], missing: list[str]) -> None:
    """Make one task of what is on a node: a script of Slurm's runs on the first one, and starts the rest itself."""
    nodes = options.get("nodes", "1")
    least, _, most = nodes.partition("-")
    count = _whole(least or "1")
    if count > 1:
        words |= {"tasks": count, "one_per_node": True}
        missing.append(
            "the script runs on each node, in Slurm on the first alone: leave `srun` out, RANK says which it is"
        )
    if most and most != least:
        missing.append(f"--nodes={nodes}: {count} taken")
    each = options.get("ntasks-per-node", "")
    many = _whole(each) if each else -(-_whole(options.get("ntasks", "1")) // count)
    if many > 1:
        words["cpus"] = words.get("cpus", 1) * many
        missing.append(
            f"{many} processes on a node: they share one task with the CPUs of all, start them in the script"
        )
    if "gpus" in options and count > 1:
        words["gpus"] = max(1, words["gpus"] // count)
