"""Measured speeds of Pollux' and Sia's applications, read from the CSV files that come with their workloads."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from clearway.sim.workloads.node_lists import rows

if TYPE_CHECKING:
    from pathlib import Path

FOLDERS_UP = 3  # workloads lie one or two folders below the one that also holds `traces`
MACHINE_SUFFIXES = ("", "-aws", "-rtx", "-dgx-ext")  # Pollux' T4; Sia's machines, T4 first

Steps = list[tuple[int, float]]
"""Seconds a step by local batch size, ascending."""


@dataclass
class Profiles:
    """The applications of one folder; each is read when a job first needs it."""

    folder: Path | None
    known: dict[str, _Application] = field(default_factory=dict)

    @classmethod
    def near(cls, workload: Path) -> Profiles:
        """Find the folder `traces` above a workload."""
        above = list(workload.absolute().parents)[:FOLDERS_UP]
        return cls(next((up / "traces" for up in above if (up / "traces").is_dir()), None))

    def runtime_s(self, application: str, replicas: int, batch: int) -> float:
        """Return how long a job runs undisturbed. Raises LookupError where nothing was measured."""
        if self.folder is None:
            raise LookupError("no folder `traces` with measured speeds above the workload")
        if application not in self.known:
            self.known[application] = _Application(self.folder / application)
        found = self.known[application]
        return found.iterations(batch) * found.step_s(replicas, batch / replicas)


@dataclass
class _Application:
    folder: Path

    def iterations(self, batch: int) -> int:
        """Return the iterations of the whole training at this batch size: the last line of its log."""
        log = self.folder / f"validation-{batch}.csv"
        if not log.is_file():
            raise LookupError(f"no log of {self.folder.name} at batch size {batch}")
        return max(int(row["iteration"]) for row in rows(log))

    def step_s(self, replicas: int, local: float) -> float:
        """Return the seconds of a step with the number of replicas nearest to this one that was measured."""
        if not self.measured:
            raise LookupError(f"no measured speed of {self.folder.name}")
        nearest = min(self.measured, key=lambda n: (abs(n - replicas), n))
        return interpolated(self.measured[nearest], local)

    @cached_property
    def measured(self) -> dict[int, Steps]:
        """Steps by number of replicas; of several placements with as many replicas, the one on fewest nodes."""
        fewest: dict[int, tuple[int, dict[int, float]]] = {}
        for nodes, replicas, local, step_s in self._rows():
            kept = fewest.get(replicas)
            if kept is None or nodes < kept[0]:
                fewest[replicas] = kept = (nodes, {})
            if nodes == kept[0]:
                kept[1].setdefault(local, step_s)
        return {replicas: sorted(steps.items()) for replicas, (_, steps) in fewest.items()}

    def _rows(self) -> list[tuple[int, int, int, float]]:
        """Nodes, replicas, local batch size, seconds of a step; a placement `144` is 1, 4 and 4 replicas on nodes."""
        found: list[tuple[int, int, int, float]] = []
        for suffix in MACHINE_SUFFIXES:
            placements, wide = self.folder / f"placements{suffix}.csv", self.folder / f"scalability{suffix}.csv"
            if placements.is_file():
                for row in rows(placements):
                    digits = [int(d) for d in row["placement"]]
                    found.append((len(digits), sum(digits), int(row["local_bsz"]), float(row["step_time"])))
            if wide.is_file():
                for row in rows(wide):
                    counts = int(row["num_nodes"]), int(row["num_replicas"]), int(row["local_bsz"])
                    found.append((*counts, float(row["step_time"])))
            if found:
                return found
        return found


def interpolated(steps: Steps, local: float) -> float:
    """Return the time of a step between two measured batch sizes; beyond the largest it grows in proportion."""
    largest, largest_s = steps[-1]
    if local >= largest:
        return largest_s * local / largest
    for (low, low_s), (high, high_s) in pairwise(steps):
        if low <= local <= high:
            return low_s + (high_s - low_s) * (local - low) / (high - low)
    return steps[0][1]
