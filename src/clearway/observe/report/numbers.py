"""Numbers as people read them."""

from __future__ import annotations

import math

MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86_400
SECOND_US = 1_000_000
MINUS = "\N{MINUS SIGN}"
NOTHING = "\N{EN DASH}"
THOUSAND = 1000


def seconds(value: float | None) -> str:
    """Return a duration with two units at most: `3 d 4 h`, `12 min`, `4.2 s`."""
    if value is None:
        return NOTHING
    sign, value = (MINUS if value < 0 else ""), abs(value)
    if value < MINUTE_S:
        return f"{sign}{value:.3g} s" if value else "0 s"
    for unit, name, lower, below in (
        (DAY_S, "d", HOUR_S, "h"),
        (HOUR_S, "h", MINUTE_S, "min"),
        (MINUTE_S, "min", 1, "s"),
    ):
        if value >= unit:
            whole = int(value // unit)
            rest = int((value - whole * unit) // lower)
            return f"{sign}{whole:,} {name}" + (f" {rest} {below}" if rest and whole < THOUSAND else "")
    raise AssertionError(value)


def short(value: float | None) -> str:
    """Return a duration with one unit and three digits that count: `3.17 d`, `12.5 min`."""
    if value is None:
        return NOTHING
    for unit, name in ((DAY_S, "d"), (HOUR_S, "h"), (MINUTE_S, "min")):
        if abs(value) >= unit:
            return f"{plain(value / unit)} {name}"
    return f"{plain(float(value))} s"


def percent(value: float | None) -> str:
    """Return a part of 1 as per cent."""
    return NOTHING if value is None else f"{100 * value:.1f} %"


def plain(value: float | None) -> str:
    """Return a number with three digits that count, large ones whole."""
    if value is None:
        return NOTHING
    if isinstance(value, int) or abs(value) >= THOUSAND:
        return f"{value:,.0f}".replace("-", MINUS)
    return f"{value:.3g}".replace("-", MINUS)


def signed(text: str) -> str:
    """Return a number in words with a plus where it has no minus."""
    return text if text.startswith(MINUS) or text in {"0", "0 s", NOTHING} else f"+{text}"


def nice_step(span: float, count: int) -> float:
    """Return a step of 1, 2 or 5 times a power of ten, for at most about `count` steps in `span`."""
    if span <= 0:
        return 1.0
    rough = span / count
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)


def ticks(span: float, count: int = 5) -> list[float]:
    """Return round values from 0 to `span`."""
    step = nice_step(span, count)
    return [i * step for i in range(int(span / step + 1e-9) + 1)]


def nice_time(span_s: float) -> float:
    """Return the longest round duration that fits into `span_s`."""
    return next((float(s) for s in reversed(_TIME_STEPS_S) if s <= span_s), nice_step(span_s, 2))


_TIME_STEPS_S = (
    1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 4 * HOUR_S, 6 * HOUR_S, 12 * HOUR_S, DAY_S, 2 * DAY_S,
    5 * DAY_S, 7 * DAY_S, 14 * DAY_S, 28 * DAY_S, 56 * DAY_S, 91 * DAY_S, 182 * DAY_S, 364 * DAY_S,
)  # fmt: skip


def time_ticks(from_us: int, to_us: int, count: int = 8) -> list[tuple[int, str]]:
    """Return moments and what stands at them: days, hours, minutes or seconds since the beginning."""
    span_s = max(1e-6, (to_us - from_us) / SECOND_US)
    step_s = next((s for s in _TIME_STEPS_S if span_s / s <= count), nice_step(span_s, count))
    step_us = max(1, int(step_s * SECOND_US))
    first = -(-from_us // step_us)
    return [(i * step_us, _moment(i * step_us, step_s)) for i in range(first, to_us // step_us + 1)]


def _moment(at_us: int, step_s: float) -> str:
    at_s = at_us / SECOND_US
    if step_s >= DAY_S:
        return f"{at_s / DAY_S:,.0f} d"
    days, rest = divmod(round(at_s), DAY_S)
    hours, minutes = divmod(rest // MINUTE_S, MINUTE_S)
    clock = f"{hours}:{minutes:02d}" if step_s >= MINUTE_S else f"{hours}:{minutes:02d}:{rest % MINUTE_S:02d}"
    return f"{days} d {clock}" if days else clock
