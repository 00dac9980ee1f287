"""How one value is read: durations, sizes, GPUs, counts, names. All results are integers or text.

Every reader takes the field's name and a raw value (from YAML, JSON, Python or a command line) and
returns the exact integer that the program works with, or raises InputError naming field, value, rule.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from clearway.model.errors import InputError

SECOND_US = 1_000_000
MILLI = 1000
MAX_BYTES = 2**53  # 8 PiB: larger than any node, exact in JSON, and a sum over 1,000 nodes fits 64 bits
MAX_COUNT = 10**6
MAX_DURATION_US = 10**6 * 86_400 * SECOND_US  # a million days
MICROS = 10**6  # money is counted in millionths
MAX_MONEY = 10**9
MAX_PRIORITY = 2**31 - 1
MAX_NAME_CHARS = 1000

_PART_US = {"s": SECOND_US, "m": 60 * SECOND_US, "h": 3600 * SECOND_US, "d": 86_400 * SECOND_US}
_NUMBER = r"[0-9]{1,40}(?:\.[0-9]{1,40})?"  # more digits than any value that is allowed
_DURATION = re.compile(f"(?:{_NUMBER}[dhms])+")
_PART = re.compile(f"({_NUMBER})([dhms])")
_SIZE = re.compile(f"({_NUMBER})([kMGT]|[KMGT]i)B?")
_UNIT = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}

_RATE = re.compile("([1-9][0-9]{0,6})/([smhd])")

_NO_TEXT = re.compile("[\0\ud800-\udfff]")  # a lone half of a character has no bytes in any file
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_DURATION_RULE = "a duration is a number of seconds >= 0, or like 30s, 10m, 4h, 2d, 1h30m"
_SIZE_RULE = "a size is a whole number of bytes >= 0, or a number with Ki Mi Gi Ti (KiB ..) or k M G T (kB ..)"
_GPU_RULE = "a whole number >= 0, or a fraction below 1, which is a share of one device"


def number(field: str, value: object, rule: str) -> Fraction:
    """Return a finite number >= 0 exactly; text, booleans, NaN and infinities break `rule`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(field, value, rule)
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(field, value, rule)
    if value < 0:
        raise InputError(field, value, rule)
    return Fraction(value) if isinstance(value, int) else Fraction(repr(float(value)))


def duration(field: str, value: object) -> int:
    """Return a duration in microseconds."""
    if isinstance(value, str):
        if not _DURATION.fullmatch(value):
            raise InputError(field, value, _DURATION_RULE)
        exact = sum((Fraction(n) * _PART_US[u] for n, u in _PART.findall(value)), Fraction(0))
    else:
        exact = number(field, value, _DURATION_RULE) * SECOND_US
    if exact > MAX_DURATION_US:
        raise InputError(field, value, "at most 1000000 days")
    if 0 < exact < 1:
        raise InputError(field, value, "the smallest duration is 0.000001 s")
    return round(exact)


def size(field: str, value: object) -> int:
    """Return a size in bytes, rounded up to whole ones."""
    if isinstance(value, str):
        match = _SIZE.fullmatch(value)
        if not match:
            raise InputError(field, value, _SIZE_RULE)
        result = math.ceil(Fraction(match[1]) * _UNIT[match[2]])
    elif isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        result = value
    else:
        raise InputError(field, value, _SIZE_RULE)
    if result > MAX_BYTES:
        raise InputError(field, value, f"at most {MAX_BYTES} bytes")
    return result


def gpus(field: str, value: object) -> int:
    """Return milli-GPUs: a multiple of 1000 for whole devices, below 1000 for a share of one."""
    exact = number(field, value, _GPU_RULE)
    if exact > MAX_COUNT:
        raise InputError(field, value, f"at most {MAX_COUNT}")
    if exact > 1 and exact.denominator != 1:
        raise InputError(field, value, _GPU_RULE)
    if 0 < exact * MILLI < 1:
        raise InputError(field, value, "the smallest share is 0.001 (one milli-GPU)")
    return math.floor(exact * MILLI)


def milli(field: str, value: object) -> int:
    """Return thousandths of a unit (CPU, Gbit/s)."""
    exact = number(field, value, "a number >= 0")
    if exact > MAX_COUNT:
        raise InputError(field, value, f"at most {MAX_COUNT}")
    if 0 < exact * MILLI < 1:
        raise InputError(field, value, "the smallest amount is 0.001 (one thousandth)")
    return round(exact * MILLI)


def count(field: str, value: object, least: int = 0, most: int = MAX_COUNT) -> int:
    """Return a whole number in [least, most]."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InputError(field, value, f"a whole number from {least} to {most}")
    return value


def priority(field: str, value: object) -> int:
    """Return a priority: any whole number that fits 32 bits; larger runs sooner."""
    return count(field, value, -MAX_PRIORITY, MAX_PRIORITY)


def rate(field: str, value: object) -> tuple[int, int]:
    """Return how many in how many microseconds."""
    match = _RATE.fullmatch(value) if isinstance(value, str) else None
    if match is None or int(match[1]) > MAX_COUNT:
        raise InputError(field, value, f"so many in a second, minute, hour or day: 100/s, 60/m, .. to {MAX_COUNT}")
    return int(match[1]), _PART_US[match[2]]


def rate_text(said: tuple[int, ...]) -> str:
    """Return a rate as `rate` reads it; nothing for none."""
    return f"{said[0]}/{next(unit for unit, us in _PART_US.items() if us == said[1])}" if said else ""


def money(field: str, value: object) -> int:
    """Return an amount of money in millionths."""
    exact = number(field, value, "an amount of money >= 0")
    if exact > MAX_MONEY:
        raise InputError(field, value, f"at most {MAX_MONEY}")
    return round(exact * MICROS)


def flag(field: str, value: object) -> bool:
    """Return a yes or no."""
    if not isinstance(value, bool):
        raise InputError(field, value, "true or false")
    return value


def text(field: str, value: object) -> str:
    """Return a text that programs and files can carry: valid Unicode without zero bytes."""
    if not isinstance(value, str) or _NO_TEXT.search(value):
        raise InputError(field, value, "a text of valid Unicode without zero bytes")
    return value


def name(field: str, value: object) -> str:
    """Return a name: 1 to 1,000 characters."""
    result = text(field, value)
    if not 1 <= len(result) <= MAX_NAME_CHARS:
        raise InputError(field, value, f"a text of 1 to {MAX_NAME_CHARS} characters")
    return result


def names(field: str, value: object) -> tuple[str, ...]:
    """Return a list of names, each once; one name stands for a list of one."""
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list | tuple):
        raise InputError(field, value, "a name or a list of names")
    return tuple(dict.fromkeys(name(field, v) for v in value))


def choice(field: str, value: object, allowed: tuple[str, ...]) -> str:
    """Return one of the `allowed` words."""
    if value not in allowed or not isinstance(value, str):
        raise InputError(field, value, "one of " + ", ".join(allowed))
    return value


def pairs(field: str, value: object) -> tuple[tuple[str, str], ...]:
    """Return a map of texts, sorted by key; a whole number is taken as its digits."""
    if not isinstance(value, dict):
        raise InputError(field, value, "a map of names to texts")
    found = []
    for key, v in value.items():
        plain = str(v) if isinstance(v, int) and not isinstance(v, bool) else v
        found.append((name(field, key), text(f"{field}.{key}", plain)))
    return tuple(sorted(found))


def counts(field: str, value: object) -> tuple[tuple[str, int], ...]:
    """Return a map of names to whole numbers, sorted by name, zeros left out."""
    if not isinstance(value, dict):
        raise InputError(field, value, "a map of names to whole numbers")
    found = [(name(field, k), count(f"{field}.{k}", v)) for k, v in value.items()]
    return tuple(sorted((k, v) for k, v in found if v))


def instant(field: str, value: object) -> int:
    """Return microseconds since 1970 of an ISO 8601 time with an offset."""
    rule = "a time like 2026-12-01T08:00:00Z, with an offset, from 1970 on"
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(text(field, value))
    except ValueError:
        raise InputError(field, value, rule) from None
    if moment.tzinfo is None or moment < _EPOCH:
        raise InputError(field, value, rule)
    return (moment - _EPOCH) // timedelta(microseconds=1)
