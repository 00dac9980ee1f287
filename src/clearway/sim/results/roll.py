"""Whose each job of a workload is, how large, and when it was there: some 48 bytes a job, by its place in the list."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clearway.sim.thinking import NOBODY

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from clearway.sim.workloads.trace import Arrival

WHOSE = ("queue", "user", "tenant")
UNKNOWN = -1


class Roll(NamedTuple):
    """Numbers of queues, users and tenants (`names` has their names; -1: nobody's), and times as they were recorded.

    `took_us` is from the submit to the end, -1 where nobody knows.
    """

    whose: dict[str, NDArray[np.int64]]
    names: dict[str, list[str]]
    milli: NDArray[np.int64]
    submit_us: NDArray[np.int64]
    took_us: NDArray[np.int64]

    def __len__(self) -> int:
        """Return how many jobs there are."""
        return len(self.submit_us)

    @property
    def recorded(self) -> bool:
        """Whether it is known of every job how long it took."""
        return bool(len(self)) and bool((self.took_us >= 0).all())


def roll(arrivals: Iterable[Arrival], *, by_gpu: bool) -> Roll:
    """Go through the jobs once."""
    numbers: dict[str, dict[str, int]] = {kind: {"": NOBODY} for kind in WHOSE}
    columns = {name: array("q") for name in (*WHOSE, "milli", "submit", "took")}
    for at_us, spec, truth in arrivals:
        for kind in WHOSE:
            known = numbers[kind]
            columns[kind].append(known.setdefault(getattr(spec, kind), len(known) - 1))
        milli = spec.milli_gpus if by_gpu else sum(role.tasks * role.demand.cpus for role in spec.roles)
        columns["milli"].append(milli)
        columns["submit"].append(at_us)
        columns["took"].append(UNKNOWN if truth.took_us is None else truth.took_us)
    found = {name: np.array(column, dtype=np.int64) for name, column in columns.items()}
    names = {kind: [name for name in known if name] for kind, known in numbers.items()}
    return Roll({kind: found[kind] for kind in WHOSE}, names, found["milli"], found["submit"], found["took"])
