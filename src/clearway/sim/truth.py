"""What really happens to a job: known to the simulator alone, never to the scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from clearway.model import values as v
from clearway.model.errors import InputError
from clearway.model.job import LEVELS
from clearway.model.words import Word, read_words

if TYPE_CHECKING:
    from collections.abc import Mapping

FULL = 10**6
"""Speed of a job that runs undisturbed on a model it says nothing about, in millionths."""

NEVER = "never"
MAX_EXIT_CODE = 255
MOST_TELLINGS = 10_000
MAX_SPEED = 10**6  # of FULL: keeps products of times and speeds far from nonsense


class Truth(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """How long a job runs undisturbed and how it ends, one entry per attempt (the last repeats).

    `runtimes_us` empty: it runs until it is stopped. `stop_us` is from the order to stop until it is gone, None for
    never. `speed` by GPU model and `slowdown` by level are in millionths, `busy` (the part of its devices that it
    really uses) in thousandths; `idle_after_us` after each start it uses them no more. `result` is the JSON text that a
    success gives back, `reports` are those that it tells on its way, evenly over its work: the first at step 1, the
    last with its end. Without any it tells `progress` times in the same way how far it is.
    `took_us` is how long it took when it was recorded, from its submit to its end: nothing is simulated by it.
    """

    runtimes_us: tuple[int, ...] = ()
    exit_codes: tuple[int, ...] = (0,)
    stop_us: int | None = 0
    speed: tuple[tuple[str, int], ...] = ()
    slowdown: tuple[tuple[str, int], ...] = ()
    busy: int = v.MILLI
    cancel_after_us: int | None = None
    idle_after_us: int | None = None
    result: str = ""
    reports: tuple[str, ...] = ()
    progress: int = 0
    took_us: int | None = None

    def runtime_us(self, attempt: int) -> int | None:
        """Return how long this attempt would run from nothing; None for until it is stopped."""
        times = self.runtimes_us
        return times[min(attempt, len(times)) - 1] if times else None

    @property
    def tellings(self) -> int:
        """How many times it tells something on its way."""
        return len(self.reports) or self.progress

    def exit_code(self, attempt: int) -> int:
        """Return how this attempt ends by itself."""
        return self.exit_codes[min(attempt, len(self.exit_codes)) - 1]


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _runtimes(field: str, value: object) -> tuple[int, ...]:
    found = tuple(v.duration(field, x) for x in _listed(value))
    if not found:
        raise InputError(field, value, "a duration, or a list with one per attempt")
    return found


def _exit_codes(field: str, value: object) -> tuple[int, ...]:
    found = tuple(v.count(field, x, 0, MAX_EXIT_CODE) for x in _listed(value))
    if not found:
        raise InputError(field, value, "an exit code, or a list with one per attempt")
    return found


def _stop_time(field: str, value: object) -> int:
    return -1 if value == NEVER else v.duration(field, value)


def _factor(field: str, value: object) -> int:
    exact = v.number(field, value, f"a number above 0 and at most {MAX_SPEED}") * FULL
    if not 1 <= exact <= MAX_SPEED * FULL:
        raise InputError(field, value, f"a number above 0 and at most {MAX_SPEED}")
    return round(exact)


def _factors(field: str, value: object) -> tuple[tuple[str, int], ...]:
    if not isinstance(value, dict):
        raise InputError(field, value, "a map of names to factors")
    return tuple(sorted((v.name(field, k), _factor(f"{field}.{k}", x)) for k, x in value.items()))


def _slowdown(field: str, value: object) -> tuple[tuple[str, int], ...]:
    found = _factors(field, value)
    for level, _ in found:
        v.choice(field, level, LEVELS)
    return found


def _busy(field: str, value: object) -> int:
    exact = v.number(field, value, "a number from 0 to 1")
    if exact > 1:
        raise InputError(field, value, "a number from 0 to 1")
    return round(exact * v.MILLI)


def _tellings(field: str, value: object) -> int:
    return v.count(field, value, 0, MOST_TELLINGS)


TRUTH_WORDS: dict[str, Word] = {
    "runtime": Word(_runtimes, "text", "how long it really runs undisturbed; a list gives one per attempt"),
    "exit_code": Word(_exit_codes, "number", "how it ends; a list gives one per attempt"),
    "stop_time": Word(_stop_time, "text", "from the order to stop until it is gone, or never"),
    "speed": Word(_factors, "map", "by GPU model: its run time is divided by it"),
    "slowdown": Word(_slowdown, "map", "by level that holds all its devices: its run time is multiplied by it"),
    "busy": Word(_busy, "number", "the part of its devices that it really uses"),
    "idle_after": Word(v.duration, "text", "so long after each start its devices do nothing any more"),
    "progress": Word(_tellings, "number", "so many times it tells on its way, evenly over its work, how far it is"),
    "cancel_after": Word(v.duration, "text", "it is cancelled so long after its submit"),
}


def read_truth(raw: Mapping[str, object]) -> Truth:
    """Read the words that only a scenario has; other keys of `raw` are left alone."""
    own = {k: x for k, x in raw.items() if k in TRUTH_WORDS}
    given: dict[str, Any] = read_words(f"job {raw.get('name')!s:.60}", own, TRUTH_WORDS)
    stop_us = given.get("stop_time", 0)
    return Truth(
        runtimes_us=given.get("runtime", ()),
        exit_codes=given.get("exit_code", (0,)),
        stop_us=None if stop_us < 0 else stop_us,
        speed=given.get("speed", ()),
        slowdown=given.get("slowdown", ()),
        busy=given.get("busy", v.MILLI),
        cancel_after_us=given.get("cancel_after"),
        idle_after_us=given.get("idle_after"),
        progress=given.get("progress", 0),
    )
