"""The `workflows` of a scenario: their words, and what will really happen to each of their steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from clearway.flow.json_text import text_of
from clearway.flow.reworded import reworded, steps_of
from clearway.flow.words import read_flow
from clearway.model import values as v
from clearway.model.errors import InputError
from clearway.model.flow import NULL, SKIPS_ITSELF, UNDO, FlowSpec
from clearway.model.words import Word, named, read_words
from clearway.sim.batch import NAME_RULE, RESERVED
from clearway.sim.truth import TRUTH_WORDS, Truth, read_truth

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

OUTCOMES = {"succeeded": 0, "failed": 1, "skipped": SKIPS_ITSELF}
FROM = ("pass", "item")


class Returns(NamedTuple):
    """What a step gives back: a JSON text, or the pass or item by `source`. With neither: its item, else null."""

    text: str = ""
    source: str = ""


def _returns(field: str, value: object) -> Returns:
    if isinstance(value, dict) and list(value) == ["from"]:
        return Returns(source=v.choice(f"{field}.from", value["from"], FROM))
    return Returns(text=text_of(field, value))


def _outcomes(field: str, value: object) -> tuple[int, ...]:
    if not isinstance(value, list):
        raise InputError(field, value, "a list, one for each item: " + ", ".join(OUTCOMES))
    return tuple(OUTCOMES[v.choice(field, one, tuple(OUTCOMES))] for one in value)


STEP_TRUTH_WORDS: dict[str, Word] = {
    "returns": Word(_returns, "nested", "its result, or {from: pass}"),
    "outcomes": Word(_outcomes, "nested", "how each instance ends: " + ", ".join(OUTCOMES)),
}
EXTRA = frozenset({*TRUTH_WORDS, *STEP_TRUTH_WORDS}) - {"cancel_after"}
_MORE = frozenset({"submit"})


class StepTruth(msgspec.Struct, frozen=True):
    """What really happens to the jobs of a step."""

    truth: Truth
    returns: Returns = Returns()
    outcomes: tuple[int, ...] = ()

    def of(self, item: int, turn: int, handed: str) -> Truth:
        """Return what happens to one pass of an instance (-1: the step itself)."""
        truth = self.truth
        if 0 <= item < len(self.outcomes):
            truth = msgspec.structs.replace(truth, exit_codes=(self.outcomes[item],))
        return msgspec.structs.replace(truth, result=self._result(item, turn, handed))

    def _result(self, item: int, turn: int, handed: str) -> str:
        if self.returns.source == "pass":
            return str(turn)
        if self.returns.text:
            return self.returns.text
        return handed if item >= 0 else NULL


class FlowEntry(msgspec.Struct, frozen=True, eq=False):
    """One of the file's workflows. `submit_us` None: it runs only where a schedule or the like says so.

    `inner` are the workflows that are steps of it.
    """

    spec: FlowSpec
    submit_us: int | None
    truths: dict[str, StepTruth]
    raw: dict[str, Any]
    inner: dict[str, FlowEntry] = {}


def read_entry(raw: object, defaults: Callable[[str], Mapping[str, object]], *, template: bool = False) -> FlowEntry:
    """Read one entry of `workflows`. `template`: it is not submitted unless it says when."""
    if not isinstance(raw, dict):
        raise InputError("workflows", raw, "a list of maps of words")
    spec = read_flow(raw, defaults, EXTRA, _MORE)
    if RESERVED & set(spec.name):
        raise InputError("name", spec.name, NAME_RULE, "workflows")
    said = raw.get("submit")
    submit_us = None if said is None and template else v.duration("submit", said or 0)
    truths = {str(s["name"]): _truth(s) for s in steps_of(raw)}
    truths |= {f"{s['name']}{UNDO}": _truth(s["undo"]) for s in steps_of(raw) if "undo" in s}
    inner = {
        s["name"]: read_entry({"name": s["name"], **s["workflow"]}, defaults) for s in steps_of(raw) if "workflow" in s
    }
    return FlowEntry(spec, submit_us, truths, raw, inner)


def _truth(raw: dict[str, Any]) -> StepTruth:
    own = {k: x for k, x in raw.items() if k in STEP_TRUTH_WORDS and k in raw}
    given = read_words(named("step", raw), {k: x for k, x in own.items() if k != "returns"}, STEP_TRUTH_WORDS)
    returns = _returns("returns", raw["returns"]) if "returns" in raw else Returns()
    return StepTruth(read_truth(raw), returns, given.get("outcomes", ()))


def changed(entry: FlowEntry, words: object, defaults: Callable[[str], Mapping[str, object]], place: str) -> FlowEntry:
    """Return a workflow with other words for some of its steps: `{step: {word: value}}`."""
    return read_entry(reworded(entry.raw, words, place), defaults)
