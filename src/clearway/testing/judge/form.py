"""The form of `expect`, read before anything runs: types by key, names of jobs, states."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from typing import Any

from clearway.model import values as v
from clearway.model.errors import InputError, UnknownWordError
from clearway.testing.judge.values import BOUNDS, Value, amount, as_list

STATES = ("pending", "running", "succeeded", "failed", "cancelled", "refused", "skipped", "upstream_failed")
"""What `final` may name."""

_WINDOW = "[from, to], in seconds"
_COUNT = "a count: n, [least, most], or {min:, max:, eq:}"
_NAMES = "a list of job names"
_WORDS = "a word, a list of words (a list inside it: any one of them), or {at: T, mentions: [..]}"
_TARGET = re.compile(r"(.+?)(#\d+)?")
_PLACES = frozenset({"queue", "node", "limit"})

Form = Callable[["_Reader", str, Value], None]


def check_expect(
    expect: Mapping[str, Any],
    jobs: Collection[str],
    *,
    larger: bool = False,
    places: Mapping[str, Collection[str]] | None = None,
) -> None:
    """Check `expect` against the names of a scenario's jobs.

    `larger`: the scenario has more than jobs (workflows, schedules, ..), so that other names may come too. `places`:
    the names of its nodes, queues and limits by `node`, `queue` and `limit`; one that ends in `*` stands for more.
    Errors: InputError, UnknownWordError: a value does not have the form of its key, or nothing has a name.
    """
    _Reader(jobs, larger, places or {}).expect(expect, "expect")


class _Reader:
    def __init__(
        self,
        jobs: Collection[str],
        larger: bool,  # noqa: FBT001
        places: Mapping[str, Collection[str]],
    ) -> None:
        self._jobs, self.larger, self._places = jobs, larger, places

    def place(self, place: str, kind: str, name: Value) -> None:
        """Check the name of a node, a queue or a limit."""
        if not isinstance(name, str):
            raise InputError(place, name, f"the name of a {kind}")
        known = self._places.get(kind)
        if known is None or name in known:
            return
        if any(one.endswith("*") and name.startswith(one[:-1]) for one in known):
            return
        near = get_close_matches(name, list(known), n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise InputError(place, name, f"no {kind} {name!r}{hint}")

    def expect(self, expect: Mapping[str, Any], place: str) -> None:
        for key, value in expect.items():
            if key in FORMS:
                FORMS[key](self, f"{place}.{key}", value)

    def job(self, place: str, name: Value, *, numbered: bool = False, everything: bool = False) -> None:
        """Check one name: J, J*, where `numbered` also J#2, where `everything` also all."""
        if not isinstance(name, str):
            raise InputError(place, name, "a job name")
        match = _TARGET.fullmatch(name) if numbered else None
        base = match[1] if match else name
        if self.larger or base in self._jobs or (everything and base == "all"):
            return
        if base.endswith("*") and any(job.startswith(base[:-1]) for job in self._jobs):
            return
        near = get_close_matches(base, list(self._jobs), n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise InputError(place, name, f"no job {base!r}{hint}")


def _map(place: str, value: Value, rule: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InputError(place, value, rule)
    return value


def _list(place: str, value: Value, rule: str) -> list[Any]:
    if not isinstance(value, list):
        raise InputError(place, value, rule)
    return value


def _row(place: str, value: Value, needed: Collection[str], more: Collection[str]) -> Mapping[str, Any]:
    row = _map(place, value, f"a map with {', '.join(needed)}")
    for key in row:
        if key not in needed and key not in more:
            raise UnknownWordError.of(key, [*needed, *more], place)
    for key in needed:
        if key not in row:
            raise InputError(place, value, f"{key} is missing")
    return row


def _time(place: str, value: Value, rule: str = "a time in seconds") -> None:
    try:
        v.duration(place, value)
    except InputError:
        raise InputError(place, value, rule) from None


def _number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _count(place: str, value: Value) -> None:
    pair = isinstance(value, list) and len(value) == 2 and all(map(_number, value))  # noqa: PLR2004
    bounds = isinstance(value, dict) and value.keys() <= BOUNDS and all(map(_number, value.values()))
    if not (_number(value) or pair or bounds):
        raise InputError(place, value, _COUNT)


def _by_job(check: Callable[[str, Value], None], rule: str, **names: bool) -> Form:
    """Build the form {J: what `check` takes}."""

    def form(r: _Reader, place: str, value: Value) -> None:
        for name, wanted in _map(place, value, f"{{J: {rule}}}").items():
            r.job(place, name, **names)
            check(f"{place}: {name}", wanted)

    return form


def _window(place: str, value: Value) -> None:
    if not isinstance(value, list) or len(value) != 2:  # noqa: PLR2004
        raise InputError(place, value, _WINDOW)
    for moment in value:
        _time(place, moment, _WINDOW)


def _states(place: str, value: Value) -> None:
    for state in as_list(value) or [value]:
        if state not in STATES:
            near = get_close_matches(str(state), STATES, n=1, cutoff=0.5)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise InputError(place, state, f"one of {', '.join(STATES)}{hint}")


def _placed(r: _Reader, place: str, value: Value) -> None:
    for job, wanted in _map(place, value, "{J: [n1, n2]}").items():
        r.job(place, job)
        for name in _list(f"{place}: {job}", wanted, "a list of node names"):
            r.place(f"{place}: {job}", "node", name)


def _devices(place: str, value: Value) -> None:
    if not all(_number(n) for n in _list(place, value, "a list of device numbers")):
        raise InputError(place, value, "a list of device numbers")


def _mentions(place: str, value: Value) -> None:
    if not isinstance(value, dict):
        if value is None:
            raise InputError(place, value, _WORDS)
        return
    row = _row(place, value, ("mentions",), ("at", "start"))
    if "at" in row:
        _time(f"{place}.at", row["at"])
    if "start" in row and not _number(row["start"]):
        raise InputError(f"{place}.start", row["start"], "the number of an attempt")


def _names(r: _Reader, place: str, value: Value) -> None:
    if not isinstance(value, list | str):
        raise InputError(place, value, _NAMES)
    for name in as_list(value):
        r.job(place, name)


def _order(r: _Reader, place: str, value: Value) -> None:
    rows = _list(place, value, "a list of job names, or a list of such lists")
    for row in rows if rows and isinstance(rows[0], list) else [rows]:
        for name in _list(place, row, "a list of such lists: [[J, K], [L, M]]"):
            r.job(place, name)


def _after(r: _Reader, place: str, value: Value) -> None:
    for i, raw in enumerate(_list(place, value, "a list of {job: J, after: K, within: s}")):
        row = _row(f"{place}[{i}]", raw, ("job", "after"), ("within",))
        r.job(f"{place}[{i}].job", row["job"])
        r.job(f"{place}[{i}].after", row["after"])
        if "within" in row:
            _time(f"{place}[{i}].within", row["within"])


def _preempted(r: _Reader, place: str, value: Value) -> None:
    row = _row(place, value, (), ("exactly", "never", "count", "of", "max_each", "total_max"))
    for key, wanted in row.items():
        if key in ("exactly", "never", "of"):
            _names(r, f"{place}.{key}", wanted)
        elif key == "count":
            _count(f"{place}.{key}", wanted)
        elif not _number(wanted):
            raise InputError(f"{place}.{key}", wanted, "a count")


def _running(r: _Reader, place: str, value: Value) -> None:
    for i, raw in enumerate(_list(place, value, "a list of {at: t, jobs: [..], count: n}")):
        row = _row(f"{place}[{i}]", raw, ("at", "jobs", "count"), ())
        _time(f"{place}[{i}].at", row["at"])
        _names(r, f"{place}[{i}].jobs", row["jobs"])
        _count(f"{place}[{i}].count", row["count"])


def _use(r: _Reader, place: str, value: Value) -> None:
    for i, raw in enumerate(_list(place, value, "a list of {queue: q, from: a, to: b, gpus: {eq: n}}")):
        here = f"{place}[{i}]"
        row = _map(here, raw, "a map with queue (or node, or limit), from, to and what is held")
        if len(row.keys() & _PLACES) != 1:
            raise InputError(here, raw, "one of queue, node, limit")
        _row(here, raw, ("from", "to"), row.keys())
        for kind in row.keys() & _PLACES:
            r.place(f"{here}.{kind}", kind, row[kind])
        _time(f"{here}.from", row["from"])
        _time(f"{here}.to", row["to"])
        for resource in row.keys() - _PLACES - {"from", "to"}:
            bounds = _map(f"{here}.{resource}", row[resource], "a map of min, max, eq")
            for word in bounds.keys() - BOUNDS:
                raise UnknownWordError.of(word, BOUNDS, f"{here}.{resource}")
            for word, wanted in bounds.items():
                _amount(f"{here}.{resource}.{word}", resource, wanted)


def _machines(_: _Reader, place: str, value: Value) -> None:
    for i, raw in enumerate(_list(place, value, "a list of {type: T, from: a, to: b, ordered: n}")):
        here = f"{place}[{i}]"
        row = _row(here, raw, ("type", "from", "to"), ("ordered", "alive"))
        _time(f"{here}.from", row["from"])
        _time(f"{here}.to", row["to"])
        for key in ("ordered", "alive"):
            if key in row:
                _count(f"{here}.{key}", row[key])


def _amount(place: str, resource: str, value: Value) -> None:
    try:
        amount(resource, value)
    except (ValueError, ZeroDivisionError, InputError):
        raise InputError(place, value, f"an amount of {resource}") from None


def _of_larger(form: type, rule: str) -> Form:
    """Build the form of a key about workflows, schedules and the like; what is inside is read where it is judged."""

    def check(r: _Reader, place: str, value: Value) -> None:
        if not isinstance(value, form):
            raise InputError(place, value, rule)
        if value and not r.larger:
            raise InputError(place, value, "the file has no workflows, schedules, services or searches")

    return check


def _either(r: _Reader, place: str, value: Value) -> None:
    for i, other in enumerate(_list(place, value, "a list of maps like expect")):
        r.expect(_map(f"{place}[{i}]", other, "a map like expect"), f"{place}[{i}]")


def _slack(_: _Reader, place: str, value: Value) -> None:
    _time(place, value)


FORMS: dict[str, Form] = {
    "slack": _slack,
    "starts": _by_job(_window, _WINDOW, numbered=True),
    "ends": _by_job(_window, _WINDOW, numbered=True),
    "never_starts": _names, "refused": _names, "order": _order, "after": _after,
    "final": _by_job(_states, "state", everything=True),
    "preempted": _preempted,
    "attempts": _by_job(_count, _COUNT), "runs": _by_job(_count, _COUNT),
    "distinct_devices": _by_job(_count, _COUNT),
    "placed": _placed, "devices": _by_job(_devices, "[2, 3]"),
    "running": _running, "use": _use, "reason": _by_job(_mentions, "[word, ..]"), "either": _either,
    "machines": _machines,
    **dict.fromkeys(("inputs", "results", "fires", "skips", "trials"), _of_larger(dict, "a map by name")),
    **dict.fromkeys(("replicas", "requests"), _of_larger(list, "a list of maps")),
}  # fmt: skip
"""The keys of `expect` by the form of their values."""
