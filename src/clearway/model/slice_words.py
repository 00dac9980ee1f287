"""The words by which a node says which of its devices are cut into fixed slices."""

from __future__ import annotations

from typing import Any

from clearway.model import values as v
from clearway.model.errors import InputError
from clearway.model.slices import SEVENTHS, sevenths, slice_of
from clearway.model.words import Word, read_words


def slices(field: str, value: object) -> tuple[tuple[int, str], ...]:
    """Read which devices are cut: the device and the profile of each slice, by device."""
    if not isinstance(value, list | tuple):
        raise InputError(field, value, "a list of {device: .., profile: .., count: ..}")
    found: list[tuple[int, str]] = []
    for one in value:
        given = read_words(field, one, SLICE_WORDS)
        if "device" not in given or "profile" not in given:
            raise InputError(field, one, "{device: .., profile: .., count: ..}")
        found += [(given["device"], given["profile"])] * given.get("count", 1)
    return tuple(sorted(found, key=lambda one: one[0]))


def _profile(field: str, value: object) -> str:
    profile = v.name(field, value)
    slice_of(profile)
    return profile


def _few(field: str, value: object) -> int:
    return v.count(field, value, 1, SEVENTHS)


SLICE_WORDS: dict[str, Word] = {
    "device": Word(v.count, "number", "the device that is cut"),
    "profile": Word(_profile, "text", "MIG profile of the slice"),
    "count": Word(_few, "number", "so many of it; 1 where it is not said"),
}


def check_slices(given: dict[str, Any]) -> None:
    """Raise InputError where slices of a node are more than the device that they are cut from."""
    place, memory, gpus = f"node {given['name']}", given.get("gpu_memory"), given.get("gpus", 0)
    for device in sorted({device for device, _ in given.get("slices", ())}):
        if device >= gpus:
            raise InputError("slices", device, f"a device number below gpus ({gpus})", place)
        profiles = [profile for one, profile in given["slices"] if one == device]
        if sum(map(sevenths, profiles)) > SEVENTHS:
            raise InputError("slices", profiles, f"at most {SEVENTHS} sevenths of device {device}", place)
        if memory is not None and sum(slice_of(profile).memory for profile in profiles) > memory:
            raise InputError("slices", profiles, f"no more memory than device {device} has", place)
