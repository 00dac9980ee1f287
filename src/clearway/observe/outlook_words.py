"""What a job lacks and what would let it start, in plain English."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.observe import amounts
from clearway.observe.facts import escaped
from clearway.observe.words import resource_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.model.outlook import Change, Eta, Holder, Lack, Outlook, Value

    Moment = Callable[[int], str]

_DOMAINS = {"nvlink": "NVLink island", "pcie": "PCIe switch", "numa": "NUMA side", "rack": "rack", "zone": "zone"}
_EVENTS = {
    "ended": "a job that ends",
    "resized": "a job that shrinks",
    "started": "its start",
    "node_ready": "a node that joins or comes back",
    "drained": "a drain that is taken back",
    "device_unhealthy": "a device that is healthy again",
    "queue_changed": "another limit",
    "released": "its release",
}


_OUT = {
    "drained": "nothing new is placed there: drained",
    "node_ready": "nothing is heard from there",
    "device_unhealthy": "too few devices there are healthy",
}
"""Why nodes that would do are out of service, by the event that would lift it."""


def lack_sentence(lack: Lack, moment: Moment = amounts.seconds) -> str:
    """Return one lack as a sentence without a full stop: what, where, by how much, who has it."""
    held = _held(lack, moment)
    words = _tasks if lack.resource in {"tasks", "roles"} else _WORDS.get(lack.level, _place)
    return f"{words(lack, moment)}{held}"


def lifts_sentence(lack: Lack) -> str:
    """Return which events could end a lack; empty where none is known."""
    return " or ".join(_EVENTS[kind] for kind in lack.lifts if kind in _EVENTS)


def change_sentence(change: Change) -> str:
    """Return a change that would let a job start, as a sentence without a full stop."""
    role = f" in role {escaped(change.role)}" if change.role else ""
    where = f" on {_some(change.nodes)}" if change.nodes else ""
    return f"would start now{where} {_with(change)}{role}"


def expected_sentence(outlook: Outlook, moment: Moment = amounts.seconds) -> str:
    """Return when a job is expected to start."""
    if outlook.verdict == "starts":
        return f"starts at once on {_some(outlook.nodes)}"
    if outlook.verdict == "never":
        return "never starts as things are: no node could hold it even if it were empty"
    if outlook.verdict == "limited":
        return "never starts as things are: it asks for more than a limit would ever let it have"
    if outlook.start_us is None and outlook.looked_us is not None:
        return f"by the estimates of what runs not before {moment(outlook.looked_us)}; further ahead was not looked"
    if outlook.start_us is None:
        return "nobody knows when it will start: what it waits for has no estimate of its end"
    where = f" on {_some(outlook.nodes)}"
    return f"starts by {moment(outlook.start_us)}{where}, if nothing else comes and no estimate is exceeded"


def eta_sentence(eta: Eta, moment: Moment = amounts.seconds) -> str:
    """Return how sure the start of a job is."""
    if eta.median_us is None:
        return f"in most of {eta.samples} runs ahead it does not start as far as was looked"
    latest = "is open" if eta.high_us is None else moment(eta.high_us)
    earliest = moment(eta.median_us if eta.low_us is None else eta.low_us)
    sure = f"8 of 10 between {earliest} and {latest}" if eta.high_us is not None else f"how late at worst {latest}"
    return f"most likely starts around {moment(eta.median_us)} ({sure}, by {eta.samples} runs ahead on forecasts)"


def fits_sentence(outlook: Outlook) -> str:
    """Return where a job could run at all, where that is not everywhere; else nothing."""
    many = len(outlook.fits) + outlook.more_fit
    if many in {0, outlook.of_nodes}:
        return ""
    more = f" and {outlook.more_fit} more" if outlook.more_fit else ""
    return f"fits only {many} of {outlook.of_nodes} nodes: {', '.join(map(escaped, outlook.fits))}{more}"


def needs_sentence(outlook: Outlook) -> str:
    """Return where a job would start with what is enough for it, as a sentence; empty where it would not."""
    return f"with what would do it could start now on {_some(outlook.needs_nodes)}" if outlook.needs_nodes else ""


def _some(nodes: tuple[str, ...], most: int = 8) -> str:
    return ", ".join(map(escaped, nodes[:most])) + (", .." if len(nodes) > most else "")


# --- lacks -----------------------------------------------------------------------------------------


def _place(lack: Lack, _: Moment) -> str:
    need, has, short = (resource_words(lack.resource, n) for n in (lack.need, lack.has, lack.short))
    where = f" {escaped(lack.name)}" if lack.name else ""
    if lack.level == "node" and lack.resource == "nodes":
        return f"could run on {escaped(lack.name)}, but {_OUT[lack.lifts[0]]}"
    there = f"{has} there in all" if lack.lifts == ("node_ready",) else f"{has} free there"
    return f"lacks {short} on {_level(lack.level)}{where}: {need} needed, {there}"


def _level(level: str) -> str:
    return _DOMAINS.get(level, level)


def _tasks(lack: Lack, moment: Moment) -> str:
    inside = f" inside one {_level(lack.level)}" if lack.level != "fleet" else ""
    match lack.resource:
        case "tasks":
            return f"{lack.short} of {lack.need} tasks that must start together find no place{inside}"
        case "roles":
            return f"its {lack.need} tasks find room alone, but not together{inside}"
        case "nodes":
            return "no node is of the kind that it asks for"
        case _:
            return _place(lack, moment)


def _limit(lack: Lack, _: Moment) -> str:
    need, has, short = (resource_words(lack.resource, n) for n in (lack.need, lack.has, lack.short))
    name = escaped(lack.name)
    whose = {"user": f"the limit per user of queue {name}", "parent": f"the limit of queue {name} above it"}
    return f"lacks {short} below {whose.get(lack.level, f'the limit of its queue {name}')}: {need} needed, {has} left"


def _order(lack: Lack, moment: Moment) -> str:
    if not lack.name:
        return "a place is being cleared for it"
    until = f", which is promised to start at {moment(lack.until_us)}" if lack.until_us else ""
    return f"there is room, but it goes after {escaped(lack.name)}{until}"


def _booking(lack: Lack, moment: Moment) -> str:
    until = f" until {moment(lack.until_us)}" if lack.until_us else ""
    return f"there is room only where booking {escaped(lack.name)} keeps it for others{until}"


_WORDS: dict[str, Callable[[Lack, Moment], str]] = {
    "fleet": _tasks,
    **dict.fromkeys(_DOMAINS, _tasks),
    **dict.fromkeys(("queue", "parent", "user"), _limit),
    "limit": lambda lack, _: f"no slot of the shared limit {escaped(lack.name)} is free",
    "order": _order,
    "booking": _booking,
    "time": lambda lack, moment: f"may start again at {moment(lack.until_us or 0)}",
    "dependency": lambda lack, _: f"waits for {escaped(lack.name)} to succeed",
    "person": lambda lack, _: f"is held back by {escaped(lack.name)}" if lack.name else "is held back",
}


def _held(lack: Lack, moment: Moment) -> str:
    if not lack.holders or lack.level in {"order", "person", "booking"}:
        return ""
    said = ", ".join(_holder(one, lack.resource, moment) for one in lack.holders)
    return f"; held by {said}" + (f" and {lack.more} more" if lack.more else "")


def _holder(one: Holder, resource: str, moment: Moment) -> str:
    resource = "gpus" if resource in {"tasks", "roles"} else resource
    much = [resource_words(resource, one.amount)] if one.amount and resource != "slots" else []
    until = [f"until {moment(one.until_us)}"] if one.until_us is not None else ["end unknown"]
    return f"{escaped(one.name)} ({', '.join([*much, *until])})"


# --- changes ---------------------------------------------------------------------------------------


def _with(change: Change) -> str:
    before, after = change.before, change.after
    match change.word:
        case "queue":
            return f"in queue {escaped(str(after))} instead of {escaped(str(before))}"
        case "topology":
            wider = f"required inside one {_level(str(after))}" if after else "with no required topology"
            return f"{wider} instead of inside one {_level(str(before))}"
        case "gpu_model":
            return f"with {_either(after)} instead of {_either(before)}"
        case "nodes":
            return f"with nodes {_either(after) or 'of any label'} instead of {_either(before)}"
        case "tolerates":
            return f"tolerating {_either(after)}"
        case "time_limit" | "time_estimate":
            return f"with {change.word} {_span(after)} instead of {_span(before)}"
        case "tasks" | "min_tasks" | "spot" | "priority":
            return f"with {change.word} {after} instead of {before}"
        case _:
            return f"with {_amount(change.word, after)} instead of {_amount(change.word, before)}"


def _either(value: Value) -> str:
    return " or ".join(map(escaped, value)) if isinstance(value, tuple) else ""


def _span(value: Value) -> str:
    return amounts.duration(value) if isinstance(value, int) else "none"


def _amount(word: str, value: Value) -> str:
    return resource_words(word, value) if isinstance(value, int) else "none"
