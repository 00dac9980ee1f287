"""Numbers as people read them, exactly: nothing is rounded on the way into words."""

from __future__ import annotations

from clearway.model.values import MILLI, SECOND_US

_SIZES = (
    ("TiB", 2**40), ("TB", 10**12), ("GiB", 2**30), ("GB", 10**9),
    ("MiB", 2**20), ("MB", 10**6), ("KiB", 2**10), ("kB", 10**3),
)  # fmt: skip
_SPANS = (("d", 86_400 * SECOND_US), ("h", 3600 * SECOND_US), ("min", 60 * SECOND_US))


def thousandths(n: int) -> str:
    """Return `n` thousandths as a decimal number: 600 is 0.6, 4000 is 4."""
    return _decimal(n, MILLI, 3)


def size(n: int) -> str:
    """Return bytes in the largest unit in which they are a whole number."""
    for unit, factor in _SIZES:
        if n and n % factor == 0:
            return f"{n // factor} {unit}"
    return f"{n} byte" if n == 1 else f"{n} bytes"


def duration(us: int) -> str:
    """Return microseconds like 1 h 30 min; below a minute in seconds with their decimals."""
    parts, left = [], us
    for unit, factor in _SPANS:
        if left >= factor:
            parts.append(f"{left // factor} {unit}")
            left %= factor
    if left or not parts:
        parts.append(f"{_decimal(left, SECOND_US, 6)} s")
    return " ".join(parts)


def seconds(us: int) -> str:
    """Return a moment given in microseconds since the start as seconds, like 100 s."""
    return f"{_decimal(us, SECOND_US, 6)} s"


def _decimal(n: int, scale: int, digits: int) -> str:
    sign, whole, rest = "-" if n < 0 else "", *divmod(abs(n), scale)
    tail = f"{rest:0{digits}d}".rstrip("0")
    return f"{sign}{whole}.{tail}" if tail else f"{sign}{whole}"
