"""The `searches` of a scenario: their words, and at which points their trials fail at first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from clearway.flow.json_text import text_of, value_of
from clearway.flow.search import DRAWN
from clearway.flow.search_words import read_search
from clearway.model import values as v
from clearway.model.errors import InputError, NotYetError
from clearway.model.flow import SearchSpec
from clearway.sim.batch import NAME_RULE, RESERVED
from clearway.sim.truth import TRUTH_WORDS, Truth, read_truth

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

EXTRA = frozenset(TRUTH_WORDS) - {"cancel_after"}
_MORE = frozenset({"submit", "fails", "curves"})
CURVES_RULE = "a list of {name: value, .., values: [numbers]}"
FAILS_RULE = "a list of {name: value, .., times: n}"


class SearchEntry(msgspec.Struct, frozen=True, eq=False):
    """One of the file's searches. `fails`: the first `times` attempts at a point with these values fail.

    `curves`: what trials at points with these values report on their way; the last is their result.
    """

    spec: SearchSpec
    submit_us: int
    truth: Truth
    fails: tuple[dict[str, Any], ...] = ()
    curves: tuple[dict[str, Any], ...] = ()

    def at_start(self, point: str, attempt: int, number: int) -> Truth:
        """Return what happens to an attempt at a point, the `number`th there."""
        values = value_of(point)
        times = max((one["times"] for one in self.fails if _holds(one, values)), default=0)
        code = 1 if number <= times else self.truth.exit_code(attempt)
        times_us = self.truth.runtimes_us and (self.truth.runtimes_us[min(attempt, len(self.truth.runtimes_us)) - 1],)
        told: list[Any] = next((one["values"] for one in self.curves if _holds(one, values)), [])
        reports = tuple(text_of("curves", value) for value in told)
        result = reports[-1] if reports else self.truth.result
        return msgspec.structs.replace(
            self.truth, exit_codes=(code,), runtimes_us=times_us, reports=reports, result=result
        )


def _holds(one: dict[str, Any], values: dict[str, Any]) -> bool:
    return all(values.get(name) == value for name, value in one.items() if name not in ("times", "values"))


def read_entry(raw: object, defaults: Callable[[str], Mapping[str, object]]) -> SearchEntry:
    """Read one entry of `searches`."""
    if not isinstance(raw, dict):
        raise InputError("searches", raw, "a list of maps of words")
    job = raw.get("job")
    words = job if isinstance(job, dict) else {}
    queue = words.get("queue", "default")
    spec = read_search(raw, defaults(queue if isinstance(queue, str) else ""), EXTRA, _MORE)
    if spec.sampler in DRAWN:
        raise NotYetError.of("sampler", spec.sampler, f"search {spec.name}")  # a scenario says no values of trials
    if RESERVED & set(spec.name):
        raise InputError("name", spec.name, NAME_RULE, "searches")
    fails = raw.get("fails") or []
    if not isinstance(fails, list) or not all(isinstance(one, dict) for one in fails):
        raise InputError("fails", fails, FAILS_RULE)
    known = {dimension.name for dimension in spec.space} | {"times"}
    for one in fails:
        if set(one) - known or "times" not in one:
            raise InputError("fails", one, FAILS_RULE)
        v.count("times", one["times"])
    curves = raw.get("curves") or []
    if not isinstance(curves, list) or not all(isinstance(one, dict) for one in curves):
        raise InputError("curves", curves, CURVES_RULE)
    for one in curves:
        numbers = one.get("values")
        if set(one) - (known - {"times"}) - {"values"} or not isinstance(numbers, list) or not numbers:
            raise InputError("curves", one, CURVES_RULE)
        if not all(isinstance(x, int | float) and not isinstance(x, bool) for x in numbers):
            raise InputError("curves", one, CURVES_RULE)
    submit_us = v.duration("submit", raw.get("submit") or 0)
    return SearchEntry(spec, submit_us, read_truth(words), tuple(fails), tuple(curves))
