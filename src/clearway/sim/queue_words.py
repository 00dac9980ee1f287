"""The queues of a scenario over time: their words, and the defaults that a job gets at its submit."""

from __future__ import annotations

import json
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from clearway.model import values as v
from clearway.model.errors import InputError
from clearway.model.machine_words import read_queue

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clearway.model.fleet import QueueSpec

_BEGINNING_US = -1  # before every event


class QueueBook:
    """Queues as they were from each change on. `change` is called in order of time."""

    def __init__(self, raws: Iterable[object]) -> None:
        """Read the queues of the file: parents before children."""
        self._raw: dict[str, dict[str, Any]] = {}
        specs: dict[str, QueueSpec] = {}
        for raw in raws:
            spec = self._read(raw)
            if spec.name in specs:
                raise InputError("name", spec.name, "each queue has a name of its own", "queues")
            specs[spec.name] = spec
        self._from_us = [_BEGINNING_US]
        self._editions = [specs]
        self.first = tuple(_parents_first(specs))

    def change(self, at_us: int, raw: object) -> QueueSpec:
        """Lay the words of a `set_queue` over those that the queue had; return the queue from `at_us` on."""
        spec = self._read(raw)
        self._from_us.append(at_us)
        self._editions.append({**self._editions[-1], spec.name: spec})
        return spec

    def _read(self, raw: object) -> QueueSpec:
        if not isinstance(raw, dict):
            raise InputError("queues", raw, "the words of a queue")
        name = v.name("name", raw.get("name"))
        words = {**self._raw.get(name, {}), **raw}
        spec = read_queue(words)
        self._raw[name] = words
        return spec

    def edition(self, at_us: int) -> int:
        """Return the number of the stretch of time between two changes in which a moment lies."""
        return bisect_right(self._from_us, at_us) - 1

    def defaults(self, queue: str, edition: int) -> dict[str, object]:
        """Return the job words that a queue gives: of each word, from the nearest queue upwards that states it."""
        specs, found = self._editions[edition], dict[str, object]()
        seen: set[str] = set()
        while queue in specs and queue not in seen:
            seen.add(queue)
            found = {**json.loads(specs[queue].defaults), **found}
            queue = specs[queue].parent
        return found


def _parents_first(specs: dict[str, QueueSpec]) -> list[QueueSpec]:
    """Return the queues in an order in which they can be made; refuse a parent that is unknown or its own child."""
    left, done = dict(specs), dict[str, "QueueSpec"]()
    while left:
        ready = [s for s in left.values() if not s.parent or s.parent in done]
        if not ready:
            stuck = next(iter(left.values()))
            raise InputError("parent", stuck.parent, "a queue of this file that is not below this one", stuck.name)
        for spec in ready:
            done[spec.name] = left.pop(spec.name)
    return list(done.values())
