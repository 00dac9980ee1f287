"""Fixed slices of a device, by the names that NVIDIA gives its MIG profiles: 1g.10gb is one seventh with 10 GB."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from clearway.model.errors import InputError

SEVENTHS = 7
_WHOLE, _GB = 1000, 10**9
_PROFILE = re.compile(r"([1-7])g\.([1-9]\d{0,3})gb(\+[a-z.]+)?")


class Slice(NamedTuple):
    """What a slice of a device is: thousandths of its time, and bytes of its memory."""

    milli: int
    memory: int


@cache
def slice_of(profile: str) -> Slice:
    """Return what a profile is: its sevenths of a device, rounded down, and its memory."""
    found = _PROFILE.fullmatch(profile)
    if found is None:
        raise InputError("slice", profile, "a MIG profile such as 1g.10gb or 3g.40gb")
    return Slice(int(found[1]) * _WHOLE // SEVENTHS, int(found[2]) * _GB)


def is_profile(name: str) -> bool:
    """Return whether a name is one that is known here; profiles with other parts of a device (1c.3g.40gb) are not."""
    return _PROFILE.fullmatch(name) is not None


def sevenths(profile: str) -> int:
    """Return how many sevenths of a device a profile takes."""
    return int(profile[0])
