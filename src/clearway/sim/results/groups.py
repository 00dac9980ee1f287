"""Who wins and who loses by a change: the paired differences of each queue, user, tenant and size, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clearway.model.values import SECOND_US
from clearway.sim.results.paired import Draws, Pairs, drawn, interval, measures, pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clearway.sim.results.columns import Jobs
    from clearway.sim.results.roll import Roll
    from clearway.sim.results.sizes import Size

KINDS = ("queue", "user", "tenant", "size")
NOTICED_S = 60.0
"""A job that is over a minute sooner or later than before is counted as better or worse off."""


class Group(NamedTuple):
    """Jobs of one queue, user, tenant or size that finished both ways. Times are means in seconds.

    `wait` and `completion` are the differences (what would be - what is) with their intervals; `better` and `worse`
    count jobs that would be over at least a minute sooner or later.
    """

    kind: str
    name: str
    jobs: int
    wait_before: float
    wait_after: float
    completion_before: float
    wait: dict[str, float | None]
    completion: dict[str, float | None]
    better: int
    worse: int

    @property
    def verdict(self) -> str:
        """What can be said of the completion."""
        low, high = self.completion["low"], self.completion["high"]
        if low is None or high is None:
            return "too few"
        if low == high == 0:
            return "same"
        return "shorter" if high < 0 else "longer" if low > 0 else "unclear"


def groups(base: Jobs, other: Jobs, who: Roll, sizes: list[Size], seed: int) -> list[Group]:
    """Return every group with at least one job that finished both ways; of each kind those that change most first."""
    paired = pairs(base, other)
    if not len(paired.numbers):
        return []
    draws = drawn(who.submit_us[paired.numbers], seed)
    found = measures(paired)
    made: list[Group] = []
    for kind, names in who.names.items():
        numbers = who.whose[kind][paired.numbers]
        made += [
            _group(kind, name, numbers == i, found, paired, draws)
            for i, name in enumerate(names)
            if (numbers == i).any()
        ]
    milli = paired.base.milli
    for size in sizes:
        mask = (milli > size.above) & (milli <= size.most)
        if mask.any():
            made.append(_group("size", size.label, mask, found, paired, draws))
    return made


def _group(
    kind: str, name: str, mask: NDArray[np.bool_], found: dict[str, NDArray[np.float64]], paired: Pairs, draws: Draws
) -> Group:
    of, completion = draws.blocks.of[mask], found["completion"][mask]
    return Group(
        kind, name, int(mask.sum()), _mean_s(paired.base.wait_us[mask]), _mean_s(paired.other.wait_us[mask]),
        _mean_s(paired.base.jct_us[mask]), interval(found["wait"][mask], of, draws), interval(completion, of, draws),
        int((completion <= -NOTICED_S).sum()), int((completion >= NOTICED_S).sum()),
    )  # fmt: skip


def _mean_s(times_us: NDArray[np.int64]) -> float:
    return float(times_us.mean()) / SECOND_US


def as_words(group: Group) -> dict[str, Any]:
    """Return a group for programs."""
    return {**group._asdict(), "verdict": group.verdict}


def fidelity(base: Jobs, who: Roll) -> dict[str, float] | None:
    """Return how the replay of what is compares with the record: mean and median completion of each, in seconds.

    None where not every job says how long it took.
    """
    if not who.recorded or not len(base.number):
        return None
    took = who.took_us[base.number] / SECOND_US
    replayed = base.jct_us / SECOND_US
    return {
        "recorded_mean": float(took.mean()), "replayed_mean": float(replayed.mean()),
        "recorded_median": float(np.median(took)), "replayed_median": float(np.median(replayed)),
    }  # fmt: skip
