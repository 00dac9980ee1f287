"""What jobs of traces ask for. Equal demands are one object, so that a long trace costs little memory."""

from __future__ import annotations

from functools import lru_cache

from clearway.model.fleet import NodeSpec
from clearway.model.job import Demand, Role

MILLI = 1000
ONE_CPU = MILLI
REMEMBERED = 4096  # different demands kept at once; a trace has far fewer


@lru_cache(REMEMBERED)
def gpu_roles(gpus: int, per_node: int, models: tuple[str, ...] = ()) -> tuple[Role, ...]:
    """Return a job of `gpus` devices on nodes of `per_node`: as few equal tasks as nodes can hold.

    16 on nodes of 8 are two tasks of 8, 12 are two of 6. A job without GPUs is one task with one CPU.
    """
    if gpus == 0:
        return (Role(demand=Demand(cpus=ONE_CPU)),)
    each = next(n for n in range(min(gpus, per_node), 0, -1) if gpus % n == 0)
    tasks = gpus // each
    return (Role(tasks=tasks, min_tasks=tasks, demand=Demand(gpus=each, gpu_models=models)),)


@lru_cache(REMEMBERED)
def cpu_roles(cpus: int, tasks: int = 1) -> tuple[Role, ...]:
    """Return a job of `tasks` equal tasks with `cpus` processors each."""
    return (Role(tasks=tasks, min_tasks=tasks, demand=Demand(cpus=cpus * ONE_CPU)),)


def gpu_nodes(count: int, gpus: int, model: str = "", name: str = "node") -> tuple[NodeSpec, ...]:
    """Return like nodes, named so that their order by name is their order."""
    width = len(str(count - 1))
    return tuple(NodeSpec(f"{name}-{i:0{width}d}", gpus=gpus, gpu_model=model) for i in range(count))


def pool(processors: int) -> tuple[NodeSpec, ...]:
    """Return a machine as one pool of processors, as logs of parallel computers see it."""
    return (NodeSpec("pool", cpus=processors * ONE_CPU),)
