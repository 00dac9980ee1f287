"""Twenty pairs of searches on the digits: how much CPU time sampling with early stopping takes to find as good a point.

Each pair has its own seed. Random search runs its trials to their end. TPE with early stopping (successive halving)
then goes on until it has a completed or stopped trial that is as good as the best of random search, or has used as
much time. Both go through the product's own rules and samplers (`flow.search`, `flow.stopping`, `learn`), one trial
after the other in this process, so that CPU time is that of the trials alone. The loss is measured on digits that no
trial trains on.
"""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from clearway.flow.json_text import text_of, value_of
from clearway.flow.search import SearchTrack, draw_of, next_point
from clearway.flow.search_words import read_search
from clearway.flow.stopping import stops
from clearway.learn.optuna_sampler import OptunaSampler
from clearway.model.ids import JobId
from clearway.model.states import State
from examples.flows import trials

if TYPE_CHECKING:
    from argparse import Namespace

TITLE = "CPU time until a search on the digits is as good as random search, with early stopping"
STUDIES, TRIALS = 20, 20
KEYS = {
    "studies": "pairs of searches",
    "trials": "trials of each random search",
    "reached": "pairs in which early stopping came to random search's best in no more CPU time",
    "share_median": "CPU time until then over that of random search, the median of all pairs (1 where it did not)",
    "share_worst": "the largest of these shares",
    "within_half": "pairs in which it took at most half of it",
    "total_share": "CPU time of all pairs together until then, over that of random search",
}


def run(args: Namespace) -> dict[str, Any]:
    """Measure all pairs."""
    del args
    shares, mine, whole = [], 0.0, 0.0
    for seed in range(STUDIES):
        best, random_s = _random(seed)
        found_s = _stopped(seed, best, random_s)
        shares.append(min(found_s / random_s, 1.0))
        mine, whole = mine + min(found_s, random_s), whole + random_s
        print(f"pair {seed + 1}: random {best:.4f} in {random_s:.1f} s, as good after {found_s:.1f} s", flush=True)
    return {
        "studies": STUDIES, "trials": TRIALS, "reached": sum(share < 1 for share in shares),
        "share_median": statistics.median(shares), "share_worst": max(shares),
        "within_half": sum(share <= 0.5 for share in shares), "total_share": mine / whole,  # noqa: PLR2004
    }  # fmt: skip


def _track(seed: int, **words: Any) -> SearchTrack:  # noqa: ANN401  words of a search
    known = {
        "name": "X",
        "trials": 10**6,
        "space": trials.SPACE,
        "seed": seed,
        "metric": "loss",
        "job": {"run": "true"},
    }
    return SearchTrack(read_search({**known, **words}))


def _random(seed: int) -> tuple[float, float]:
    """Return the best of a random search, and its CPU seconds."""
    track, spent, best = _track(seed), 0.0, 1.0
    for _ in range(TRIALS):
        point = next_point(track).text
        track.entered(JobId(len(track.trials) + 1), point, -1)
        *_, (loss, cpu_s) = trials.curve(**value_of(point))
        best, spent = min(best, loss), spent + cpu_s
    return best, spent


def _stopped(seed: int, wanted: float, most_s: float) -> float:
    """Return the CPU seconds after which a search with early stopping has a point as good as wanted."""
    track = _track(seed, sampler="tpe", stop={"rule": "halving", "min_step": 1, "reduction": 3})
    sampler, spent = OptunaSampler(), 0.0
    while spent < most_s:
        number = len(track.trials) + 1
        trial = track.entered(JobId(number), sampler.draw(draw_of(track)), -1)
        early, loss, cpu_s = False, 1.0, 0.0
        for step, (loss, cpu_s) in enumerate(trials.curve(**value_of(trial.point)), 1):
            track.reported(number, step, text_of("loss", loss))
            if loss <= wanted:
                return spent + cpu_s
            if stops(track, trial):
                early = True
                break
        spent += cpu_s
        state = State.CANCELLED if early else State.SUCCEEDED
        track.job_is(JobId(number), state, text_of("loss", {"loss": loss}), stopped=early)
    return spent
