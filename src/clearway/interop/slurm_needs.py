"""What a job of Slurm asks for, as equal tasks: the part of it on each node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.interop import slurm_values as sv
from clearway.model.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.interop.gaps import Gaps

MILLI = 1000
WIDEST = 100_000  # nodes, and GPUs of one job: more is a slip of the writer


def needs(cell: Callable[..., str], gaps: Gaps) -> dict[str, object]:
    """Return the job words; `cell` gives the first of some columns that says something. Raises InputError."""
    held = sv.amounts("AllocTRES", cell("alloctres"))
    asked = sv.amounts("ReqTRES", cell("reqtres"))
    got = held if held.nodes or held.cpus or held.gpus else asked
    nodes = max(1, got.nodes or _whole("NNodes", cell("allocnodes", "nnodes", "reqnodes")))
    cpus = got.cpus or _whole("NCPUS", cell("alloccpus", "ncpus", "reqcpus"))
    each, gres_models = sv.gres("AllocGRES", cell("allocgres", "reqgres"))
    gpus = got.gpus or each * nodes
    if max(nodes, gpus) > WIDEST:
        raise InputError("AllocTRES", cell("alloctres", "reqtres"), f"at most {WIDEST} nodes and GPUs")
    models = asked.models or ((got.models or gres_models) if not cell("reqtres") else ())
    if got.others:
        gaps.assume(f"it held {', '.join(got.others)}, which has no word here")
    tasks = _tasks(gpus, nodes)
    words: dict[str, object] = {} if tasks == 1 else {"tasks": tasks}
    words |= {"gpus": gpus // tasks} if gpus else {}
    words |= {"gpu_model": list(models)} if models and gpus else {}
    words |= {"cpus": -(-cpus * MILLI // tasks) / MILLI} if cpus else {}
    memory = got.memory or _memory(cell("reqmem"), cpus, nodes)
    return words | ({"memory": -(-memory // tasks)} if memory else {})


def _tasks(gpus: int, nodes: int) -> int:
    """Return as few equal tasks as there were nodes, more where the GPUs do not divide by them."""
    if not gpus:
        return nodes
    if gpus < nodes:
        return gpus
    return next(n for n in range(nodes, gpus + 1) if gpus % n == 0)


def _memory(text: str, cpus: int, nodes: int) -> int:
    if not text:
        return 0
    amount, per = sv.size("ReqMem", text)
    return amount * {"c": max(1, cpus), "n": nodes, "": 1}[per]


def _whole(field: str, text: str) -> int:
    if text and not (text.isascii() and text.isdigit() and len(text) < 10):  # noqa: PLR2004 - digits that fit any count
        raise InputError(field, text, "a whole number")
    return int(text or 0)
