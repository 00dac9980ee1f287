"""How a what-if is asked in words: names of policies, and the words that a controller is sent."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from clearway.config.yaml_file import parse_yaml
from clearway.model import values as v
from clearway.model.errors import InputError
from clearway.model.words import Word, read_words
from clearway.policies.registry import policy_named
from clearway.sim.thinking import MOST_US
from clearway.whatif.changes import GPUS, SIGNS

if TYPE_CHECKING:
    from clearway.model.fleet import PolicySpec

AGO = re.compile(r"[0-9.smhd]+")
"""So long ago; everything else is a moment."""
WARM_US = 7 * 86_400 * 1_000_000
MOST_CHANGES = 100
LABEL = 120


def named(word: str, also: str = "") -> tuple[str, PolicySpec]:
    """Return one policy and its label; `also` is what else the rule allows. Raises InputError."""
    return word, policy_named(policy_map(word, "policy") if word.startswith("{") else word, also)


def policy_map(text: str, place: str) -> dict[str, Any]:
    """Return a map of the words of a policy from its text. Raises InputError."""
    raw = parse_yaml(text, place)
    if not isinstance(raw, dict):
        raise InputError("policy", text, "a map of words", place)
    return raw


class Asked(NamedTuple):
    """What would be otherwise, and of which past; `policy` with its label, None for the one in force."""

    policy: tuple[str, PolicySpec] | None = None
    fleet: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    since: str | None = None
    warm_up: int = WARM_US
    think: int = MOST_US
    seed: int = 0


def policy_word(field: str, value: object) -> tuple[str, PolicySpec]:
    """Read a policy by its name or as a map of words; return it with what it is called."""
    if isinstance(value, dict):
        return json.dumps(value)[:LABEL], policy_named(value)
    return named(v.name(field, value))


def _changes(field: str, value: object) -> tuple[str, ...]:
    found = v.names(field, value)
    if len(found) > MOST_CHANGES:
        raise InputError(field, len(found), f"at most {MOST_CHANGES} changes")
    return found


def _machines(field: str, value: object) -> tuple[str, ...]:
    found = _changes(field, value)
    for change in found:
        if not GPUS.fullmatch(change):
            raise InputError(field, change, SIGNS)
    return found


def _since(field: str, value: object) -> str:
    said = v.name(field, value)
    if AGO.fullmatch(said):
        v.duration(field, said)
    else:
        v.instant(field, said)
    return said


def _think(field: str, value: object) -> int:
    return 0 if value == "none" else v.duration(field, value)


WHATIF_WORDS: dict[str, Word] = {
    "policy": Word(policy_word, "nested", "the policy by which it would be decided"),
    "fleet": Word(_machines, "names", "other machines: +8xH100, -8xA100, +2xnode:NAME, -1xnode:NAME"),
    "queues": Word(_changes, "names", "other words of queues: research.guarantee.gpus=16"),
    "limits": Word(_changes, "names", "other slots of shared limits: database=4"),
    "since": Word(_since, "text", "jobs submitted since then, or since so long ago: 30d"),
    "warm_up": Word(v.duration, "text", "so much before that fills the machines (default: 7d)"),
    "think": Word(_think, "text", "longest time of thought that binds (default: 20m), or none"),
    "seed": Word(v.count, "number", "seed of the intervals and of what is left to chance"),
}


def read_asked(raw: object) -> Asked:
    """Read the words of a what-if. Raises InputError."""
    asked = Asked(**read_words("what-if", raw, WHATIF_WORDS))
    if asked.policy is None and not (asked.fleet or asked.queues or asked.limits):
        raise InputError("policy", None, "something that would be otherwise: policy, fleet, queues or limits")
    return asked
