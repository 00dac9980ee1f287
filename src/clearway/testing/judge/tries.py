"""The rule tries: what is tried again after its own failure, when at the earliest, and what is not."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from clearway.testing.judge.values import Raw, as_list, moment, show, span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clearway.testing.judge.world import World

OWN = ("failed", "timed_out")
_KILLED = 137
_BACKOFF_S, _LONGEST_S, _LOSSES = 2, 300, 10  # the defaults of docs/job.md
_ENDS_IT = ("deadline", "start_deadline", "after", "on_deadline", "retry_window")
"""Words by which a job may end otherwise than by its last failure."""


def tries(w: World) -> Iterator[str]:
    """Check retries after own failures: only where the words allow one, not before its delay, and all that are due."""
    persons = {str(e.get(kind)) for _, e in w.events for kind in ("rerun", "requeue") if e.get(kind)}
    for name, job in w.jobs.items():
        words = w.words(name)
        if w.reran(name) or name in persons or words.get("part"):
            continue
        yield from _again(name, words, job["attempts"])
        yield from _given_up(name, words, job)


def _again(name: str, words: Raw, attempts: list[Raw]) -> Iterator[str]:
    failures = losses = 0
    for earlier, later in pairwise(attempts):
        what = f"{name}#{later['number']} starts"
        failures += earlier["end"] in OWN
        losses += earlier["end"] in ("lost", "evicted")
        if failures > words.get("max_retries", 0):
            yield f"{what} after {failures} own failures, max_retries is {words.get('max_retries', 0)}"
        if losses > words.get("max_losses", _LOSSES):
            yield f"{what} after {losses} losses, max_losses is {words.get('max_losses', _LOSSES)}"
        if earlier["end"] not in OWN:
            continue
        if not _named(words, earlier):
            yield f"{what} after #{earlier['number']} {earlier['end']}, which retry_on does not name"
        if moment(later["from"]) < moment(earlier["to"]) + _delay(words, failures):
            yield f"{what} at {later['from']} s, before its delay of {show(_delay(words, failures))} is over"


def _given_up(name: str, words: Raw, job: Raw) -> Iterator[str]:
    """Check that a job that failed by itself had no try left."""
    if job["state"] != "failed" or not job["attempts"] or any(words.get(word) for word in _ENDS_IT):
        return
    last = job["attempts"][-1]
    own = sum(a["end"] in OWN for a in job["attempts"])
    if last["end"] == "failed" and own <= words.get("max_retries", 0) and _named(words, last):
        yield f"{name} failed after {own} own failures and is not tried again, {_left(words, own)} left"


def _left(words: Raw, own: int) -> str:
    left = words.get("max_retries", 0) - own + 1
    return f"{left} {'try' if left == 1 else 'tries'}"


def _delay(words: Raw, failures: int) -> int:
    if words.get("retry_jitter", "none") != "none":
        return 0
    longest = span(words.get("retry_backoff_max", _LONGEST_S))
    delay = span(words.get("retry_backoff", _BACKOFF_S))
    for _ in range(failures - 1):
        if not 0 < delay < longest:
            break
        delay *= 2
    return min(delay, longest)


def _named(words: Raw, attempt: Raw) -> bool:
    """Whether the way in which an attempt failed is one after which the job is tried again."""
    causes = as_list(words.get("retry_on")) or ["failed"]
    if attempt["end"] == "timed_out":
        return "timed_out" in causes
    codes = as_list(words.get("exit_code", 0))
    code = codes[min(attempt["number"], len(codes)) - 1]
    if code == 0:
        return True  # it failed otherwise than by its exit code
    spans = [cause.removeprefix("exit ").split("-") for cause in causes if cause.startswith("exit ")]
    in_span = any(int(pair[0]) <= code <= int(pair[-1]) for pair in spans)
    return in_span or "failed" in causes or ("oom" in causes and code == _KILLED)
