"""What is kept of each finished job: one number a column, in compact arrays. Some 60 bytes a job."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

TYPES = {
    "number": "i", "submit_us": "q", "wait_us": "q", "jct_us": "q", "run_us": "q", "ideal_us": "q", "milli": "q",
    "contention_milli": "q", "queue": "i", "succeeded": "b",
}  # fmt: skip


class Jobs(NamedTuple):
    """Finished jobs in order of their ends, one array a column.

    `number` counts arrivals from 0 and is the same under every policy; `wait_us` is the first start minus the submit;
    `jct_us` the end minus the submit; `run_us` the length of the last attempt; `ideal_us` how long it runs
    undisturbed; `milli` what all its tasks together hold, in thousandths of a GPU (of a CPU where the fleet has no
    GPU); `contention_milli` how many thousandths of the fleet were asked for, as the mean over the job's stay, at
    each moment at least 1,000; `queue` a number; `succeeded` 0 or 1.
    """

    number: NDArray[np.int64]
    submit_us: NDArray[np.int64]
    wait_us: NDArray[np.int64]
    jct_us: NDArray[np.int64]
    run_us: NDArray[np.int64]
    ideal_us: NDArray[np.int64]
    milli: NDArray[np.int64]
    contention_milli: NDArray[np.int64]
    queue: NDArray[np.int64]
    succeeded: NDArray[np.int64]

    def where(self, mask: NDArray[np.bool_]) -> Jobs:
        """Return those of the jobs for which `mask` holds."""
        return Jobs(*(column[mask] for column in self))

    def at(self, places: NDArray[np.int64]) -> Jobs:
        """Return the jobs in these places, in this order."""
        return Jobs(*(column[places] for column in self))


class Columns:
    """Jobs that have ended, one by one."""

    def __init__(self) -> None:
        """Start with none."""
        self._columns = [array(code) for code in TYPES.values()]

    def __len__(self) -> int:
        return len(self._columns[0])

    def add(self, *values: int) -> None:
        """Keep a job: its numbers in the order of TYPES."""
        for column, value in zip(self._columns, values, strict=True):
            column.append(value)

    def jobs(self) -> Jobs:
        """Return them as arrays."""
        return Jobs(*(np.array(column, dtype=np.int64) for column in self._columns))
