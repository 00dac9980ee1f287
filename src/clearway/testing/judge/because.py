"""Why a line is broken: what a job waited for, and how it ended, at the time that the line is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from clearway.testing.judge.values import NEVER, Raw, moment, show

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clearway.testing.judge.world import World

MOST_LINES = 3
"""How many lines say why one expectation is broken."""

ALWAYS = -1
"""Before every moment of a timeline, in microseconds."""

STARTS, WAITS, RUNS, OVER = "starts", "waits", "runs", "over"
OTHER_THAN_STARTS = frozenset({WAITS, RUNS, OVER})


class Breach(NamedTuple):
    """What does not hold, and lines that say why, as far as that is known."""

    text: str
    why: tuple[str, ...] = ()


class _Piece(NamedTuple):
    kind: str
    since: int
    until: int
    text: str


def because(
    w: World, job: str, since: int = ALWAYS, until: int = NEVER, kinds: Iterable[str] = OTHER_THAN_STARTS
) -> tuple[str, ...]:
    """Return what happened to a job between two moments (microseconds), the longest pieces, in order of time."""
    known = {p for name in w.kin(job) for p in _pieces(w, name) if p.kind in kinds}
    there = [p for p in known if p.since <= until and p.until >= since and not _just_begins(p, since, until)]
    there += [p for name in w.kin(job) for p in _entry(w, name) if since > ALWAYS and since < p.since <= until]
    # What has no length, a start or a refusal, is told first: it is what the rest led to.
    there.sort(key=lambda p: (p.since != p.until, p.since - p.until, p.since, p.text))
    chosen = sorted(there[:MOST_LINES], key=lambda p: (p.since, p.until, p.text))
    return tuple(p.text for p in chosen)


def because_of_all(w: World, jobs: Iterable[str], kinds: Iterable[str] = OTHER_THAN_STARTS) -> tuple[str, ...]:
    """Return what happened to the first of several jobs."""
    return tuple(line for job in jobs for line in because(w, job, kinds=kinds))[:MOST_LINES]


def _just_begins(piece: _Piece, since: int, until: int) -> bool:
    """Whether a piece begins only where the time asked about ends: then it is no cause of what happened then."""
    return since < until == piece.since < piece.until


def _entry(w: World, job: str) -> Iterator[_Piece]:
    at = moment(w.jobs[job].get("submitted"))
    yield _Piece(WAITS, at, at, f"{job} was submitted only at {show(at)}")


def _pieces(w: World, job: str) -> Iterator[_Piece]:
    entry = w.jobs[job]
    yield from _waits(job, entry)
    causes = {e.get("attempt"): e.get("cause") for e in w.shown if e["kind"] == "started" and e.get("job") == job}
    for attempt in entry["attempts"]:
        begin, end, number = moment(attempt["from"]), moment(attempt["to"]), attempt["number"]
        yield _Piece(STARTS, begin, begin, f"{job} starts at {show(begin)}: {causes.get(number) or 'no cause'}")
        yield _Piece(RUNS, begin, end, _run(job, attempt))
    ended, reason = moment(entry.get("ended")), entry.get("reason")
    if ended < NEVER and reason:
        yield _Piece(OVER, ended, ended, f"{job} ended {entry['state']} at {show(ended)}: {_text(reason)}")


def _run(job: str, attempt: Raw) -> str:
    begin, end = moment(attempt["from"]), moment(attempt["to"])
    if end >= NEVER:
        return f"{job} runs from {show(begin)} on"
    cause = attempt.get("cause")
    said = f": {_text(cause)}" if cause else ""
    return f"{job} ran from {show(begin)} to {show(end)}, {attempt['end']}{said}"


def _waits(job: str, entry: Raw) -> Iterator[_Piece]:
    """Yield the waits, joining those that follow one another with the same reasons."""
    joined: list[tuple[int, int, str]] = []
    for wait in entry.get("waits") or []:
        since, until = moment(wait["from"]), moment(wait["to"])
        text = "; ".join(_text(reason) for reason in wait["reasons"])
        if joined and joined[-1][2] == text and joined[-1][1] == since:
            since = joined.pop()[0]
        joined.append((since, until, text))
    for since, until, text in joined:
        if until > since:
            over = f"waited from {show(since)} to {show(until)}" if until < NEVER else f"waits from {show(since)} on"
            yield _Piece(WAITS, since, until, f"{job} {over}: {text}")


def _text(reason: object) -> str:
    return str(reason.get("text") or reason.get("code")) if isinstance(reason, dict) else str(reason)
