"""Which jobs of the past hung on the end of others, and how long their users thought in between.

After Shmueli and Feitelson, "On Simulation and Evaluation of Parallel-Systems Schedulers" (MASCOTS 2009), and Zakay
and Feitelson, "Preserving User Behavior Characteristics in Trace-Based Simulation of Parallel Job Scheduling" (MASCOTS
2014). A *batch* is what a user submits while something of theirs is there, each not longer than `MOST_US` after the one
before. A batch that begins at most `MOST_US` after all of theirs were over hangs on the one that was over last; that
time is the time of thought. Every other batch begins when it began.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clearway.model.values import SECOND_US

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_US = 20 * 60 * SECOND_US
"""Longer than that a user had gone away: the two papers above take 20 minutes, where the distribution of gaps bends."""
NOBODY = -1


class Thinking(NamedTuple):
    """The batch of each job, in the order of the list; of each batch what it hangs on (-1: nothing), and so on.

    `think_us` is the time of thought, `begin_us` the submit of its first job, `sizes` how many jobs it has; `followers`
    are the batches that hang on one.
    """

    batches: NDArray[np.int64]
    after: NDArray[np.int64]
    think_us: NDArray[np.int64]
    begin_us: NDArray[np.int64]
    sizes: NDArray[np.int64]
    followers: dict[int, list[int]]

    @property
    def jobs(self) -> int:
        """How many jobs hang on the end of others."""
        return int(self.sizes[self.after >= 0].sum())


@dataclass(slots=True)
class _User:
    """Where one user stands: the batch that goes on, the last submit, the latest end so far and whose it is."""

    batch: int
    submit_us: int
    end_us: int
    end_batch: int


def thinking(
    users: NDArray[np.int64], submit_us: NDArray[np.int64], end_us: NDArray[np.int64], most_us: int = MOST_US
) -> Thinking:
    """Return what hangs on what. Jobs are in order of their submits; those of user NOBODY hang on nothing."""
    batches = np.zeros(len(users), dtype=np.int64)
    after: list[int] = []
    think: list[int] = []
    begin: list[int] = []
    known: dict[int, _User] = {}
    for i, (user, at, over) in enumerate(zip(users.tolist(), submit_us.tolist(), end_us.tolist(), strict=True)):
        state = known.get(user)
        if user == NOBODY or state is None or at >= state.end_us or at - state.submit_us > most_us:
            batch = len(after)
            gap = at - state.end_us if user != NOBODY and state is not None else -1
            hangs = state is not None and 0 <= gap <= most_us
            after.append(state.end_batch if state is not None and hangs else NOBODY)
            think.append(gap if hangs else 0)
            begin.append(at)
        else:
            batch = state.batch
        batches[i] = batch
        if user != NOBODY:
            later = state is None or over >= state.end_us
            ends = (over, batch) if later or state is None else (state.end_us, state.end_batch)
            known[user] = _User(batch, at, *ends)
    followers: dict[int, list[int]] = {}
    for batch, on in enumerate(after):
        if on >= 0:
            followers.setdefault(on, []).append(batch)
    sizes = np.bincount(batches, minlength=len(after)) if len(users) else np.zeros(0, dtype=np.int64)
    return Thinking(batches, np.array(after, dtype=np.int64), np.array(think), np.array(begin), sizes, followers)
