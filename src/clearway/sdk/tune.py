"""`clearway.tune`: a function is called at point after point, each in a job of its own, until the best are found.

import clearway

def loss(rate, layers):
    for epoch in range(1, 28):
        ...
        clearway.report(now, step=epoch)
    return now

space = {"rate": {"from": 0.001, "to": 0.1}, "layers": [2, 4]}
found = clearway.tune(loss, space, trials=40, parallel=4, stop="median")
print(found.point, found.value)
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from clearway.sdk.flows.packed import job_words
from clearway.sdk.flows.run import LOOK_S, OVER, failure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SEARCH_WORDS = ("parallel", "sampler", "seed", "max_failed", "metric", "direction", "stop")


class Tuned(NamedTuple):
    """What a search came to: the best point and what it is worth (None: no trial told), and all trials."""

    point: dict[str, Any] | None
    value: float | None
    trials: list[dict[str, Any]]


def tune(
    function: Callable[..., Any], space: Mapping[str, object], *, trials: int, name: str = "", **words: object
) -> Tuned:
    """Search for the best point of a space, wait, and return it.

    `function` gets the values of a point by name, and returns a number, or with `metric` a map that has it. Of `words`
    those of a search (`parallel`, `sampler`, `seed`, `max_failed`, `metric`, `direction`, `stop`) are the search's, all
    else (`gpus`, `max_retries`, ..) are words of the trials' jobs. FlowError: the search did not succeed, and why.
    """
    from clearway.sdk import connect

    called = name or getattr(function, "__name__", "search")
    of_search = {word: words.pop(word) for word in SEARCH_WORDS if word in words}
    plain = getattr(function, "function", function)
    job = job_words("trial", plain, words)
    client = connect()
    client.run_search({"name": called, "trials": trials, "space": dict(space), **of_search, "job": job})
    looks = iter(LOOK_S)
    while (row := client.search(called))["state"] not in OVER:
        time.sleep(next(looks, LOOK_S[-1]))
    if row["state"] != "succeeded":
        raise failure(f"search {called}", row)
    best = row["best"]
    return Tuned(best and best["point"], best and best["value"], row["trials"])
