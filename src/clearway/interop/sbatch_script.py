"""What a batch script of Slurm runs, so that it finds outside Slurm what it looks for: variables, and `srun`."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLE = re.compile(r"\b(SLURM_\w+|SLURMD_\w+)")
SRUN = re.compile(r"(?:^|[;&|({]|\btime|\bthen|\bdo|\belse)\s*srun\b", re.MULTILINE)
ASIDE = re.compile(r"^\s*srun\b.*[^&>]&\s*$", re.MULTILINE)
MODULES = re.compile(r"(?:^|[;&|({])\s*(?:module|ml|conda)\s", re.MULTILINE)
BY_SHELL = ("bash", "sh", "zsh", "ksh", "dash")
RUNS_IT = r"""srun() { while :; do case "$1" in
    -[NncGpJoewxtDACq]) shift 2 ;; -*) shift ;; *) break ;;
  esac; done; "$@"; }"""
"""Each task runs the script, so that `srun` is to run its command once: it drops its own options."""

NAMES_HOSTS = 'scontrol() { shift 2; echo "$*"; }'
LISTS = ("SLURM_JOB_NODELIST", "SLURM_NODELIST")


class Shape(NamedTuple):
    """The tasks that were made, and what Slurm would have had: nodes, processes on each; CPUs and GPUs of a task."""

    tasks: int
    nodes: int
    processes: int
    cpus: int
    gpus: int


def calls_srun(text: str) -> bool:
    """Say whether a script starts something by `srun`."""
    return bool(SRUN.search(_bare(text)))


def parts_by_srun(text: str) -> bool:
    """Say whether a script starts several things side by side by `srun`, so that it shares out what it has."""
    return bool(ASIDE.search(_bare(text)))


def run_of(text: str, words: Mapping[str, Any], shape: Shape) -> tuple[list[str], list[str]]:
    """Return the command that runs a script, and what of it has no counterpart."""
    bare = _bare(text)
    known = _known(words, shape)
    used = sorted(set(VARIABLE.findall(bare)))
    before = [f"export {name}={known[name]}" for name in used if name in known]
    before += [NAMES_HOSTS] if re.search(r"\bscontrol show hostname", bare) else []
    missing = [f"the script uses {name}" for name in used if name not in known]
    missing += [f"{name}: the node of rank 0 alone (MASTER_ADDR)" for name in used if name in LISTS]
    if calls_srun(text):
        before.append(RUNS_IT)
        missing += _of_srun(bare, shape)
    elif shape.nodes > 1:
        missing.append("the script runs on each node, in Slurm on the first alone: RANK says which it is")
    command, program = _interpreter(text)
    if program in BY_SHELL:
        if program == "bash" and "-l" not in command and MODULES.search(bare):
            command.append("-l")  # where sites say what `module` and `conda` are
        return [*command, "-c", "\n".join([*before, text])], missing
    if program.startswith("python"):
        return [*command, "-c", text], missing
    return ["/bin/sh", "-c", text], [*missing, f"{program or 'nothing'} runs it, which is not known here"]


def _interpreter(text: str) -> tuple[list[str], str]:
    """Return what stands behind #!, and what program that is."""
    command = text[2:].partition("\n")[0].split()
    names = [word.rpartition("/")[2] for word in command if not word.startswith("-")]
    return command, next((name for name in names if name != "env"), "")


def _known(words: Mapping[str, Any], shape: Shape) -> dict[str, str]:
    """Return what variables of Slurm are here, as a shell reads it."""
    return {
        "SLURM_ARRAY_TASK_ID": "$CLEARWAY_INDEX", "SLURM_JOB_ID": "$CLEARWAY_JOB", "SLURM_JOBID": "$CLEARWAY_JOB",
        "SLURM_JOB_NAME": shlex.quote(words["name"]), "SLURM_PROCID": "$RANK", "SLURM_NTASKS": "$WORLD_SIZE",
        "SLURM_NPROCS": "$WORLD_SIZE", "SLURM_RESTART_COUNT": "$((CLEARWAY_ATTEMPT - 1))", "SLURM_LOCALID": "0",
        "SLURM_CPUS_PER_TASK": str(shape.cpus), "SLURM_CPUS_ON_NODE": str(shape.cpus), "SLURM_SUBMIT_DIR": '"$PWD"',
        "SLURM_JOB_CPUS_PER_NODE": str(shape.cpus), "SLURM_GPUS_ON_NODE": str(shape.gpus),
        "SLURM_JOB_PARTITION": shlex.quote(words.get("queue", "default")),
        **dict.fromkeys(LISTS, "$MASTER_ADDR"),
        **(dict.fromkeys(("SLURM_NNODES", "SLURM_JOB_NUM_NODES"), "$WORLD_SIZE") if _one_each(shape) else {}),
        **({"SLURM_NODEID": "$RANK"} if _one_each(shape) else {}),
    }  # fmt: skip


def _one_each(shape: Shape) -> bool:
    return shape.tasks == shape.nodes


def _of_srun(bare: str, shape: Shape) -> list[str]:
    found = []
    if shape.tasks > 1:
        found.append("the script runs in each task, in Slurm on the first node alone: `srun` runs its command once")
    if ASIDE.search(bare):
        found.append("`srun .. &`: what it starts side by side shares all that the task has; an `array` is shared out")
    if re.search(r"\bsrun\b[^\n;|&]*\s--[a-z-]+ [0-9]", bare):
        found.append("`srun --option VALUE`: write --option=VALUE")
    return found


def _bare(text: str) -> str:
    """Return a script without comments, and with lines that go on put together."""
    return re.sub(r"(?m)(?:^|\s)#.*$", "", text).replace("\\\n", " ")
