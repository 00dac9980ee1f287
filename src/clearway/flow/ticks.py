"""The ticks of a schedule: local times by cronsim, moments of the wall clock by the rules for clock changes.

cronsim walks through local times as if clocks never changed; each is then put into the time zone here. A fixed hour
that is left out runs at the moment that the same time before the change would be (02:30 as 03:30), or is skipped; one
that is repeated runs the first time, or both. An hour field that begins with `*` goes on in real time: it runs both
times, and what falls into the hour left out runs at the shifted moment, unless a tick is there already.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from heapq import heappop, heappush
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from clearway.flow.chance import mixed
from clearway.model.asks import TickView
from clearway.model.errors import InputError
from clearway.model.reasons import Code

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from clearway.model.flow import ScheduleSpec

NAMED = {
    "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}  # fmt: skip
"""Names that stand for five fields."""

_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST = datetime(1969, 12, 30)  # noqa: DTZ001  a local time, on purpose
_DAY, _NEAR, _US = timedelta(days=1), timedelta(hours=25), timedelta(microseconds=1)
_SIX = 6
_WINDOWS = (timedelta(hours=1), timedelta(days=1), timedelta(days=40), timedelta(days=2000))
_LAST_YEAR = 9000


class Tick(NamedTuple):
    """One tick; `skipped`: the clock change leaves it out; `excluded`: on its day nothing runs.

    It is taken at `due_us`, which is later than `at_us` where the schedule has a jitter.
    """

    at_us: int
    skipped: bool
    excluded: bool = False
    due_us: int = 0


def check_zone(field: str, name: str) -> str:
    """Return the name of a time zone; InputError where there is none."""
    try:
        _zone(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InputError(field, name, "a time zone by its IANA name, such as Europe/Berlin, or UTC") from None
    return name


def check_cron(field: str, text: str) -> str:
    """Return five fields (six with seconds first) or a known name; InputError where they are none, or never come."""
    try:
        next(CronSim(_fields(text), _FIRST), None)
    except (CronSimError, ValueError):
        rule = "five fields (minute hour day month weekday), or six with seconds first, or one of " + ", ".join(NAMED)
        raise InputError(field, text, rule) from None
    return text


@lru_cache(maxsize=64)
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


def _fields(text: str) -> str:
    return NAMED.get(text.strip().lower(), text)


def shown(at_us: int) -> str:
    """Return a moment of the wall clock as the name of a tick."""
    return (_BEGINNING + timedelta(microseconds=at_us)).strftime("%Y-%m-%dT%H:%M:%SZ")


def ticks(spec: ScheduleSpec, after_us: int) -> Iterator[Tick]:
    """Yield the ticks later than a moment, in order, each once."""
    first_us = max(after_us, -1 if spec.from_us is None else spec.from_us - 1)
    last = due_us = -1
    for tick in _in_order(spec, first_us):
        if spec.to_us is not None and tick.at_us > spec.to_us:
            return
        if tick.at_us > first_us and tick.at_us != last:
            last = tick.at_us
            due_us = max(due_us, tick.at_us + _delay_us(spec, tick.at_us))  # they keep their order
            yield tick._replace(excluded=_excluded(spec, tick.at_us), due_us=due_us)


def next_ones(spec: ScheduleSpec, after_us: int, many: int, taken: Container[int] = ()) -> tuple[TickView, ...]:
    """Return the next ticks that are not taken yet, also those that are to be skipped."""
    fresh = (tick for tick in ticks(spec, after_us) if tick.at_us not in taken)
    return tuple(TickView(tick.at_us, tick.due_us, _to_skip(tick)) for tick in islice(fresh, many))


def row(tick: TickView) -> dict[str, str | None]:
    """Return a tick that comes as people and programs read it: its name, when it is taken, why it is to be skipped."""
    return {"tick": shown(tick.at_us), "at": shown(tick.due_us), "skipped": tick.skipped and str(tick.skipped)}


def _to_skip(tick: Tick) -> Code | None:
    return Code.EXCLUDED if tick.excluded else Code.CLOCK_CHANGE if tick.skipped else None


def _delay_us(spec: ScheduleSpec, at_us: int) -> int:
    """Return how much later than its moment a tick is taken."""
    return mixed(crc32(spec.name.encode()), at_us) % (spec.jitter_us + 1) if spec.jitter_us else 0


def _excluded(spec: ScheduleSpec, at_us: int) -> bool:
    if not spec.exclude:
        return False
    day = (_BEGINNING + timedelta(microseconds=at_us)).astimezone(_zone(spec.timezone)).date().isoformat()
    return any(first <= day <= last for first, last in spec.exclude)


def latest(spec: ScheduleSpec, after_us: int, until_us: int, most: int) -> list[Tick]:
    """Return the newest ticks later than a moment and not later than another one, at most so many, in order.

    Those of excluded days are left out: nothing is to be made up for.
    """
    found: list[Tick] = []
    for window in (*_WINDOWS, None):
        begin = after_us if window is None else max(after_us, until_us - window // _US)
        found = []
        for tick in ticks(spec, begin):
            if tick.due_us > until_us:
                break
            if not tick.excluded:
                found.append(tick)
        if len(found) >= most or begin == after_us:
            break
    return found[-most:]


def _in_order(spec: ScheduleSpec, after_us: int) -> Iterator[Tick]:
    """Yield the ticks around and after a moment; a clock change may bring them out of the order of local times."""
    zone, text = _zone(spec.timezone), _fields(spec.cron)
    parts = text.split()
    star = parts[-4].startswith("*")
    local = (_BEGINNING + timedelta(microseconds=max(after_us, 0))).astimezone(zone).replace(tzinfo=None)
    begin = max(local - _NEAR if _changes_near(local, zone) else local - _US, _FIRST)
    waiting: list[Tick] = []
    for moment in CronSim(text, begin - timedelta(seconds=1)):
        if moment.year > _LAST_YEAR:
            return
        for tick in _placed(moment, zone, spec, star=star):
            heappush(waiting, tick)
        sure_us = _micros(moment.replace(tzinfo=UTC)) - _largest_offset_us(moment, zone)
        while waiting and waiting[0].at_us <= sure_us:
            yield heappop(waiting)
    while waiting:
        yield heappop(waiting)


def _changes_near(moment: datetime, zone: ZoneInfo) -> bool:
    return len({(moment + shift).replace(tzinfo=zone).utcoffset() for shift in (-_NEAR, timedelta(0), _DAY)}) > 1


def _largest_offset_us(moment: datetime, zone: ZoneInfo) -> int:
    """Return the largest offset of a zone near a local time: no later local time comes earlier than by it."""
    near = [moment.replace(tzinfo=zone, fold=fold).utcoffset() for fold in (0, 1)]
    near += [(moment + _DAY).replace(tzinfo=zone).utcoffset()]
    return max((offset for offset in near if offset is not None), default=timedelta(0)) // _US


def _placed(moment: datetime, zone: ZoneInfo, spec: ScheduleSpec, *, star: bool) -> Iterator[Tick]:
    """Yield the moments at which the clocks of a zone show a local time, by the rules of a schedule."""
    first = moment.replace(tzinfo=zone, fold=0)
    at_us = _micros(first)
    if first.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != moment:
        yield Tick(at_us, skipped=not star and spec.skipped == "skip")
        return
    yield Tick(at_us, skipped=False)
    again_us = _micros(moment.replace(tzinfo=zone, fold=1))
    if again_us != at_us and (star or spec.repeated == "both"):
        yield Tick(again_us, skipped=False)


def _micros(moment: datetime) -> int:
    return (moment.astimezone(UTC) - _BEGINNING) // _US
