"""How values look to people: names without control characters, times relative to now, sizes in GiB."""

from __future__ import annotations

import signal
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

GIB = 2**30
MIB = 2**20
NOTHING = "-"
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400

AHEAD: ContextVar[timedelta] = ContextVar("AHEAD", default=timedelta())
"""How far the controller's clock is ahead of this machine's: setting a clock does not move the other."""


def keep_time(told: datetime) -> None:
    """Count time as whoever told this moment just now."""
    AHEAD.set(told - datetime.now(UTC))


def present() -> datetime:
    """Return what the controller's clock says now, as far as it was heard."""
    return datetime.now(UTC) + AHEAD.get()


def plain(text: object) -> str:
    """Return text in which every character that a terminal could act on is written out, as in a Python text."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in str(text))


def span(seconds: float) -> str:
    """Return a length of time in its two largest units: `0.4 s`, `12 s`, `3 m 05 s`, `2 h 14 m`, `3 d 4 h`."""
    if seconds < 9.95:  # noqa: PLR2004 - below this two digits are needed, above it tenths say nothing
        return f"{max(seconds, 0.0):.1f} s"
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} m {whole % _MINUTE:02} s"
    if whole < _DAY:
        return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE:02} m"
    return f"{whole // _DAY} d {whole % _DAY // _HOUR} h"


def moment(iso: object) -> datetime | None:
    """Return the moment that an ISO 8601 text names, None for none."""
    return datetime.fromisoformat(iso) if isinstance(iso, str) else None


def clock(iso: object) -> str:
    """Return a moment on the clock of this place: the time, with the date where it is not today."""
    then = moment(iso)
    if then is None:
        return NOTHING
    here = then.astimezone()
    today = here.date() == present().astimezone().date()
    return f"{here:%H:%M:%S}" if today else f"{here:%Y-%m-%d %H:%M:%S}"


def zoned(iso: object, zone: str) -> str:
    """Return a moment on the clock of a time zone, with the date and what that zone calls its time then."""
    then = moment(iso)
    return NOTHING if then is None else f"{then.astimezone(_zone(zone)):%a %Y-%m-%d %H:%M:%S %Z}"


def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except ZoneInfoNotFoundError:  # the controller's machine knows it, this one does not
        return UTC


def ago(iso: object, now: datetime | None = None) -> str:
    """Return how long ago (or in how long) a moment is, in one unit: `3 m ago`, `in 2 h`."""
    then = moment(iso)
    if then is None:
        return NOTHING
    seconds = ((now or present()) - then).total_seconds()
    amount = _one_unit(abs(seconds))
    return f"{amount} ago" if seconds >= 0 else f"in {amount}"


def _one_unit(seconds: float) -> str:
    for size, unit in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "m")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds)} s"


def expected(promise: dict[str, Any] | None) -> str:
    """Return what a reservation promises: `expected to start by 12:00:00 (reservation on vm)`; nothing for none."""
    if promise is None:
        return ""
    return f"expected to start by {clock(promise['start'])} (reservation on {', '.join(promise['nodes'])})"


def between(start: object, end: object, now: datetime | None = None) -> str:
    """Return the time from one ISO moment to another, or to now if that has not come."""
    begun = moment(start)
    if begun is None:
        return NOTHING
    return span(((moment(end) or now or present()) - begun).total_seconds())


def left(row: dict[str, Any]) -> str:
    """Return what is left of a running job: `about 40 min (80 %: 30 min to 55 min)`, and `step 3 of 10`."""
    found = row.get("left")
    if not found:
        return ""
    total = f" of {found['total']}" if found["total"] else ""
    step = "" if found["step"] is None else f"step {found['step']}{total}"
    if found["median_s"] is None:
        return step
    low, median, high = (roughly(found[word]) for word in ("low_s", "median_s", "high_s"))
    return f"about {median} (80 %: {low} to {high}){step and '; '}{step}"


def roughly(seconds: float) -> str:
    """Return a length of time in one unit: `40 s`, `55 min`, `7.5 h`, `3.2 d`."""
    for most, unit, each in ((90, "s", 1), (90 * _MINUTE, "min", _MINUTE), (36 * _HOUR, "h", _HOUR)):
        if seconds < most:
            return f"{seconds / each:.0f} {unit}" if unit != "h" else f"{seconds / each:.1f} h"
    return f"{seconds / _DAY:.1f} d"


def size(count: object) -> str:
    """Return bytes as `80 GiB`, below one as `512 MiB`."""
    if not isinstance(count, int) or isinstance(count, bool):
        return NOTHING
    if 0 < count < GIB:
        return f"{_short(count / MIB)} MiB"
    return f"{_short(count / GIB)} GiB"


def amount(value: object) -> str:
    """Return a number without needless zeros: `0.5`, `2`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return NOTHING if value is None else plain(value)
    return _short(value)


def _short(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")


def numbers(values: object) -> str:
    """Return device numbers as `0-3, 6`."""
    if not isinstance(values, list | tuple) or not values:
        return NOTHING
    runs: list[list[int]] = []
    for n in sorted(values):
        if runs and n == runs[-1][1] + 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def ending(code: int) -> str:
    """Return how a process ended: `exit code 3`, or `ended by signal 15 (SIGTERM)` for a negative number."""
    if code >= 0:
        return f"exit code {code}"
    known = {int(one): one.name for one in signal.Signals}
    return f"ended by signal {-code}" + (f" ({known[-code]})" if -code in known else "")


_SIZED = frozenset({"memory", "disk", "gpu_memory"})
_NOUNS = {"gpus": "GPUs", "cpus": "CPUs", "bandwidth": "Gbit/s", "gpu_memory": "GPU memory"}


def resources(amounts: dict[str, float]) -> str:
    """Return amounts by resource as `4 GPUs, 8 CPUs, 64 GiB memory`."""
    return ", ".join(f"{size(n) if key in _SIZED else amount(n)} {_noun(key, n)}" for key, n in amounts.items())


def _noun(key: str, n: float) -> str:
    noun = _NOUNS.get(key, key)
    return noun.removesuffix("s") if n == 1 and key in ("gpus", "cpus") else noun


def calls(counts: dict[str, int]) -> str:
    """Return how many calls wait and run, "" for none: `12 pending, 2 running`."""
    return ", ".join(f"{many} {state}" for state, many in counts.items() if many)
