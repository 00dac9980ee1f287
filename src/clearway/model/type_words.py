"""The words of types of machines that can be ordered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from clearway.model import values as v
from clearway.model.errors import InputError
from clearway.model.fleet import BOOT_TIMEOUT_US, MachineType, NodeSpec
from clearway.model.machine_words import NODE_WORDS, check_devices
from clearway.model.words import Word, named, read_words

if TYPE_CHECKING:
    from collections.abc import Mapping

NEVER = "never"

Boots = tuple[int | None, ...]
"""How long each machine really takes from its order, in the order in which they are ordered; the last repeats."""


class TypeRead(NamedTuple):
    """A type, and what only a scenario knows of it."""

    kind: MachineType
    boots: Boots


def _boots(field: str, value: object) -> Boots:
    listed = list(value) if isinstance(value, list | tuple) else [value]
    if not listed:
        raise InputError(field, value, "a duration, or a list with one per machine ordered")
    return tuple(None if one == NEVER else v.duration(field, one) for one in listed)


def _above_zero(field: str, value: object) -> int:
    us = v.duration(field, value)
    if us == 0:
        raise InputError(field, value, "longer than 0 s")
    return us


TYPE_WORDS: dict[str, Word] = {
    "boot": Word(_boots, "text", "from the order until it is there; a list gives one per machine ordered"),
    "min": Word(v.count, "number", "so many are always ordered or there"),
    "max": Word(v.count, "number", "never more than so many are ordered or there"),
    "idle_timeout": Word(v.duration, "text", "one beyond min that nobody has needed for so long is given back"),
    "boot_timeout": Word(_above_zero, "text", "an order that has not come after so long is given up"),
}
"""Words of a type beside those of a node."""

_FIELDS = {
    "min": "least",
    "max": "most",
    "idle_timeout": "idle_timeout_us",
    "boot_timeout": "boot_timeout_us",
}


def read_type(raw: Mapping[str, object]) -> TypeRead:
    """Read one entry of `fleet.types`. What is expected of a boot is the first duration of its list."""
    words = {**{k: w for k, w in NODE_WORDS.items() if k != "count"}, **TYPE_WORDS}
    given: dict[str, Any] = read_words(named("type", raw), raw, words)
    if "name" not in given:
        raise InputError("name", None, "every type has a name", "fleet.types")
    own = {_FIELDS[word]: given.pop(word) for word in _FIELDS if word in given}
    boots: Boots = given.pop("boot", (0,))
    given["price_micros"] = given.pop("price", 0)
    check_devices(given)
    boot_us = next((one for one in boots if one is not None), 0)
    own.setdefault("boot_timeout_us", max(BOOT_TIMEOUT_US, 2 * boot_us))
    kind = MachineType(NodeSpec(**given), boot_us=boot_us, **own)
    if kind.boot_timeout_us <= boot_us:
        rule = f"longer than boot ({boot_us // v.SECOND_US} s), or no machine would ever come"
        raise InputError("boot_timeout", raw.get("boot_timeout"), rule, f"type {kind.name}")
    if kind.least > kind.most:
        raise InputError("min", kind.least, f"at most max ({kind.most})", f"type {kind.name}")
    return TypeRead(kind, boots)
