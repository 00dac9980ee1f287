"""How much a thing holds: entries of every container under it, by the attributes that lead there."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sized
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

DEEPEST = 14
ARRAYS = (bytearray, bytes, str, memoryview)


def sizes(roots: Mapping[str, object]) -> Counter[str]:
    """Return the entries of all containers under named roots, each counted once, by its shortest path."""
    found: Counter[str] = Counter()
    seen: set[int] = set()
    left = deque((name, root, 0) for name, root in roots.items())
    while left:
        path, thing, depth = left.popleft()
        if id(thing) in seen or depth > DEEPEST:
            continue
        seen.add(id(thing))
        if isinstance(thing, ARRAYS) or hasattr(thing, "__array_interface__"):
            found[path] += len(thing) if isinstance(thing, Sized) and not isinstance(thing, str) else 0
            continue
        if isinstance(thing, Mapping | list | tuple | set | frozenset | deque):
            found[path] += len(thing)
        left.extend((f"{path}{name}", part, depth + 1) for name, part in _parts(thing))
    return found


def _parts(thing: object) -> Iterator[tuple[str, object]]:
    if isinstance(thing, Mapping):
        for value in list(thing.values()):
            yield "[]", value
    elif isinstance(thing, list | tuple | set | frozenset | deque) and not hasattr(thing, "_fields"):
        for value in list(thing):
            yield "[]", value
    elif type(thing).__module__.startswith("clearway."):
        for name in _attributes(thing):
            yield f".{name}", getattr(thing, name, None)


def _attributes(thing: object) -> set[str]:
    slots = {name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())}
    return {*getattr(thing, "__dict__", {}), *slots} - {"__dict__", "__weakref__"}
