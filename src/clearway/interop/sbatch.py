"""Batch scripts of Slurm (`#SBATCH` lines) as the words of a job. What has no counterpart is named."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

from clearway.interop import sbatch_script as script
from clearway.interop import slurm_values as sv
from clearway.interop.katib import Turned
from clearway.model.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

MARK = re.compile(r"^#SBATCH\s+(.*)$")
SHORT = {
    "J": "job-name", "p": "partition", "t": "time", "N": "nodes", "n": "ntasks", "c": "cpus-per-task", "G": "gpus",
    "D": "chdir", "a": "array", "A": "account", "q": "qos", "o": "output", "e": "error", "C": "constraint",
    "d": "dependency", "w": "nodelist", "x": "exclude", "H": "hold", "b": "begin", "i": "input", "L": "licenses",
    "m": "distribution", "M": "clusters", "B": "extra-node-info", "s": "oversubscribe", "k": "no-kill",
    "O": "overcommit", "W": "wait", "Q": "quiet", "v": "verbose",
}  # fmt: skip
FLAGS = frozenset({
    "exclusive", "requeue", "no-requeue", "hold", "overcommit", "contiguous", "parsable", "wait", "oversubscribe",
    "no-kill", "quiet", "verbose", "spread-job", "use-min-nodes", "reboot", "get-user-env", "kill-on-invalid-dep",
    "ignore-pbs", "test-only",
})  # fmt: skip
"""Options without a value, or whose value stands behind a `=`."""
NOTHING = frozenset({"output", "error", "open-mode", "requeue", "parsable", "quiet", "verbose", "get-user-env"})
"""Where it prints, which Clearway keeps by itself; and what Clearway does without being told."""
SECOND_US, DAY_PARTS = 1_000_000, 2
TOGETHER = ("nodes", "ntasks", "ntasks-per-node", "cpus-per-task", "cpus-per-gpu", "mem", "mem-per-cpu", "mem-per-gpu",
            "gres", "gpus", "gpus-per-node", "gpus-per-task")  # fmt: skip
"""What is looked at together: it depends on the number of processes on a node."""
SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGQUIT")
GPU_NAMES = ("gpu", "gres/gpu")


def read_script(text: str, name: str) -> Turned:
    """Return a batch script as a job, called `name` where it says none. InputError: it is none, or a value is odd."""
    if not text.startswith("#!"):
        raise InputError("script", text[:40], "a batch script, which begins with #!")
    options, missing = _options(text)
    words: dict[str, Any] = {"name": options.get("job-name") or name}
    for option, value in options.items():
        if option in NOTHING or option in TOGETHER:
            continue
        turn = _TURNS.get(option)
        told = f"--{option}" + (f"={value}" if value else "") if turn is None else turn(words, value)
        missing += [told] if told else []
    shape = _tasks(words, options, missing, by_srun=script.calls_srun(text) and not script.parts_by_srun(text))
    words["run"], holes = script.run_of(text, words, shape)
    return Turned(words, missing + holes)


def _options(text: str) -> tuple[dict[str, str], list[str]]:
    """Return the options of the lines before the first command, and what is said that is no option."""
    found: dict[str, str] = {}
    odd: list[str] = []
    for line in text.splitlines()[1:]:
        match = MARK.match(line)
        if match:
            parts = _split(match[1])
            if parts in (["hetjob"], ["packjob"]):
                odd.append("#SBATCH hetjob: only its first part is taken, say the others as `roles`")
                break
            _take(parts, found, odd)
        elif line.strip() and not line.startswith("#"):
            break
    return found, odd


def _split(said: str) -> list[str]:
    try:
        return shlex.split(said, comments=True)
    except ValueError as error:
        raise InputError("#SBATCH", said, f"words and whole quotes ({error})") from error


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


# --- options that stand for themselves -----------------------------------------------------------


def _put(word: str) -> Callable[[dict[str, Any], str], str]:
    def turn(words: dict[str, Any], value: str) -> str:
        words[word] = value
        return ""

    return turn


def _time(words: dict[str, Any], value: str) -> str:
    limit_us = sv.limit_us("time", value if value.count("-") == 0 else _days(value))
    if limit_us is not None:
        words["time_limit"] = f"{limit_us // SECOND_US}s"
    return ""


def _days(value: str) -> str:
    """Return `D-H` and `D-H:M` as `D-H:M:S`."""
    return value + ":00" * (DAY_PARTS - value.count(":"))


def _array(words: dict[str, Any], value: str) -> str:
    indices, mark, many = value.partition("%")
    words["array"] = (f"{indices}-{indices}" if indices.isdigit() else indices) + mark + many
    return ""


def _partition(words: dict[str, Any], value: str) -> str:
    words["queue"], _, more = value.partition(",")
    return f"--partition={value}: the first one is taken" if more else ""


def _constraint(words: dict[str, Any], value: str) -> str:
    if re.fullmatch(r"\w+(?:&\w+)*", value):
        words["nodes"] = {**words.get("nodes", {}), **{f"slurm/{one}": "true" for one in value.split("&")}}
        return ""
    return f"--constraint={value}"


def _nodelist(words: dict[str, Any], value: str) -> str:
    if re.fullmatch(r"[\w.-]+", value):
        words["nodes"] = {**words.get("nodes", {}), "name": value}
        return ""
    return f"--nodelist={value}"


def _signal(words: dict[str, Any], value: str) -> str:
    match = re.fullmatch(r"(?:[BR]{1,2}:)?(?:SIG)?([A-Z][A-Z0-9]*|[0-9]+)(?:@([0-9]+))?", value)
    if match is None or f"SIG{match[1]}" not in SIGNALS:
        return f"--signal={value}"
    words["checkpoint"] = {"signal": f"SIG{match[1]}", "grace": f"{match[2] or 60}s"}
    return ""


def _export(words: dict[str, Any], value: str) -> str:
    pairs = [part.partition("=") for part in value.split(",")]
    said = {name: given for name, equals, given in pairs if equals}
    words |= {"env": said} if said else {}
    named = [name for name, equals, _ in pairs if not equals and name not in ("ALL", "NONE", "NIL", "")]
    return f"--export of {', '.join(named)}: say them in `env`" if named else ""


def _disk(words: dict[str, Any], value: str) -> str:
    words["disk"], _ = sv.size("tmp", value)
    return ""


def _once(words: dict[str, Any], _value: str) -> str:
    words["max_losses"] = 0
    return ""


_TURNS: dict[str, Callable[[dict[str, Any], str], str]] = {
    "job-name": lambda _words, _value: "",
    "partition": _partition,
    "chdir": _put("workdir"),
    "time": _time,
    "array": _array,
    "constraint": _constraint,
    "nodelist": _nodelist,
    "signal": _signal,
    "export": _export,
    "tmp": _disk,
    "no-requeue": _once,
    "exclusive": lambda _words, value: f"--exclusive{'=' * bool(value)}{value}: ask for all that its nodes have",
    "dependency": lambda _words, value: f"--dependency={value}: name those jobs in `after`",
}
"""What each option becomes, which may be a gap."""


# --- tasks, and what each has --------------------------------------------------------------------


class _On(NamedTuple):
    """What of its options a script has on one node, and for how many processes there."""

    nodes: int
    processes: int
    gpus: int
    models: tuple[str, ...]


def _tasks(words: dict[str, Any], options: dict[str, str], missing: list[str], *, by_srun: bool) -> script.Shape:
    """Make tasks of nodes and processes.

    A script of Slurm's runs on the first node, and starts the rest by `srun`: here it runs in each task. Where `srun`
    starts several processes on a node each is a task, else what is on a node is one.
    """
    on = _on_node(options, missing)
    split = by_srun and on.processes > 1 and on.gpus % on.processes == 0
    share = on.processes if split else 1
    gpus, processes = on.gpus // share, on.processes // share
    tasks = on.nodes * share
    if split and "ntasks" in options and "ntasks-per-node" not in options:
        tasks = _whole(options["ntasks"])
    cpus = _whole(options.get("cpus-per-task", "1")) * processes
    if "cpus-per-gpu" in options:
        cpus = _whole(options["cpus-per-gpu"]) * gpus
    if tasks > 1:
        words["tasks"] = tasks
    if on.nodes > 1 and not split:
        words["one_per_node"] = True
    if {"cpus-per-task", "cpus-per-gpu"} & options.keys() or processes > 1:
        words["cpus"] = cpus
    if gpus:
        words |= {"gpus": gpus, **({"gpu_model": list(on.models)} if on.models else {})}
    _memory(words, options, (share, cpus, gpus), missing)
    if processes > 1:
        missing.append(
            f"{processes} processes on a node: they share one task with the CPUs of all, start them in the script"
        )
    if split and on.nodes > 1:
        missing.append(f"{on.processes} tasks on each of {on.nodes} nodes: they may be spread otherwise")
    return script.Shape(tasks, on.nodes, on.processes, cpus, gpus)


def _on_node(options: dict[str, str], missing: list[str]) -> _On:
    nodes = options.get("nodes", "1")
    least, _, most = nodes.partition("-")
    count = _whole(least or "1")
    if most and most != least:
        missing.append(f"--nodes={nodes}: {count} taken")
    each = options.get("ntasks-per-node", "")
    many = _whole(each) if each else -(-_whole(options.get("ntasks", "1")) // count)
    if each and "nodes" not in options and "ntasks" in options:
        count = -(-_whole(options["ntasks"]) // many)
    gpus, models = 0, tuple[str, ...]()
    for option, by in (("gres", 1), ("gpus-per-node", 1), ("gpus-per-task", many), ("gpus", 0)):
        if option in options:
            found, of = _gpus(option, options[option], missing)
            gpus, models = (found * by if by else -(-found // count)) or gpus, of or models
    return _On(max(count, 1), max(many, 1), gpus, models)


def _gpus(option: str, value: str, missing: list[str]) -> tuple[int, tuple[str, ...]]:
    """Read `gpu:a100:2,shard:1`, `a100:2` or `2`: GPUs and their model. What is no GPU is named."""
    parts = value.split(",") if option == "gres" else [f"gpu:{part}" for part in value.split(",")]
    of_gpus = [part for part in parts if part.partition(":")[0] in GPU_NAMES]
    missing += [f"--{option}={part}" for part in parts if part not in of_gpus and part not in ("none", "")]
    if len(of_gpus) > 1:
        missing.append(f"--{option}={value}: GPUs of several models, the first is taken")
    return sv.gres(option, of_gpus[0]) if of_gpus else (0, ())


def _memory(words: dict[str, Any], options: dict[str, str], task: tuple[int, int, int], missing: list[str]) -> None:
    share, cpus, gpus = task
    for option, times in (("mem-per-cpu", cpus), ("mem-per-gpu", gpus), ("mem", 1)):
        if option in options:
            found, _ = sv.size(option, options[option])
            if found:
                words["memory"] = found * times // (share if option == "mem" else 1)
            else:
                missing.append(f"--{option}=0, all memory of a node")


def _whole(value: str) -> int:
    if not value.isascii() or not value.isdigit():
        raise InputError("#SBATCH", value, "a whole number")
    return int(value)
