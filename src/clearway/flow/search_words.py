"""The words of a search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway.flow import stopping
from clearway.flow.json_text import text_of
from clearway.flow.search import COUNTED, DRAWN, SAMPLERS, count
from clearway.model import values as v
from clearway.model.errors import InputError
from clearway.model.flow import Dimension, SearchSpec, StopSpec
from clearway.model.words import Word, named, read_job, read_words

if TYPE_CHECKING:
    from collections.abc import Mapping

CMAES_RANGES = 2  # it learns how dimensions go together
MOST = 2**53
"""Bounds of whole numbers: exact in JSON."""


def _sampler(field: str, value: object) -> str:
    return v.choice(field, value, (*SAMPLERS, *DRAWN))


def _direction(field: str, value: object) -> str:
    return v.choice(field, value, ("minimize", "maximize"))


def _at_least_one(field: str, value: object) -> int:
    return v.count(field, value, 1)


def _seed(field: str, value: object) -> int:
    return v.count(field, value, 0, MOST)


def variable(name: str) -> str:
    """Return the name of the variable in which a trial finds a value: what a variable may not have is `_`."""
    return "CLEARWAY_POINT_" + "".join(one if one.isascii() and one.isalnum() else "_" for one in name)


def _space(field: str, value: object) -> tuple[Dimension, ...]:
    if not isinstance(value, dict) or not value:
        raise InputError(field, value, "a map of names to lists, or to {from: .., to: ..}")
    return tuple(_dimension(f"{field}.{name}", v.name(field, name), one) for name, one in value.items())


def _dimension(field: str, name: str, value: object) -> Dimension:
    if isinstance(value, list):
        texts = tuple(dict.fromkeys(text_of(field, one) for one in value))
        if not texts:
            raise InputError(field, value, "at least one value")
        return Dimension(name, texts)
    given = read_words(field, value, RANGE_WORDS)
    if "from" not in given or "to" not in given or given["to"] < given["from"]:
        raise InputError(field, value, "a list of values, or {from: .., to: ..} with `to` not below `from`")
    real = isinstance(given["from"], float) or isinstance(given["to"], float)
    return Dimension(name, (), text_of("from", given["from"]), text_of("to", given["to"]), real)


def _bound(field: str, value: object) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not -MOST <= value <= MOST:
        raise InputError(field, value, f"a number from {-MOST} to {MOST}")
    return value


def _rule(field: str, value: object) -> str:
    return v.choice(field, value, stopping.RULES)


def _above_one(field: str, value: object) -> int:
    return v.count(field, value, 2)


def _stop(field: str, value: object) -> StopSpec:
    given = read_words(field, value if isinstance(value, dict) else {"rule": value}, STOP_WORDS)
    if "rule" not in given:
        raise InputError(field, value, "one of " + ", ".join(stopping.RULES) + ", or a map with `rule`")
    found = StopSpec(**given)
    if found.rule == "hyperband" and found.max_step < found.min_step:
        raise InputError(f"{field}.max_step", given.get("max_step"), "for hyperband the step at which a trial ends", "")
    return found


STOP_WORDS: dict[str, Word] = {
    "rule": Word(_rule, "text", "by which trials are stopped: " + ", ".join(stopping.RULES)),
    "min_step": Word(_at_least_one, "number", "no trial is stopped before this step; the first rung of a halving"),
    "min_trials": Word(_at_least_one, "number", "for a median: so many others must have come as far"),
    "reduction": Word(_above_one, "number", "for a halving: one in so many goes on at each rung"),
    "max_step": Word(_at_least_one, "number", "for hyperband: the step at which a trial ends"),
}
RANGE_WORDS: dict[str, Word] = {
    "from": Word(_bound, "number", "the least value"),
    "to": Word(_bound, "number", "the largest value; whole numbers where both are whole"),
}
SEARCH_WORDS: dict[str, Word] = {
    "name": Word(v.name, "text", "name of the search; its trials are the jobs name.1, name.2, .."),
    "trials": Word(_at_least_one, "number", "completed trials that are wanted"),
    "parallel": Word(_at_least_one, "number", "trials at the same time"),
    "space": Word(_space, "nested", "the values to try, by name: a list, or {from: .., to: ..}"),
    "sampler": Word(_sampler, "text", "how points are picked: " + ", ".join((*SAMPLERS, *DRAWN))),
    "seed": Word(_seed, "number", "the same seed draws the same points"),
    "max_failed": Word(v.count, "number", "trials that may end without success (default: as many as `trials`)"),
    "metric": Word(v.name, "text", "the number in a trial's result that says what it is worth (default: the result)"),
    "direction": Word(_direction, "text", "which trial is the best: minimize, maximize"),
    "stop": Word(_stop, "nested", "when trials that do badly are stopped: " + ", ".join(stopping.RULES)),
    "job": Word(lambda _, value: value, "nested", "the words of a trial's job"),
}


def read_search(
    raw: object,
    defaults: Mapping[str, object] | None = None,
    extra: frozenset[str] = frozenset(),
    more: frozenset[str] = frozenset(),
) -> SearchSpec:
    """Read a search. `defaults` are job words, `extra` words of its job and `more` words of it that are others'."""
    place = named("search", raw)
    given: dict[str, Any] = read_words(place, raw, SEARCH_WORDS, more)
    for word in ("name", "trials", "space", "job"):
        if word not in given:
            raise InputError(word, None, f"every search has {word}", place)
    if not isinstance(given["job"], dict):
        raise InputError("job", given["job"], "a map of words", place)
    job = read_job({"name": given["name"], **given["job"]}, defaults, extra)
    spec = SearchSpec(
        given["name"], given["trials"], job, given["space"], given.get("parallel", 1), given.get("sampler", "random"),
        given.get("seed", 0), given.get("max_failed", given["trials"]), given.get("metric", ""),
        given.get("direction", "minimize"), given.get("stop"),
    )  # fmt: skip
    if spec.sampler in COUNTED and count(spec) is None:
        raise InputError("sampler", spec.sampler, "a space of lists and whole numbers", place)
    if spec.sampler == "cmaes" and sum(not d.values for d in spec.space) < CMAES_RANGES:
        raise InputError("sampler", "cmaes", "a space with at least two ranges {from: .., to: ..}", place)
    return spec
