"""All rules and all expectations on one scenario and its timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway.model.errors import InputError
from clearway.testing.judge import expect, larger
from clearway.testing.judge.because import MOST_LINES, Breach
from clearway.testing.judge.costs import costs
from clearway.testing.judge.exchanges import exchanges
from clearway.testing.judge.graphs import graphs
from clearway.testing.judge.places import asked, capacity
from clearway.testing.judge.rules import calm, gang, numbers, once, sums, why
from clearway.testing.judge.tries import tries
from clearway.testing.judge.values import span
from clearway.testing.judge.work import work
from clearway.testing.judge.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

RULES: dict[str, Callable[[World], Iterator[str]]] = {
    "capacity": capacity, "sums": sums, "gang": gang, "once": once, "calm": calm, "why": why, "asked": asked,
    "work": work, "tries": tries, "costs": costs, "exchanges": exchanges,
    "graphs": graphs,
}  # fmt: skip
"""The rules that hold in every scenario, but for `same`, which needs several runs."""

EXPECT: dict[str, expect.Key] = {**expect.KEYS, **larger.KEYS}
"""The keys of `expect`, but for `slack` and `either`, which are about other keys."""

_FORM = (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, InputError)
"""What reading raises where a scenario or a timeline does not have its form."""


def judge(scenario: Mapping[str, Any], timeline: Mapping[str, Any]) -> list[str]:
    """Return one line for each breach, beginning with the rule or the key; none when all holds.

    Both are maps as YAML and JSON give them; a map of another form is a breach too, never an exception.
    """
    return [breach.text for breach in breaches(scenario, timeline)]


def breaches(scenario: Mapping[str, Any], timeline: Mapping[str, Any]) -> list[Breach]:
    """Return what `judge` does, each line with what its jobs waited for, or how they ended, at that time."""
    broken = [Breach(line) for line in numbers(timeline)]
    if broken:
        return broken  # nothing can be compared with what is not a number
    try:
        world = World(dict(scenario), dict(timeline))
    except _FORM as error:
        text = "form: the timeline does not have the form of docs/timeline.md, or grants what cannot be asked for"
        return [Breach(f"{text}: {_said(error)}")]
    for name, rule in RULES.items():
        broken += _lines(name, lambda rule=rule: rule(world))  # type: ignore[misc]
    wanted = scenario.get("expect") or {}
    try:
        slack = span(wanted.get("slack", 0))
    except InputError as error:
        return [*broken, Breach(f"expect.slack: {error}")]
    return broken + list(_expected(world, wanted, slack))


def _expected(world: World, wanted: Mapping[str, Any], slack: int) -> Iterator[Breach]:
    for key, value in wanted.items():
        if key == "either":
            yield from _lines("expect.either", lambda value=value: _either(world, value, slack))  # type: ignore[misc]
        elif key in EXPECT:
            yield from _lines(f"expect.{key}", lambda key=key, value=value: EXPECT[key](world, value, slack))  # type: ignore[misc]
        elif key != "slack":
            yield Breach(f"expect.{key}: no such key{expect.nearest(str(key), [*EXPECT, 'either', 'slack'])}")


def _either(world: World, choices: list[Mapping[str, Any]], slack: int) -> Iterator[Breach]:
    broken = [list(_expected(world, choice, slack)) for choice in choices]
    if all(broken):
        best = min(broken, key=len, default=[])
        text = f"none of {len(choices)} alternatives holds; the nearest lacks: {'; '.join(b.text for b in best)}"
        yield Breach(text, tuple(line for b in best for line in b.why)[:MOST_LINES])


def _lines(name: str, rule: Callable[[], Iterator[str | Breach]]) -> list[Breach]:
    found: list[Breach] = []
    try:
        for line in rule():  # what was found before an error stays
            breach = line if isinstance(line, Breach) else Breach(line)
            found.append(breach._replace(text=f"{name}: {breach.text}"))
    except _FORM as error:
        found.append(Breach(f"{name}: cannot be judged: {_said(error)}"))
    return found


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
