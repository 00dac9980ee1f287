"""What came and what was in use, step by step: series of load from the records of a journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clearway.model.events import Submitted
from clearway.model.job import WHOLE
from clearway.model.values import SECOND_US
from clearway.observe.accounting import Accounts, Hold

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from clearway.loop.world import World
    from clearway.model.events import Record
    from clearway.model.job import JobSpec

    Floats = NDArray[np.float64]

STEP_S = 300


class LoadHistory(Accounts):
    """Arrivals and GPUs in use, a value for every whole five minutes of a time; of one queue, or of all."""

    def __init__(self, world: World, from_us: int, to_us: int, queue: str | None) -> None:
        """Begin with the world as it was at `from_us`."""
        steps = max((to_us - from_us) // (STEP_S * SECOND_US), 0)
        self._begin_us, self._queue = from_us, queue
        self.arrivals: Floats = np.zeros(steps)
        self.gpus: Floats = np.zeros(steps)
        super().__init__(world, from_us, "queue")

    def apply(self, record: Record) -> None:
        """Take the next record."""
        super().apply(record)
        if isinstance(record, Submitted) and record.spec.array is None and self._meant(record.spec):
            step = (record.at_us - self._begin_us) // (STEP_S * SECOND_US)
            if 0 <= step < len(self.arrivals):
                self.arrivals[step] += 1

    def _meant(self, spec: JobSpec) -> bool:
        return self._queue is None or spec.queue == self._queue

    def _released(self, spec: JobSpec, hold: Hold) -> None:
        """Spread what was held over the steps: the mean of each."""
        if not self._meant(spec):
            return
        begin, end = ((at - self._begin_us) / (STEP_S * SECOND_US) for at in (hold.since_us, self.now_us))
        first, last = int(begin), min(int(np.ceil(end)), len(self.gpus))
        at = np.arange(first, last)
        self.gpus[first:last] += hold.milli / WHOLE * np.maximum(np.minimum(at + 1, end) - np.maximum(at, begin), 0.0)


def load_history(world: World, records: Iterable[Record], from_us: int, to_us: int, queue: str | None) -> LoadHistory:
    """Return the series of a time from the world at its beginning and the records since."""
    fold = LoadHistory(world, from_us, to_us, queue)
    for record in records:
        if record.at_us > to_us:
            break
        fold.apply(record)
    fold.close(to_us)
    return fold
