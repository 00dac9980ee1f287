"""What a scenario lets happen at given moments: faults of machines and of the controller, and wishes of people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from clearway.flow.json_text import text_of
from clearway.model import values as v
from clearway.model.asks import Change
from clearway.model.errors import InputError, UnknownWordError
from clearway.model.fleet import BookingSpec, NodeSpec, QueueSpec
from clearway.model.flow import NULL
from clearway.model.ids import JobId
from clearway.model.machine_words import read_nodes
from clearway.model.verb_words import read_booking, read_change
from clearway.model.words import Word, read_words
from clearway.sim.flow_words import FlowEntry
from clearway.sim.search_words import SearchEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SPOT_NOTICE_US = 30 * v.SECOND_US
"""How long after its notice a spot node is taken away where nothing is said."""


class _Event(msgspec.Struct, frozen=True, tag=True):
    at_us: int


class NodeFault(_Event, frozen=True, tag=True):
    """`kind` is node_lost, node_ready, cut_network, restore_network or remove_node."""

    kind: str
    node: str


class SpotNotice(_Event, frozen=True, tag=True):
    """The provider takes a node away `in_us` later."""

    node: str
    in_us: int


class NodesJoin(_Event, frozen=True, tag=True):
    """New nodes."""

    nodes: tuple[NodeSpec, ...]


class DevicesFail(_Event, frozen=True, tag=True):
    """Devices of a node become unhealthy; those that were so stay so."""

    node: str
    devices: tuple[int, ...]


class DrainWish(_Event, frozen=True, tag=True):
    """A person drains a node, or takes that back."""

    node: str
    drained: bool


class JobWish(_Event, frozen=True, tag=True):
    """`kind` is cancel, suspend, resume, hold, release or requeue."""

    kind: str
    job: str


class ChangeWish(_Event, frozen=True, tag=True):
    """A person gives a job other words: `change` names it by the number 0, since its own is not known yet."""

    job: str
    change: Change


class BookWish(_Event, frozen=True, tag=True):
    """A person makes a booking."""

    booking: BookingSpec


class UnbookWish(_Event, frozen=True, tag=True):
    """A person cancels a booking."""

    booking: str


class FlowEnters(_Event, frozen=True, tag=True):
    """A workflow of the file is submitted."""

    entry: FlowEntry


class SearchEnters(_Event, frozen=True, tag=True):
    """A search of the file is submitted."""

    entry: SearchEntry


class RerunWish(_Event, frozen=True, tag=True):
    """A person runs a job or a workflow again; `entry` is what the workflow is from then on.

    The steps `anew` and those behind them run in any case, those of `skip` do not.
    """

    name: str
    entry: FlowEntry | None = None
    anew: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()


class SkipWish(_Event, frozen=True, tag=True):
    """A person has a step of a workflow left out."""

    name: str
    step: str


class AnswerWish(_Event, frozen=True, tag=True):
    """A person answers the step of a workflow that waits for one."""

    name: str
    step: str
    value: str


class EndAgain(_Event, frozen=True, tag=True):
    """The message that ended an attempt (None: the latest that has ended) arrives once more."""

    job: str
    attempt: int | None


class QueueWish(_Event, frozen=True, tag=True):
    """A person creates or changes a queue."""

    queue: QueueSpec


class ControllerFault(_Event, frozen=True, tag=True):
    """`kind` is kill_controller, kill_all or start_controller."""

    kind: str


class StockChange(_Event, frozen=True, tag=True):
    """The provider has no machine of a type to give from now on, or has some again (`sold_out` false)."""

    kind: str
    sold_out: bool


class ClockStep(_Event, frozen=True, tag=True):
    """The wall clock is set forward or back. Schedules alone read it: for all else it must change nothing."""

    step_us: int


Event = (
    NodeFault | SpotNotice | NodesJoin | DevicesFail | DrainWish | JobWish | EndAgain | QueueWish | ControllerFault
    | ClockStep | ChangeWish | BookWish | UnbookWish | FlowEnters | RerunWish | StockChange
    | SearchEnters | AnswerWish | SkipWish
)  # fmt: skip


def _node_fault(kind: str, at_us: int, value: object) -> Event:
    return NodeFault(at_us, kind, v.name(kind, value))


def _spot_notice(kind: str, at_us: int, value: object) -> Event:
    if isinstance(value, str):
        return SpotNotice(at_us, v.name(kind, value), SPOT_NOTICE_US)
    given = _map(kind, value, {"node": v.name, "in": v.duration}, ("node",))
    return SpotNotice(at_us, given["node"], given.get("in", SPOT_NOTICE_US))


def _add_node(kind: str, at_us: int, value: object) -> Event:
    if not isinstance(value, dict):
        raise InputError(kind, value, "the words of a node")
    return NodesJoin(at_us, tuple(read_nodes(value)))


def _devices(kind: str, at_us: int, value: object) -> Event:
    given = _map(kind, value, {"node": v.name, "devices": _numbers}, ("node", "devices"))
    return DevicesFail(at_us, given["node"], given["devices"])


def _numbers(field: str, value: object) -> tuple[int, ...]:
    if not isinstance(value, list):
        raise InputError(field, value, "a list of device numbers")
    return tuple(sorted({v.count(field, n) for n in value}))


def _drain(kind: str, at_us: int, value: object) -> Event:
    return DrainWish(at_us, v.name(kind, value), kind == "drain")


def _job_wish(kind: str, at_us: int, value: object) -> Event:
    return JobWish(at_us, kind, v.name(kind, value))


def _resume(kind: str, at_us: int, value: object) -> Event:
    if not isinstance(value, dict):
        return _job_wish(kind, at_us, value)
    given = _map(kind, value, {"name": v.name, "step": v.name, "value": text_of}, ("name",))
    return AnswerWish(at_us, given["name"], given.get("step", ""), given.get("value", NULL))


def _skip(kind: str, at_us: int, value: object) -> Event:
    given = _map(kind, value, {"name": v.name, "step": v.name}, ("name", "step"))
    return SkipWish(at_us, given["name"], given["step"])


def _change(kind: str, at_us: int, value: object) -> Event:
    given = _map(kind, value, {"name": v.name, "set": lambda _, words: read_change(JobId(0), words)}, ("name", "set"))
    return ChangeWish(at_us, given["name"], given["set"])


def _book(kind: str, at_us: int, value: object) -> Event:
    if not isinstance(value, dict):
        raise InputError(kind, value, "the words of a booking")
    return BookWish(at_us, read_booking(value, seconds=True))


def _unbook(kind: str, at_us: int, value: object) -> Event:
    return UnbookWish(at_us, v.name(kind, value))


def _end_again(kind: str, at_us: int, value: object) -> Event:
    name, mark, number = v.name(kind, value).partition("#")
    if mark and not (number.isdecimal() and number.isascii()):
        raise InputError(kind, value, "a job, or a job and an attempt like J#1")
    return EndAgain(at_us, name, int(number) if mark else None)


def _hard(kind: str, at_us: int, value: object) -> Event:
    v.choice(kind, value, ("hard",))
    return ControllerFault(at_us, kind)


def _start(kind: str, at_us: int, value: object) -> Event:
    if value is not True:
        raise InputError(kind, value, "true")
    return ControllerFault(at_us, kind)


def _clock_step(kind: str, at_us: int, value: object) -> Event:
    back = isinstance(value, int | float) and not isinstance(value, bool) and value < 0
    step_us = v.duration(kind, -value if back else value)  # type: ignore[operator]  # `back` has looked at the type
    return ClockStep(at_us, -step_us if back else step_us)


def _stock(kind: str, at_us: int, value: object) -> Event:
    return StockChange(at_us, v.name(kind, value), kind == "sold_out")


def _map(
    kind: str, value: object, readers: Mapping[str, Callable[[str, object], Any]], needed: tuple[str, ...]
) -> dict[str, Any]:
    given = read_words(kind, value, {k: Word(read, "text", "") for k, read in readers.items()})
    for word in needed:
        if word not in given:
            raise InputError(kind, value, f"a map with {word}")
    return given


_KINDS: dict[str, Callable[[str, int, object], Event]] = {
    "node_lost": _node_fault, "node_ready": _node_fault, "cut_network": _node_fault, "restore_network": _node_fault,
    "remove_node": _node_fault, "spot_notice": _spot_notice, "add_node": _add_node, "devices_unhealthy": _devices,
    "drain": _drain, "undrain": _drain, "cancel": _job_wish, "suspend": _job_wish, "resume": _resume,
    "hold": _job_wish, "release": _job_wish, "requeue": _job_wish, "change": _change, "book": _book, "unbook": _unbook,
    "redeliver_end": _end_again, "kill_controller": _hard, "kill_all": _hard, "start_controller": _start,
    "skip": _skip, "wall_clock_step": _clock_step, "sold_out": _stock, "in_stock": _stock,
}  # fmt: skip
QUEUE_EVENT = "set_queue"
RERUN = "rerun"


def read_event(
    raw: object, place: str, set_queue: Callable[[object], QueueSpec], rerun: Callable[[str, object], FlowEntry | None]
) -> Event:
    """Read `{at: T, KIND: VALUE}`.

    `set_queue` makes a queue of the words of such an event, `rerun` a workflow of its name and the words to change.
    """
    if not isinstance(raw, dict):
        raise InputError("events", raw, "{at: T, KIND: VALUE}", place)
    known = {"at", *_KINDS, QUEUE_EVENT, RERUN}
    for key in raw:
        if key not in known:
            raise UnknownWordError.of(key, known, place)
    kinds = [k for k in raw if k != "at"]
    if "at" not in raw or len(kinds) != 1:
        raise InputError("events", raw, "a time `at` and one kind of event", place)
    try:
        return _read(kinds[0], v.duration("at", raw["at"]), raw[kinds[0]], set_queue, rerun)
    except UnknownWordError:
        raise
    except InputError as error:
        raise error.at(place) from None


def _read(
    kind: str,
    at_us: int,
    value: object,
    set_queue: Callable[[object], QueueSpec],
    rerun: Callable[[str, object], FlowEntry | None],
) -> Event:
    if kind == RERUN:
        if isinstance(value, str):
            return RerunWish(at_us, v.name(kind, value), rerun(value, {}))
        readers = {"name": v.name, "set": lambda _, words: words, "from": v.names, "skip": v.names}
        given = _map(kind, value, readers, ("name",))
        entry = rerun(given["name"], given.get("set", {}))
        return RerunWish(at_us, given["name"], entry, given.get("from", ()), given.get("skip", ()))
    if kind == QUEUE_EVENT:
        return QueueWish(at_us, set_queue(value))
    return _KINDS[kind](kind, at_us, value)
