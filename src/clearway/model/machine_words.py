"""The words of fleets, queues, shared limits and policies."""

from __future__ import annotations

import json
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from clearway.model import values as v
from clearway.model.errors import InputError, UnknownWordError
from clearway.model.fleet import LimitSpec, NodeSpec, PolicySpec, QueueSpec
from clearway.model.forecast import HALF, LEVELS, WHOLE
from clearway.model.slice_words import check_slices, slices
from clearway.model.words import JOB_WORDS, Word, check_keys, named, read_words

if TYPE_CHECKING:
    from collections.abc import Mapping


def _islands(field: str, value: object) -> tuple[tuple[int, ...], ...]:
    if not isinstance(value, list | tuple):
        raise InputError(field, value, "a list of lists of device numbers")
    found = []
    for island in value:
        if not isinstance(island, list | tuple):
            raise InputError(field, value, "a list of lists of device numbers")
        found.append(tuple(sorted(v.count(field, n) for n in island)))
    if len({n for island in found for n in island}) < sum(map(len, found)):
        raise InputError(field, value, "each device is in at most one of the lists")
    return tuple(found)


def _whole_gpus(field: str, value: object) -> int:
    milli = v.gpus(field, value)
    if milli % v.MILLI:
        raise InputError(field, value, "a node has a whole number of devices")
    return v.count(field, milli // v.MILLI, 0, 1024)


NODE_WORDS: dict[str, Word] = {
    "name": Word(v.name, "text", "name of the node"),
    "count": Word(v.count, "number", "so many like nodes: name-0, name-1, .."),
    "cpus": Word(v.milli, "number", "CPUs"),
    "memory": Word(v.size, "text", "memory"),
    "disk": Word(v.size, "text", "disk"),
    "bandwidth": Word(v.milli, "number", "network bandwidth in Gbit/s"),
    "gpus": Word(_whole_gpus, "number", "number of devices"),
    "gpu_model": Word(v.name, "text", "model of its devices"),
    "gpu_memory": Word(v.size, "text", "memory per device"),
    "resources": Word(v.counts, "map", "other countable resources"),
    "slices": Word(slices, "nested", "devices cut into fixed slices: [{device: 0, profile: 1g.10gb, count: 7}]"),
    "links": Word(_islands, "nested", "NVLink islands of its devices"),
    "pcie": Word(_islands, "nested", "devices under one PCIe switch"),
    "numa": Word(_islands, "nested", "devices by NUMA side"),
    "rack": Word(v.name, "text", "rack"),
    "zone": Word(v.name, "text", "zone"),
    "labels": Word(v.pairs, "map", "labels"),
    "taints": Word(v.names, "names", "taints that a job must tolerate"),
    "price": Word(v.money, "number", "money per hour"),
    "spot": Word(v.flag, "flag", "whether the provider may take it away"),
    "holds": Word(v.names, "names", "data, images or models on its disk"),
}


def read_nodes(raw: Mapping[str, object]) -> list[NodeSpec]:
    """Read one entry of `fleet.nodes`; with `count` it stands for several nodes."""
    given = read_words(named("node", raw), raw, NODE_WORDS)
    if "name" not in given:
        raise InputError("name", None, "every node has a name", "fleet.nodes")
    count = given.pop("count", None)
    given["price_micros"] = given.pop("price", 0)
    check_devices(given)
    if count is None:
        return [NodeSpec(**given)]
    return [NodeSpec(**{**given, "name": f"{given['name']}-{i}"}) for i in range(count)]


def check_devices(given: dict[str, Any]) -> None:
    """Raise InputError where an island of a node names a device that it does not have, or slices are too many."""
    check_slices(given)
    for word in ("links", "pcie", "numa"):
        for island in given.get(word, ()):
            for n in island:
                if n >= given.get("gpus", 0):
                    raise InputError(
                        word, n, f"a device number below gpus ({given.get('gpus', 0)})", f"node {given['name']}"
                    )


_AMOUNTS = {
    "gpus": v.milli,
    "cpus": v.milli,
    "bandwidth": v.milli,
    "memory": v.size,
    "disk": v.size,
    "gpu_memory": v.size,
}


MOST_WEIGHT = 1000  # of an order in a sum of orders
MISSPELT = 0.75  # so alike a word is taken for a slip of the known one, not for a resource of that name


def _amounts(field: str, value: object) -> tuple[tuple[str, int], ...]:
    """Amounts by resource; custom ones stand beside the others or inside `resources`."""
    if not isinstance(value, dict):
        raise InputError(field, value, "a map of resources to amounts")
    custom = v.counts(f"{field}.resources", value.get("resources", {}))
    plain = {v.name(field, k): x for k, x in value.items() if k != "resources"}
    for key in plain:
        if key not in _AMOUNTS and get_close_matches(key, _AMOUNTS, n=1, cutoff=MISSPELT):
            # a limit on a resource that nobody has would be none at all
            raise UnknownWordError.of(key, [*_AMOUNTS, "resources"], field)
    found = {k: _AMOUNTS.get(k, v.count)(f"{field}.{k}", x) for k, x in plain.items()}
    return tuple(sorted({**found, **dict(custom)}.items()))


def _order(field: str, value: object) -> tuple[str, ...]:
    names = v.names(field, value)
    if not names:
        raise InputError(field, value, "at least one order")
    return names


def _orders(field: str, value: object) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Orders compared in turn, or a map of orders to weights: their names and weights, which say nothing of a turn."""
    if not isinstance(value, dict):
        return _order(field, value), ()
    weights = {
        v.name(field, name): v.count(f"{field}.{name}", weight, 1, MOST_WEIGHT) for name, weight in value.items()
    }
    if not weights:
        raise InputError(field, value, "at least one order")
    names = tuple(sorted(weights))
    return names, tuple(weights[name] for name in names)


def _defaults(field: str, value: object) -> bytes:
    read_words(field, value, JOB_WORDS)
    return json.dumps(
        value, sort_keys=True, default=str
    ).encode()  # YAML gives times as objects; as ISO text they read back


def _rate_or_none(field: str, value: object) -> tuple[int, ...]:
    return () if value == "none" else v.rate(field, value)


QUEUE_WORDS: dict[str, Word] = {
    "name": Word(v.name, "text", "name of the queue"),
    "parent": Word(v.name, "text", "queue above it"),
    "guarantee": Word(_amounts, "map", "what it can claim back from borrowers"),
    "limit": Word(_amounts, "map", "what it never exceeds"),
    "weight": Word(v.count, "number", "share of what is left over; 0: only when nobody else waits"),
    "borrow": Word(v.flag, "flag", "whether it may go beyond its guarantee"),
    "lend": Word(v.flag, "flag", "whether others may use what it leaves idle"),
    "order": Word(_order, "names", "order inside the queue"),
    "limit_per_user": Word(_amounts, "map", "what one user never exceeds in it"),
    "defaults": Word(_defaults, "nested", "job words for jobs that do not say"),
    "call_rate": Word(_rate_or_none, "text", "so many calls are handed to workers in a second, minute, hour or day"),
}


def read_queue(raw: Mapping[str, object]) -> QueueSpec:
    """Read one queue."""
    given = read_words(named("queue", raw), raw, QUEUE_WORDS)
    if "name" not in given:
        raise InputError("name", None, "every queue has a name", "queues")
    if given.get("parent") == given["name"]:
        raise InputError("parent", given["parent"], "another queue than itself", f"queue {given['name']}")
    return QueueSpec(**given)


LIMIT_WORDS: dict[str, Word] = {
    "name": Word(v.name, "text", "name of the limit"),
    "slots": Word(v.count, "number", "so many jobs may hold it at once"),
}


def read_limit(raw: Mapping[str, object]) -> LimitSpec:
    """Read one shared limit."""
    given = read_words(named("limit", raw), raw, LIMIT_WORDS)
    if "name" not in given or "slots" not in given:
        raise InputError("limits", dict(raw), "{name: .., slots: n}")
    return LimitSpec(given["name"], given["slots"])


def _time_or_none(field: str, value: object) -> int | None:
    return None if value == "none" else _some_time(field, value)


def _measure(field: str, value: object) -> str:
    return v.choice(field, value, ("gpu", "dominant"))


def _fairness(field: str, value: object) -> dict[str, Any]:
    return read_words(field, value, FAIRNESS_WORDS)


def _idle(field: str, value: object) -> dict[str, Any]:
    return read_words(field, value, IDLE_WORDS)


def _scores(field: str, value: object) -> tuple[tuple[str, int], ...]:
    if not isinstance(value, dict):
        raise InputError(field, value, "a map of score names to whole weights")
    return tuple(sorted((v.name(field, k), v.count(f"{field}.{k}", x)) for k, x in value.items()))


def _backfill(field: str, value: object) -> str:
    return v.choice(field, value, ("none", "easy", "conservative"))


def _estimate(field: str, value: object) -> str:
    return v.choice(field, value, ("user", "forecast", "oracle"))


def _quantile(field: str, value: object) -> int:
    rule = f"a number from {HALF / WHOLE} to {LEVELS[-1] / WHOLE}"
    level = int(v.number(field, value, rule) * WHOLE)
    if not HALF <= level <= LEVELS[-1]:
        raise InputError(field, value, rule)
    return level


def _causes(field: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise InputError(field, value, "a list of causes: priority, reclaim, fair, time_slice")
    return tuple(v.choice(field, c, ("priority", "reclaim", "fair", "time_slice")) for c in value)


def _share_memory(field: str, value: object) -> str:
    return v.choice(field, value, ("stated", "proportional"))


def _some_time(field: str, value: object) -> int:
    us = v.duration(field, value)
    if us == 0:
        raise InputError(field, value, "longer than 0 s")
    return us


FAIRNESS_WORDS: dict[str, Word] = {
    "measure": Word(_measure, "text", "gpu or dominant"),
    "half_life": Word(_time_or_none, "text", "how fast past use is forgotten, or none"),
}
IDLE_WORDS: dict[str, Word] = {
    "warn": Word(_time_or_none, "text", "it is told that all devices of a job have done nothing for so long, or none"),
    "release": Word(_time_or_none, "text", "a job that is idle for so long gives way to one that waits, or none"),
}
POLICY_WORDS: dict[str, Word] = {
    "order": Word(_orders, "names", "orders, compared in turn, or a map of orders to whole weights"),
    "backfill": Word(_backfill, "text", "none, easy or conservative"),
    "estimate": Word(_estimate, "text", "where run times come from: user, forecast or oracle"),
    "quantile": Word(_quantile, "number", "how surely (0.5 to 0.975) jobs are over when plans count on it"),
    "preempt": Word(_causes, "names", "causes that may stop a job; none: never"),
    "priority_inheritance": Word(v.flag, "flag", "what an urgent job waits for becomes urgent"),
    "fairness": Word(_fairness, "nested", "measure (gpu or dominant) and half_life of past use"),
    "score": Word(_scores, "map", "weights of the parts of a place's score"),
    "min_runtime": Word(v.duration, "text", "a job is not preempted before it has run so long"),
    "calm": Word(v.duration, "text", "nor twice within this time"),
    "time_slice": Word(v.duration, "text", "quantum where preempt has time_slice"),
    "reservation_timeout": Word(v.duration, "text", "a reservation unused so long after its time is made anew"),
    "fallback": Word(v.name, "text", "order used where a learned or forecast rule fails"),
    "lease": Word(_some_time, "text", "a node not heard of for so long is lost"),
    "idle": Word(_idle, "nested", "warn and release: what becomes of jobs whose devices do nothing"),
    "ageing": Word(_time_or_none, "text", "a waiting job's priority rises by 1 after so long, or none"),
    "share_memory": Word(_share_memory, "text", "stated, or proportional: a share holds its part of the memory"),
}
_POLICY_TIMES = ("min_runtime", "calm", "time_slice", "reservation_timeout", "lease", "ageing")


def read_policy(raw: Mapping[str, object]) -> PolicySpec:
    """Read a policy given as words; names of orders and scores are checked where the rules are known."""
    given = read_words("policy", raw, POLICY_WORDS)
    if "order" in given:
        given["order"], given["weights"] = given["order"]
    for word in _POLICY_TIMES:
        if word in given:
            given[f"{word}_us"] = given.pop(word)
    for word, us in given.pop("idle", {}).items():
        given[f"idle_{word}_us"] = us
    fairness = given.pop("fairness", {})
    if "measure" in fairness:
        given["fairness_measure"] = fairness["measure"]
    if "half_life" in fairness:
        given["half_life_us"] = fairness["half_life"]
    return PolicySpec(**given)


__all__ = [
    "NODE_WORDS", "POLICY_WORDS", "QUEUE_WORDS", "check_keys", "read_limit", "read_nodes", "read_policy", "read_queue",
]  # fmt: skip
