"""The protocol of "RLScheduler" (Zhang et al., SC 2020) on Lublin-256, and its figures.

10 sequences of 1,024 jobs, drawn as the authors' program draws them, each on an empty machine of 256 processors with
run times known; the mean over the sequences of the mean bounded slowdown.

All ten published figures follow from the authors' rules, which `TheirRules` keeps in a program of its own. They are not
Clearway's rules, and three of them explain every difference:

- The job that is chosen first keeps its turn until it fits; a better one that arrives meanwhile waits. Clearway chooses
  again whenever something changes, so without backfill SJF and its like do far better.
- A job is backfilled only if it ends before the moment at which the first one can start. Clearway also uses processors
  that the first job will not need (EASY, as Lifka described it in 1995).
- WFP3 and UNICEP weigh the time a job has waited, but there it is always the moment of its submit, negated.
"""

from __future__ import annotations

import hashlib
import math
import statistics
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from clearway.loop.world import World
from clearway.model.fleet import PolicySpec
from clearway.model.values import SECOND_US
from clearway.sim.engine import SimEngine
from clearway.sim.heap import VirtualClock
from clearway.sim.results.figures import slowdowns
from clearway.sim.results.fold import Fold
from clearway.sim.run import drive
from clearway.sim.workloads import Arrival, open_workload
from clearway.sim.workloads.shapes import pool

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from clearway.sim.results.columns import Jobs

SEQUENCES, LENGTH, PROCESSORS = 10, 1024, 256
PUBLISHED_SEED = 1  # the default of the authors' program; with it FCFS comes out to the digit
FIRST_SUBMIT_US = 5094 * SECOND_US  # of the log: F1 weighs the moment of the submit itself
BOUND_S = 10
NEVER_S = -1  # the start of a job that has not started, in the authors' program
TINY = 1e-15  # as there: keeps the logarithm of one processor from being zero
CELLS = {"fifo": (7274, 236), "sjf": (277, 73), "f1": (258, 75), "wfp3": (19754, 134), "unicep": (22275, 308)}
"""Published mean bounded slowdown by order: without backfill, with theirs."""


class Cell(NamedTuple):
    """One order with or without backfill: the finished jobs of each sequence."""

    sequences: list[Jobs]

    @property
    def slowdown(self) -> float:
        """The mean over the sequences of the mean bounded slowdown."""
        return statistics.mean(float(slowdowns(jobs).mean()) for jobs in self.sequences)


def sequences(log: Path, many: int = SEQUENCES) -> list[list[Arrival]]:
    """Return the sequences, each job with its run time as estimate; more than the published ones are drawn on."""
    jobs = list(open_workload(log).arrivals())
    return [[_known(a) for a in jobs[start : start + LENGTH]] for start in starts(len(jobs), many)]


def _known(arrival: Arrival) -> Arrival:
    estimate_us = arrival.truth.runtime_us(1)
    spec = msgspec.structs.replace(arrival.spec, queue="default", time_estimate_us=estimate_us)
    return Arrival(arrival.at_us + FIRST_SUBMIT_US, spec, arrival.truth)


def starts(jobs: int, many: int = SEQUENCES, seed: int = PUBLISHED_SEED) -> list[int]:
    """Draw where the sequences begin: NumPy's old generator, seeded as Gym did, by the SHA-512 of the seed."""
    words = np.frombuffer(hashlib.sha512(str(seed).encode()).digest()[:8], "<u4")
    chance = np.random.RandomState(words)
    return [int(chance.randint(LENGTH, jobs - LENGTH - 1)) for _ in range(many)]


def cell(order: str, backfill: str, drawn: Sequence[Sequence[Arrival]]) -> Cell:
    """Run one order on every sequence, in the loop that runs live."""
    orders = (order,) if order == "fifo" else (order, "fifo")
    policy = PolicySpec(order=orders, backfill=backfill)
    return Cell([_run(policy, arrivals) for arrivals in drawn])


def _run(policy: PolicySpec, arrivals: Sequence[Arrival]) -> Jobs:
    fold = Fold(by_gpu=False)
    engine = SimEngine(VirtualClock(), pool(PROCESSORS), policy.lease_us)
    drive(World(policy), engine, fold.expect(arrivals), fold)
    return fold.columns.jobs()


Key = Callable[[tuple[int, int, int]], float]
"""What is compared of a job's submit, run time and processors; the smallest is chosen."""

THEIR_KEYS: dict[str, Key] = {
    "fifo": lambda job: job[0],
    "sjf": lambda job: job[1] + job[0] * 1e-9,
    "f1": lambda job: math.log10(job[1]) * job[2] + 870 * math.log10(job[0]),
    "wfp3": lambda job: -(((NEVER_S - job[0]) / job[1]) ** 3) * job[2],
    "unicep": lambda job: -(NEVER_S - job[0] + TINY) / (math.log2(job[2] + TINY) * job[1]),
}


def their_slowdown(order: str, arrivals: Sequence[Arrival], *, backfill: bool) -> float:
    """Return the mean bounded slowdown by the published rules, without any of Clearway's deciding."""
    return TheirRules(arrivals, THEIR_KEYS[order], backfill=backfill).mean()


class TheirRules:
    """The authors' simulator as its figures show it. Times in seconds, as the log has them."""

    def __init__(self, arrivals: Sequence[Arrival], key: Key, *, backfill: bool) -> None:
        """Begin with an empty machine at the first submit."""
        self.jobs = [
            (a.at_us // SECOND_US, a.truth.runtimes_us[0] // SECOND_US, a.spec.roles[0].demand.cpus // 1000)
            for a in arrivals
        ]
        self.key, self.backfill = key, backfill
        self.free, self.now, self.entered = PROCESSORS, self.jobs[0][0], 1
        self.queue = [0]
        self.running: list[tuple[int, int]] = []
        self.found: list[float] = []

    def mean(self) -> float:
        """Run to the end."""
        while len(self.found) < len(self.jobs):
            if not self.queue:
                self._advance()
                continue
            first = min(self.queue, key=lambda job: self.key(self.jobs[job]))
            self.queue.remove(first)
            if self.jobs[first][2] > self.free:
                self._until_it_fits(first)
            self._start(first)
        return statistics.mean(self.found)

    def _until_it_fits(self, first: int) -> None:
        begin = self._earliest(self.jobs[first][2])
        while self.jobs[first][2] > self.free:
            for other in list(self.queue) if self.backfill else ():  # in order of arrival
                _, run, processors = self.jobs[other]
                if self.now + run < begin and processors <= self.free:
                    self.queue.remove(other)
                    self._start(other)
            self._advance()

    def _earliest(self, wanted: int) -> int:
        free, begin = self.free, self.now
        for end, processors in sorted(self.running):
            free, begin = free + processors, end
            if free >= wanted:
                break
        return begin

    def _start(self, job: int) -> None:
        submit, run, processors = self.jobs[job]
        self.free -= processors
        self.running.append((self.now + run, processors))
        self.found.append(max(1.0, (self.now - submit + run) / max(run, BOUND_S)))

    def _advance(self) -> None:
        """Go to the next arrival or end, whichever is first."""
        self.running.sort()
        end = self.running[0][0] if self.running else None
        if self.entered < len(self.jobs) and (end is None or self.jobs[self.entered][0] <= end):
            self.now = max(self.now, self.jobs[self.entered][0])
            self.queue.append(self.entered)
            self.entered += 1
        else:
            self.now = max(self.now, self.running[0][0])
            self.free += self.running.pop(0)[1]
