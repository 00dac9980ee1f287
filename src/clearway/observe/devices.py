"""What of a node's devices is held, idle, in pieces or closed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from clearway.model.events import TaskRef
from clearway.model.job import WHOLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clearway.control import Board, NodeRow
    from clearway.model.events import Grant
    from clearway.model.fleet import NodeSpec
    from clearway.ports.engine import TaskUse


class Split(NamedTuple):
    """Milli-GPU. `total` is the sum of the others; `fragmented`: free parts of devices of which another is held."""

    total: int
    held: int
    idle: int
    fragmented: int
    closed: int


def split(row: NodeRow) -> Split:
    """Return how a node's devices are used. What a cut device's slices hold counts in parts of it."""
    spec = row.spec
    shut = row.state in ("lost", "drained", "leaving")
    held = idle = fragmented = closed = 0
    for number in range(spec.gpus):
        mine = min(_held(row, number), WHOLE)
        held += mine
        if shut or number in row.unhealthy:
            closed += WHOLE - mine
        elif mine or number in spec.cut:
            fragmented += WHOLE - mine
        else:
            idle += WHOLE
    return Split(spec.gpus * WHOLE, held, idle, fragmented, closed)


class Use(NamedTuple):
    """Milli-GPU that a task holds of devices of one model, and what of it worked when it was last looked at."""

    model: str
    held: int
    used: int


def uses(board: Board, tasks: Mapping[TaskRef, TaskUse]) -> Iterator[Use]:
    """Yield what each task whose devices are measured holds and really uses."""
    rows = [row for number in {key.job for key in tasks} if (row := board.jobs.get(number)) and not row.over]
    for row in rows:
        for grant in row.grants:
            use = tasks.get(TaskRef(row.id, row.attempt, grant.role, grant.index))
            node = board.nodes.get(grant.node)
            if use is not None and use.busy is not None and node is not None and grant.devices:
                held = _granted(grant, node.spec)
                yield Use(node.spec.gpu_model, held, held * use.busy // WHOLE)


def _granted(grant: Grant, spec: NodeSpec) -> int:
    """Return what a grant holds; of a device that is shared by memory alone its part of the memory."""
    share = grant.share
    if not share and grant.gpu_memory and spec.gpu_memory:
        share = grant.gpu_memory * WHOLE // spec.gpu_memory
    return share * len(grant.devices)


def _held(row: NodeRow, device: int) -> int:
    """Return what is held of a device: of itself, or of its slices; one that is shared by memory alone is held."""
    gpus, many = row.spec.gpus, len(row.shares)
    share = row.shares[device] if device < many else 0
    slices = [gpus + at for at, (of, _) in enumerate(row.spec.slices) if of == device]
    share += sum(row.shares[number] for number in slices if number < many)
    by_memory = row.memories[device] if device < len(row.memories) else 0
    if not share and by_memory and row.spec.gpu_memory:
        return by_memory * WHOLE // row.spec.gpu_memory
    return share
