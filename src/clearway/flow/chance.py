"""Chance that is none: what looks drawn follows from numbers, the same on every machine."""

from __future__ import annotations

_MASK = (1 << 64) - 1


def mixed(*numbers: int) -> int:
    """Return 64 well-mixed bits of some numbers (splitmix64; Steele, Lea, Flood 2014)."""
    state = 0
    for number in numbers:
        state = (state + number + 0x9E3779B97F4A7C15) & _MASK
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
        state ^= state >> 31
    return state
