"""Scenario files are read here. An unknown key refuses the file; a refused value of a job refuses that job alone."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from clearway.config.yaml_file import parse_yaml, read_text
from clearway.model import values as v
from clearway.model.budgets import read_budget
from clearway.model.errors import InputError, NotYetError, UnknownWordError
from clearway.model.fleet import NodeSpec, PolicySpec
from clearway.model.machine_words import read_limit, read_nodes
from clearway.model.type_words import TypeRead, read_type
from clearway.model.verb_words import read_booking
from clearway.policies.registry import ORDERS, policy_named
from clearway.sim import schedule_words, search_words
from clearway.sim.batch import NAME_RULE, RESERVED, Batch, Context, read_batch
from clearway.sim.events import (
    ChangeWish,
    DevicesFail,
    DrainWish,
    EndAgain,
    Event,
    FlowEnters,
    JobWish,
    NodeFault,
    NodesJoin,
    RerunWish,
    SearchEnters,
    SpotNotice,
    StockChange,
    read_event,
)
from clearway.sim.flow_words import FlowEntry, changed, read_entry
from clearway.sim.queue_words import QueueBook
from clearway.sim.script import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from clearway.sim.schedule_words import ScheduleEntry

WORDS = frozenset({
    "title", "policy", "fleet", "queues", "limits", "budgets", "bookings", "jobs", "workflows", "schedules", "searches",
    "events", "until", "clock", "expect",
})  # fmt: skip
LATER = ("services", "load")
"""Keys that are known but not carried out yet: a file that fills one is refused with that rule."""

LARGER = (*LATER, "workflows", "schedules", "searches")
"""Keys of what is larger than a job."""

ORDERS_LATER = frozenset(
    {"fair", "sjf", "srtf", "las", "largest", "wfp3", "unicep", "f1", "edf", "learned"},
).difference(ORDERS)
EXPECT_WORDS = frozenset({
    "slack", "starts", "ends", "never_starts", "order", "after", "final", "preempted", "attempts", "placed", "devices",
    "distinct_devices", "running", "use", "reason", "refused", "either", "runs", "inputs", "results", "fires", "skips",
    "machines", "replicas", "requests", "trials",
})  # fmt: skip
_NOT_YET = "this version"  # how the rule begins for what the policies do not carry out yet
_T = TypeVar("_T")


def read_scenario(source: str | Path) -> Scenario:
    """Read a scenario: a Path is a file, a text is the YAML itself.

    Errors: UnknownWordError for a key that nobody knows; InputError for a value that breaks a rule, other than a
    job's own, which refuses that job alone; NotYetError, where nothing else is wrong, for a word that this version
    does not carry out.
    """
    raw = parse_yaml(source if isinstance(source, str) else read_text(source), "scenario")
    if _is_job_file(raw):
        raise InputError("scenario", "this file", "a fleet, jobs and expect; jobs to run are for clearway submit")
    if not isinstance(raw, dict):
        raise InputError("scenario", raw, "a map of keys: fleet, jobs, events, expect, ..")
    for key in raw:
        if key not in WORDS and key not in LATER:
            raise UnknownWordError.of(key, (*WORDS, *LATER), "scenario")
    return _Reader(raw).scenario()


def _is_job_file(raw: object) -> bool:
    """Return whether this is a job, or a list of them, that a controller is to run."""
    if isinstance(raw, dict):
        return "fleet" not in raw and ("run" in raw or _is_job_file(raw.get("jobs")))
    return isinstance(raw, list) and any(isinstance(one, dict) and "run" in one for one in raw)


class _Reader:
    """Reads the parts in the order in which they need one another. What comes later is refused last."""

    def __init__(self, raw: dict[str, Any]) -> None:
        self._raw = raw
        self._later = [NotYetError.of(key, raw[key], "scenario") for key in LATER if raw.get(key)]

    def scenario(self) -> Scenario:
        raw = self._raw
        policy = self._hold(partial(_policy, raw.get("policy"))) or PolicySpec()
        nodes = self._nodes()
        types = self._types(nodes)
        limits = tuple(read_limit(_map("limits", x)) for x in _list("limits", raw.get("limits")))
        _check_names("limits", [limit.name for limit in limits])
        budgets = tuple(read_budget(_map("budgets", x)) for x in _list("budgets", raw.get("budgets")))
        _check_names("budgets", [budget.name for budget in budgets])
        book = self._hold(partial(QueueBook, _list("queues", raw.get("queues")))) or QueueBook(())
        clock_us = v.instant("clock", raw["clock"]) if raw.get("clock") is not None else 0
        flows = self._flows(book)
        schedules = self._schedules(book, flows)
        defaults = partial(book.defaults, edition=0)
        searches = tuple(search_words.read_entry(x, defaults) for x in _list("searches", raw.get("searches")))
        _check_unique("searches", [entry.spec.name for entry in searches])
        events = self._events(book, flows)
        batches = self._batches(Context(book, clock_us, policy.estimate == "oracle"))
        owners = {*flows, *(one.spec.name for one in schedules), *(one.spec.name for one in searches)}
        self._check_events(events, nodes, batches, types, owners)
        entering = tuple(FlowEnters(one.submit_us, one) for one in flows.values() if one.submit_us is not None)
        searching = tuple(SearchEnters(one.submit_us, one) for one in searches)
        events = tuple(sorted((*entering, *searching, *events), key=lambda event: event.at_us))
        booked = _list("bookings", raw.get("bookings"))
        bookings = tuple(read_booking(_map("bookings", x), seconds=True) for x in booked)
        _check_unique("bookings", [booking.name for booking in bookings])
        until_us = v.duration("until", raw["until"]) if raw.get("until") is not None else None
        expect = _map("expect", raw.get("expect") or {})
        _check_expect(expect, "expect")
        title = v.text("title", raw.get("title") or "")
        if self._later:
            raise self._later[0]
        return Scenario(
            title,
            policy,
            nodes,
            book.first,
            limits,
            batches,
            events,
            until_us,
            clock_us,
            expect,
            raw,
            bookings,
            tuple(flows.values()),
            types,
            schedules,
            searches,
            budgets,
        )

    def _hold(self, read: Callable[[], _T]) -> _T | None:
        """Read a part; a word that comes later is kept back until the rest has been looked at."""
        try:
            return read()
        except NotYetError as error:
            self._later.append(error)
            return None

    def _nodes(self) -> tuple[NodeSpec, ...]:
        fleet = _map("fleet", self._raw.get("fleet") or {})
        for key in fleet:
            if key not in ("nodes", "types"):
                raise UnknownWordError.of(key, ("nodes", "types"), "fleet")
        nodes = tuple(n for raw in _list("nodes", fleet.get("nodes")) for n in read_nodes(_map("nodes", raw)))
        _check_names("fleet.nodes", [n.name for n in nodes])
        return nodes

    def _types(self, nodes: Sequence[NodeSpec]) -> tuple[TypeRead, ...]:
        raws = _list("types", _map("fleet", self._raw.get("fleet") or {}).get("types"))
        types = tuple(read_type(_map("types", raw)) for raw in raws)
        _check_names("fleet.types", [one.kind.name for one in types])
        for name in (node.name for node in nodes):
            if _machine_of(name, types):
                raise InputError("name", name, "another name than a machine that is ordered gets", "fleet.nodes")
        return types

    def _flows(self, book: QueueBook) -> dict[str, FlowEntry]:
        raws = _list("workflows", self._raw.get("workflows"))
        used = {x.get("workflow") for x in self._raw.get("schedules") or () if isinstance(x, dict)}
        defaults = partial(book.defaults, edition=0)
        found = [read_entry(raw, defaults, template=isinstance(raw, dict) and raw.get("name") in used) for raw in raws]
        _check_unique("workflows", [entry.spec.name for entry in found])
        return {entry.spec.name: entry for entry in found}

    def _schedules(self, book: QueueBook, flows: dict[str, FlowEntry]) -> tuple[ScheduleEntry, ...]:
        ends, defaults = self._raw.get("until") is not None, partial(book.defaults, edition=0)
        raws = _list("schedules", self._raw.get("schedules"))
        found = tuple(schedule_words.read_entry(raw, flows, defaults, ends=ends) for raw in raws)
        _check_unique("schedules", [entry.spec.name for entry in found])
        return found

    def _events(self, book: QueueBook, flows: dict[str, FlowEntry]) -> tuple[Event, ...]:
        """Read the events in order of time, so that each `set_queue` is laid over what the queue was then."""
        raws = list(enumerate(_list("events", self._raw.get("events"))))
        for i, raw in raws:
            if not isinstance(raw, dict):
                raise InputError("events", raw, "{at: T, KIND: VALUE}", f"events[{i}]")
        now = dict(flows)

        def rerun(name: str, words: object) -> FlowEntry | None:
            if name not in now and words == {}:
                return None
            if name not in now:
                raise InputError("rerun", name, "a workflow of this file, where words are set")
            now[name] = changed(now[name], words, partial(book.defaults, edition=0), f"workflow {name:.60}")
            return now[name]

        found = []
        for i, raw in sorted(raws, key=lambda x: _moment(x[1])):
            change = partial(book.change, _moment(raw))
            event = self._hold(partial(read_event, raw, f"events[{i}]", change, rerun))
            found += [event] if event else []
        return tuple(found)

    def _batches(self, context: Context) -> tuple[Batch, ...]:
        read = [self._hold(partial(read_batch, raw, context)) for raw in _list("jobs", self._raw.get("jobs"))]
        found = tuple(batch for batch in read if batch)
        _check_unique("jobs", [n for batch in found for n in batch.names])
        return found

    def _there(self, name: str, jobs: set[str], owners: set[str]) -> bool:
        return name in jobs or _owner(name) in owners or bool(self._later)

    def _check_events(
        self,
        events: Sequence[Event],
        nodes: Sequence[NodeSpec],
        batches: Sequence[Batch],
        types: Sequence[TypeRead],
        owners: set[str],
    ) -> None:
        """Refuse an event about a node or job that is not in the file; jobs that come later may be of any name."""
        here, jobs = {n.name for n in nodes}, {n for batch in batches for n in batch.all_names()}
        for event in events:
            match event:
                case NodesJoin(nodes=new):
                    _check_names("add_node", [n.name for n in new])
                    _check_unique("add_node", [*here, *(n.name for n in new)])
                    here |= {n.name for n in new}
                case StockChange(kind=kind) if kind not in {one.kind.name for one in types}:
                    raise InputError("events", kind, "a type of this file", f"at {event.at_us} us")
                case NodeFault() | SpotNotice() | DevicesFail() | DrainWish() if not (
                    event.node in here or _machine_of(event.node, types)
                ):
                    raise InputError("events", event.node, "a node that is there then", f"at {event.at_us} us")
                case JobWish() | ChangeWish() | EndAgain() if not self._there(event.job, jobs, owners):
                    raise InputError("events", event.job, "a job of this file", f"at {event.at_us} us")
                case RerunWish() if not self._there(event.name, jobs, owners):
                    raise InputError("events", event.name, "a job or workflow of this file", f"at {event.at_us} us")
                case _:
                    pass
            if isinstance(event, NodeFault) and event.kind == "remove_node":
                here.discard(event.node)


def _owner(name: str) -> str:
    """Return what a part belongs to: W of W.s[0], S of S@2026-01-05T12:00:00Z."""
    return re.split(r"[.@\[]", name, maxsplit=1)[0]


def _machine_of(name: str, types: Sequence[TypeRead]) -> bool:
    """Return whether a name is one that ordered machines get: T-1, T-2, .."""
    kind, _, number = name.rpartition("-")
    return number.isdecimal() and number.isascii() and int(number) > 0 and kind in {one.kind.name for one in types}


def _moment(raw: object) -> int:
    """Return when an event happens; what cannot be read is refused where its other words are."""
    try:
        return v.duration("at", raw.get("at")) if isinstance(raw, dict) else 0
    except InputError:
        return 0


def _policy(raw: object) -> PolicySpec:
    if raw is None:
        return PolicySpec()
    if not isinstance(raw, str | dict):
        raise InputError("policy", raw, "the name of a bundle, or a map of words")
    try:
        return policy_named(raw)
    except InputError as error:
        later = error.rule.startswith(_NOT_YET) or (error.field == "order" and error.value.strip("'") in ORDERS_LATER)
        if not later or isinstance(error, NotYetError):
            raise
        value = raw.get(error.field, raw) if isinstance(raw, dict) else raw
        raise NotYetError.of(error.field, value, "policy") from None


def _check_names(place: str, names: Sequence[str]) -> None:
    for name in names:
        if RESERVED & set(name):
            raise InputError("name", name, NAME_RULE, place)
    _check_unique(place, names)


def _check_unique(place: str, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError("name", name, "a name stands once", place)
        seen.add(name)


def _check_expect(expect: dict[str, Any], place: str) -> None:
    for key in expect:
        if key not in EXPECT_WORDS:
            raise UnknownWordError.of(key, EXPECT_WORDS, place)
    for i, other in enumerate(_list("either", expect.get("either"))):
        _check_expect(_map("either", other), f"{place}.either[{i}]")


def _map(field: str, raw: object) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise InputError(field, raw, "a map of words")
    return raw


def _list(field: str, raw: object) -> list[Any]:
    if raw is None:
        return []
    if not isinstance(raw, list):
        raise InputError(field, raw, "a list")
    return raw
