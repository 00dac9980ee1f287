"""What nodes have copied to their disks: data, images and models that jobs name as `inputs`, and what jobs left there.

A task that starts on a node copies first what the node does not hold, all of it at the node's bandwidth; from then on
the node holds it. A copy that another task is making is waited for, not made twice. Copies together take no more than
the node's disk: the smallest that nobody reads go first, as they are copied again soonest. What a node's words say
that it holds stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from clearway.model.fleet import NodeSpec

BITS = 8  # a byte; bandwidth counts thousandths of Gbit/s, which are bits per microsecond and thousand

Inputs = tuple[tuple[str, int], ...]


def copy_us(size: int, bandwidth: int) -> int:
    """Return how long copying so many bytes takes, in microseconds. `bandwidth` is in thousandths of a Gbit/s."""
    return size * BITS // max(bandwidth, 1)


class _Copy(NamedTuple):
    size: int
    ready_us: int


class Copies:
    """The copies on the disk of one node, and who reads them."""

    __slots__ = ("_found", "_readers")

    def __init__(self) -> None:
        """Begin with none."""
        self._found: dict[str, _Copy] = {}
        self._readers: dict[Hashable, Inputs] = {}

    def __contains__(self, name: str) -> bool:
        """Return whether a copy is there or is being made."""
        return name in self._found

    def missing(self, node: NodeSpec, inputs: Inputs) -> int:
        """Return how many bytes a task would have to copy."""
        return sum(size for name, size in inputs if name not in node.holds and name not in self._found)

    def begin(self, node: NodeSpec, reader: Hashable, inputs: Inputs, now_us: int) -> int:
        """Copy what is missing for a task; return when it has everything."""
        ready_us = now_us + copy_us(self.missing(node, inputs), node.bandwidth)
        self._readers[reader] = inputs
        for name, _ in inputs:
            if name in self._found:
                ready_us = max(ready_us, self._found[name].ready_us)
        for name, size in inputs:
            if name not in node.holds:
                self._found.setdefault(name, _Copy(size, ready_us))
        self._trim(node.disk)
        return ready_us

    def end(self, node: NodeSpec, reader: Hashable, now_us: int) -> None:
        """Take note that a task is gone: what it had not copied to the end is gone too, unless others go on with it."""
        inputs = self._readers.pop(reader, ())
        read = self._read()
        for name, _ in inputs:
            copy = self._found.get(name)
            if copy is not None and copy.ready_us > now_us and name not in read:
                del self._found[name]
        self._trim(node.disk)

    def leave(self, node: NodeSpec, outputs: Inputs, now_us: int) -> None:
        """Take note that these data were written there."""
        self._found |= {name: _Copy(size, now_us) for name, size in outputs if name not in node.holds}
        self._trim(node.disk)

    def forget(self, names: Iterable[str]) -> bool:
        """Take note that these data were written anew elsewhere; return whether a copy of them was there."""
        gone = [name for name in names if self._found.pop(name, None) is not None]
        return bool(gone)

    def taken(self) -> tuple[tuple[tuple[str, int, int], ...], tuple[tuple[Hashable, Inputs], ...]]:
        """Return the copies (name, bytes, ready at) and who reads what."""
        return tuple((name, *copy) for name, copy in self._found.items()), tuple(self._readers.items())

    def put_back(self, found: Iterable[tuple[str, int, int]], readers: Iterable[tuple[Hashable, Inputs]]) -> None:
        """Be as `taken` said."""
        self._found = {name: _Copy(size, ready_us) for name, size, ready_us in found}
        self._readers = dict(readers)

    def _read(self) -> set[str]:
        return {name for inputs in self._readers.values() for name, _ in inputs}

    def _trim(self, disk: int) -> None:
        """Drop copies that nobody reads, the smallest first, until the rest fits on the disk."""
        total = sum(copy.size for copy in self._found.values())
        if total <= disk:
            return
        read = self._read()
        for size, name in sorted((copy.size, name) for name, copy in self._found.items() if name not in read):
            if total <= disk:
                return
            del self._found[name]
            total -= size


class Shelves:
    """The copies of all nodes, by node."""

    def __init__(self) -> None:
        """Begin with none."""
        self.on: dict[int, Copies] = {}

    def missing(self, nodes: Sequence[NodeSpec], rows: Iterable[int], inputs: Inputs) -> list[int]:
        """Return the bytes that a task would have to copy on each of these nodes."""
        names = {name for name, _ in inputs}
        return [
            self.on[row].missing(nodes[row], inputs)
            if row in self.on
            else sum(size for name, size in inputs if name not in nodes[row].holds)
            if not names.isdisjoint(nodes[row].holds)
            else sum(size for _, size in inputs)
            for row in rows
        ]

    def begin(self, node: int, spec: NodeSpec, reader: Hashable, inputs: Inputs, now_us: int) -> None:
        """Take note that a task with inputs runs on a node."""
        self.on.setdefault(node, Copies()).begin(spec, reader, inputs, now_us)

    def leave(self, nodes: Iterable[int], specs: Sequence[NodeSpec], outputs: Inputs, now_us: int) -> list[int]:
        """Take note that data were written on these nodes: older copies elsewhere are worth nothing.

        Return the nodes of which something is different now.
        """
        mine = sorted(set(nodes))
        for node in mine:
            self.on.setdefault(node, Copies()).leave(specs[node], outputs, now_us)
        names = [name for name, _ in outputs]
        others = [node for node, copies in self.on.items() if node not in mine and copies.forget(names)]
        return mine + sorted(others)

    def end(self, node: int, spec: NodeSpec, reader: Hashable, now_us: int) -> None:
        """Take note that a task is gone from a node."""
        if node in self.on:
            self.on[node].end(spec, reader, now_us)
