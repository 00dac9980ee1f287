"""Two plain ways to place tasks that ask for whole GPUs by tightest fit: what the core is compared with."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Protocol

import numpy as np

from benchmarks.rig import GPUS_OF

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.model.fleet import NodeSpec
    from clearway.model.job import Demand


class Peer(Protocol):
    """Places one task at a time; nothing is explained, recorded or promised."""

    def place(self, demand: Demand) -> int:
        """Take the tightest node and return its number, -1 where none has room."""
        ...

    def free(self, node: int, demand: Demand) -> None:
        """Give back what a task held."""
        ...


class Scan:
    """NumPy looks at all nodes for each task."""

    def __init__(self, nodes: Sequence[NodeSpec]) -> None:
        """Begin empty."""
        numbers = {model: i for i, model in enumerate(GPUS_OF)}
        self._numbers = numbers
        self._model = np.array([numbers[node.gpu_model] for node in nodes])
        self._gpus = np.array([node.gpus for node in nodes])
        self._cpus = np.array([node.cpus for node in nodes])
        self._memory = np.array([node.memory for node in nodes])

    def place(self, demand: Demand) -> int:
        """Mask, score, take the best."""
        fits = (self._model == self._numbers[demand.gpu_models[0]]) & (self._gpus >= demand.gpus)
        fits &= (self._cpus >= demand.cpus) & (self._memory >= demand.memory)
        node = int(np.where(fits, -self._gpus, -1000).argmax())
        if not fits[node]:
            return -1
        self._move(node, demand, -1)
        return node

    def free(self, node: int, demand: Demand) -> None:
        """Give back."""
        self._move(node, demand, 1)

    def _move(self, node: int, demand: Demand, sign: int) -> None:
        self._gpus[node] += sign * demand.gpus
        self._cpus[node] += sign * demand.cpus
        self._memory[node] += sign * demand.memory


class Buckets:
    """Nodes by model and free GPUs, each bucket a heap of numbers. Looks at GPUs alone, which here are what binds."""

    def __init__(self, nodes: Sequence[NodeSpec]) -> None:
        """Begin empty."""
        self._model = [node.gpu_model for node in nodes]
        self._free = [node.gpus for node in nodes]
        self._heaps: dict[str, list[list[int]]] = {m: [[] for _ in range(n + 1)] for m, n in GPUS_OF.items()}
        for number, node in enumerate(nodes):
            self._heaps[node.gpu_model][node.gpus].append(number)
        for heaps in self._heaps.values():
            for heap in heaps:
                heapify(heap)

    def place(self, demand: Demand) -> int:
        """Take from the tightest bucket that has a node; entries that are out of date are dropped on the way."""
        heaps, free = self._heaps[demand.gpu_models[0]], self._free
        for left in range(demand.gpus, len(heaps)):
            heap = heaps[left]
            while heap:
                node = heappop(heap)
                if free[node] == left:
                    free[node] = left - demand.gpus
                    heappush(heaps[left - demand.gpus], node)
                    return node
        return -1

    def free(self, node: int, demand: Demand) -> None:
        """Give back."""
        self._free[node] += demand.gpus
        heappush(self._heaps[self._model[node]][self._free[node]], node)
