"""Which own failure is tried again, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.loop.entry import OWN_FAILURES
from clearway.model.reasons import Code, Reason, because
from clearway.model.retry_words import kind_of, names
from clearway.model.states import End

if TYPE_CHECKING:
    from clearway.loop.entry import JobEntry

MOST_DOUBLINGS = 60  # beyond this any delay is at its cap; keeps the shift small


def used_up(entry: JobEntry, end: End, cause: Reason) -> Reason | None:
    """Return why a job is not tried again after an own failure that was counted; None where it is."""
    spec = entry.spec
    if not names(spec.retry_on, end, cause):
        if spec.retry_on and kind_of(end, cause) in ("failed", "oom"):
            return because(Code.NOT_RETRIED, retry_on=", ".join(spec.retry_on), exit_code=cause.get("exit_code", 0))
        return cause
    if entry.retries <= spec.max_retries:
        return None
    told = {key: value for key, value in cause.facts if key in ("exit_code", "oom", "limit_us", "error")}
    return because(Code.RETRIES_USED_UP, tries=entry.retries, max_retries=spec.max_retries, **told)


def for_good(entry: JobEntry) -> bool:
    """Return whether an attempt is being stopped after which its job has no other, so that no wish changes that."""
    intent = entry.intent
    if intent is None:
        return False
    if intent.end is End.TIMED_OUT:
        last = entry.retries >= entry.spec.max_retries
        return last or not names(entry.spec.retry_on, intent.end, intent.cause)
    return intent.end in (End.SUCCEEDED, End.CANCELLED)


def waits_again(entry: JobEntry) -> bool:
    """Return whether the job will wait again, however the attempt that is being stopped ends."""
    return entry.intent is not None and entry.intent.end not in (*OWN_FAILURES, End.SUCCEEDED, End.CANCELLED)


def delay_us(entry: JobEntry, seed: int) -> int:
    """Return the delay before the next retry: doubled each time, capped, with full jitter on request."""
    spec = entry.spec
    doublings = min(max(entry.retries - 1, 0), MOST_DOUBLINGS)
    delay = min(spec.retry_backoff_us << doublings, spec.retry_backoff_max_us)
    return delay if spec.retry_jitter == "none" else _mix(seed, entry.id, entry.attempt) % (delay + 1)


def _mix(*numbers: int) -> int:
    """Return 64 well-mixed bits of some numbers (splitmix64; Steele, Lea, Flood 2014), the same on every machine."""
    mask, state = (1 << 64) - 1, 0
    for number in numbers:
        state = (state + number + 0x9E3779B97F4A7C15) & mask
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & mask
        state ^= state >> 31
    return state


def window_end_us(entry: JobEntry) -> int | None:
    """Return after which moment no attempt starts any more; None where there is no such moment."""
    if entry.spec.retry_window_us is None or entry.first_started_us is None:
        return None
    return entry.first_started_us + entry.spec.retry_window_us
