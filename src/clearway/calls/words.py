"""The options of a task: which of them are about each call, and which about the workers that it needs.

All are words of a job, read by the same table. What a call needs to run (devices, queue, priority, environment) makes
its *pool*: calls whose workers would be alike share them.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import msgspec

from clearway.model.errors import InputError
from clearway.model.words import JOB_WORDS, read_job, read_words

OF_CALLS = ("max_retries", "retry_backoff", "retry_backoff_max", "time_limit", "max_losses")
"""Words about each call."""
TIME_LIMIT = "time_limit"
NOT_OF_CALLS = frozenset(
    {
        "name", "array", "roles", "tasks", "min_tasks", "one_per_node", "after", "start_deadline", "deadline", "pin",
        "on_deadline", "speedup", "idempotency_key", "time_estimate", "retry_on", "retry_window", "retry_jitter",
        "max_cost", "code",
    }
)  # fmt: skip
"""Words of a job that say nothing about a call, or that calls do not carry out."""
RETRY_ON = "retry_on"
WORKER_CPUS = 1
"""What a worker asks for that says nothing of CPUs: without it a machine would be given any number of them."""
MAX_LOSSES = 10
BACKOFF_US, BACKOFF_MAX_US = 2_000_000, 300_000_000


class Rules(NamedTuple):
    """What holds for each call of a recipe."""

    pool: str
    max_retries: int = 0
    retry_backoff_us: int = BACKOFF_US
    retry_backoff_max_us: int = BACKOFF_MAX_US
    limit_us: int | None = None
    max_losses: int = MAX_LOSSES
    retry_on: tuple[str, ...] = ()

    def retries(self, types: list[str], failures: int) -> bool:
        """Whether a call that failed so, for the n-th time, is tried again."""
        if failures > self.max_retries:
            return False
        return any(name in self.retry_on for name in types) if self.retry_on else types[:1] != [TIMED_OUT]

    def delay_us(self, failures: int) -> int:
        """How long it waits before it is tried again."""
        return min(self.retry_backoff_us << min(failures - 1, 40), self.retry_backoff_max_us)


TIMED_OUT = "timed_out"
"""What stands in place of an exception's type where a call took longer than its time limit."""


def read_rules(said: dict[str, Any], defaults: dict[str, Any], *, actor: bool = False) -> Rules:
    """Read the options of a task. `defaults` are what every job has that does not say.

    Of an actor, retries and losses are those of its process, and no call is tried again for what it raised.

    Raises InputError for one that is refused.
    """
    words = {**{k: v for k, v in defaults.items() if k not in NOT_OF_CALLS}, **said}
    retry_on = _names(words.pop(RETRY_ON, ()))
    known = {name: word for name, word in JOB_WORDS.items() if name not in NOT_OF_CALLS}
    given = read_words("task", words, known)
    about = {word: given[word] for word in OF_CALLS if word in given}
    calls = (TIME_LIMIT,) if actor else OF_CALLS
    pool = {word: value for word, value in words.items() if word not in calls}
    pool.setdefault("cpus", WORKER_CPUS)
    read_job({**pool, "name": "worker"})
    return Rules(
        pool=json.dumps(pool, sort_keys=True),
        retry_on=retry_on,
        max_retries=0 if actor else about.get("max_retries", 0),
        retry_backoff_us=about.get("retry_backoff", BACKOFF_US),
        retry_backoff_max_us=about.get("retry_backoff_max", BACKOFF_MAX_US),
        limit_us=about.get("time_limit"),
        max_losses=about.get("max_losses", MAX_LOSSES),
    )


def plain_words(said: str) -> dict[str, Any]:
    """Return the options of a task from JSON. Raises InputError where they are none."""
    try:
        words = msgspec.json.decode(said)
    except msgspec.DecodeError as error:
        raise InputError("words", said, f"the options of a task as JSON ({error})") from error
    if not isinstance(words, dict):
        raise InputError("words", said, "a map of options")
    for word in words:
        if word in NOT_OF_CALLS - {RETRY_ON} and word in JOB_WORDS:
            raise InputError(word, words[word], "a word of jobs that tasks do not have", "task")
    return words


def _names(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) and name for name in value):
        raise InputError(RETRY_ON, value, "names of exceptions, and timed_out", "task")
    return tuple(value)
