"""How good it is what is said of needs, on pasts that tell what was taken, and by time order.

Whoever says what is enough knows only what was over at a run's submit. Beside it, for the same runs: 15 % more than the
last run of the like took, and the most that any of the like ever took. Few pasts tell what was really taken, and none
of these what was asked for.

`hpc2n`: memory a processor, of the 1,048 jobs of the excerpt that tell it; the log has no names, so that runs of the
like are those of one user with as many processors. `genai2026`: GPU memory of pods of a service, every 57 s; a run is
here an hour of a pod, and its like are the hours before. Such hours are no jobs, and change slowly.
"""

from __future__ import annotations

import csv
import gzip
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from clearway.forecast.needs import Needs
from clearway.model.job import Demand, Role
from clearway.model.needs import Amounts, Took, asked_of
from clearway.model.values import SECOND_US
from clearway.ports.forecaster import Known, Run

if TYPE_CHECKING:
    from argparse import Namespace
    from pathlib import Path

TITLE = "what is said to be enough of memory and GPU memory, beside what was taken, on public pasts"
KEYS = {
    "table": (
        "said: of so many runs (%) something was said; then for these runs, by Clearway, by the last run and 15 %, by"
        " the most ever: % of runs that it was enough for, and how much it is as a multiple of what they took together"
    ),
    "coverage": "% of runs for which what was said was enough, by past",
    "multiple": "what was said as a multiple of what was taken, by past",
}
HOUR_S = 3600
NUMBER, SUBMIT, WAIT, RUN, _, _, MEMORY, ASKED, _, _, _, USER = range(12)
KIB = 2**10
MARGIN = 15


class Past(NamedTuple):
    """A run: whose, when, and what each task took of a word."""

    user: str
    tasks: int
    at_us: int
    ended_us: int
    took: int


def _hpc2n(data: Path) -> list[Past]:
    with gzip.open(data / "swf" / "hpc2n_alea_excerpt.swf.gz", "rt", encoding="utf-8") as file:
        rows = [list(map(float, line.split())) for line in file if line.strip() and not line.startswith(";")]
    return [
        Past(
            f"user {row[USER]:.0f}", round(row[ASKED]), round(row[SUBMIT] * SECOND_US),
            round((row[SUBMIT] + max(row[WAIT], 0) + row[RUN]) * SECOND_US), round(row[MEMORY]) * KIB,
        )
        for row in rows
        if row[MEMORY] > 0 and row[ASKED] > 0
    ]  # fmt: skip


def _genai2026(data: Path) -> list[Past]:
    most: dict[tuple[str, int], int] = {}
    with gzip.open(data / "genai2026" / "pod_gpu_memory_used_bytes_anon.csv.gz", "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            key = (row["container_ip"], int(float(row["timestamp_anon"])) // HOUR_S)
            most[key] = max(most.get(key, 0), round(float(row["value"])))
    hour_us = HOUR_S * SECOND_US
    return [Past(pod, 1, hour * hour_us, (hour + 1) * hour_us, took) for (pod, hour), took in most.items() if took]


PASTS = {"hpc2n": ("memory", _hpc2n), "genai2026": ("gpu_memory", _genai2026)}
ONLY = tuple(PASTS)


class Score:
    """What was said of runs, and what they took."""

    def __init__(self) -> None:
        """Begin without any."""
        self.runs = self.enough = self.said = self.took = 0

    def add(self, said: int, took: int) -> None:
        """Count a run."""
        self.runs, self.enough = self.runs + 1, self.enough + (said >= took)
        self.said, self.took = self.said + said, self.took + took

    @property
    def coverage(self) -> float:
        """% of the runs for which it was enough."""
        return 100 * self.enough / max(self.runs, 1)

    @property
    def multiple(self) -> float:
        """What was said over what was taken."""
        return self.said / max(self.took, 1)


def run(args: Namespace) -> dict[str, Any]:
    """Judge all pasts, or those that are named."""
    rows, coverage, multiple = [], {}, {}
    for name in args.only or ONLY:
        word, read = PASTS[name]
        every, scores = judge(word, read(args.data))
        cells = [cell for one in scores for cell in (f"{one.coverage:.1f}", f"{one.multiple:.2f}")]
        heads = ("enough", "multiple", "last", "last multiple", "most", "most multiple")
        said = f"{100 * scores[0].runs / max(every, 1):.0f}"
        rows.append(
            {"past": name, "word": word, "runs": f"{every:,}", "said": said, **dict(zip(heads, cells, strict=True))}
        )
        coverage[name], multiple[name] = round(scores[0].coverage, 1), round(scores[0].multiple, 3)
    return {"table": rows, "coverage": coverage, "multiple": multiple}


def judge(word: str, pasts: list[Past]) -> tuple[int, tuple[Score, Score, Score]]:
    """Play runs by time, and return how many there were, and how it went: by needs, by the last run, by the most."""
    needs, scores = Needs(), (Score(), Score(), Score())
    last: dict[tuple[str, int], int] = {}
    most: dict[tuple[str, int], int] = {}
    under_way: list[tuple[int, int, Past]] = []
    numbers = count()
    for past in sorted(pasts, key=lambda one: (one.at_us, one.user)):
        while under_way and under_way[0][0] <= past.at_us:
            over = heappop(under_way)[2]
            needs.learn(Run(_known(over), 1, over.ended_us, took=(_took(word, over),), good=True))
            key = (over.user, over.tasks)
            last[key], most[key] = over.took, max(most.get(key, 0), over.took)
        found = needs.enough(_known(past), _role(past), word)
        if found is not None and found.kind.own:
            key = (past.user, past.tasks)
            said = (found.enough, last[key] * (100 + MARGIN) // 100, most[key])
            for score, amount in zip(scores, said, strict=True):
                score.add(amount, past.took)
        heappush(under_way, (past.ended_us, next(numbers), past))
    return len(pasts), scores


def _known(past: Past) -> Known:
    return Known(past.user, "default", "job", "", 0, past.tasks, None, None, past.at_us)


def _role(past: Past) -> Role:
    return Role(tasks=past.tasks, min_tasks=past.tasks, demand=Demand())


def _took(word: str, past: Past) -> Took:
    role = _role(past)
    return Took(role.name, role.tasks, asked_of(role), Amounts(**{word: past.took}))
