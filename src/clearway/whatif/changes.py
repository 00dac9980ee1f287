"""Changes that a what-if is asked about: other machines, other words of queues and limits."""

from __future__ import annotations

import re
from collections import Counter
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import msgspec

from clearway.config.yaml_file import parse_yaml
from clearway.model.errors import InputError
from clearway.model.fleet import LimitSpec, NodeSpec
from clearway.model.machine_words import read_queue
from clearway.model.values import count
from clearway.sim.workloads.fleet_words import queue_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from clearway.model.fleet import QueueSpec

GPUS = re.compile(r"([+-])([1-9][0-9]{0,5})x([^\s=]{1,100})")
MOST = 100_000
NODE_GPUS = 8  # of a new kind of node where the fleet has no GPUs to go by
ANY = "gpu"
SIGNS = (
    "+8xH100 (so many more GPUs of a model), -16xA100 (so many fewer), +8xgpu (of the model of the largest node), "
    "+2xnode:gpu-0 (so many more nodes like this one), -1xnode:gpu-0 (without this node)"
)
RULE = f"{SIGNS}, or a YAML file with fleet:"
NODE = "node:"


def other_machines(nodes: Sequence[NodeSpec], changes: Iterable[str]) -> tuple[NodeSpec, ...]:
    """Return the machines after changes such as `+8xH100`, one after another. Raises InputError."""
    found = tuple(nodes)
    for change in changes:
        match = GPUS.fullmatch(change)
        if match is None:
            raise InputError("fleet", change, RULE)
        sign, many, what = match[1], int(match[2]), match[3]
        if what.startswith(NODE):
            found = _nodes(found, sign, many, what.removeprefix(NODE), change)
        else:
            model = max(found, key=lambda node: node.gpus).gpu_model if found and what.lower() == ANY else what
            found = _more(found, many, model) if sign == "+" else _fewer(found, many, model, change)
        if len(found) > MOST:
            raise InputError("fleet", change, f"at most {MOST} nodes")
    if not found:
        raise InputError("fleet", " ".join(changes), "a fleet with at least one node")
    return found


def _nodes(nodes: tuple[NodeSpec, ...], sign: str, many: int, name: str, change: str) -> tuple[NodeSpec, ...]:
    like = next((node for node in nodes if node.name == name), None)
    if like is None:
        raise InputError("fleet", change, _known("a node of the fleet", name, [node.name for node in nodes]))
    if sign == "-":
        if many > 1:
            raise InputError("fleet", change, "one node by its name: -1xnode:NAME")
        return tuple(node for node in nodes if node is not like)
    return (*nodes, *_named([like] * many, nodes))


def _more(nodes: tuple[NodeSpec, ...], gpus: int, model: str) -> tuple[NodeSpec, ...]:
    """Put GPUs on nodes like the largest that have this model, else any; the last node may be smaller."""
    with_gpus = [node for node in nodes if node.gpus]
    same = [node for node in with_gpus if node.gpu_model == model]
    if same:
        like = max(same, key=lambda node: node.gpus)
    elif with_gpus:
        other = max(with_gpus, key=lambda node: node.gpus)
        like = NodeSpec(other.name, other.cpus, other.memory, other.disk, other.bandwidth, other.gpus, model)
    else:
        like = NodeSpec("node", gpus=NODE_GPUS, gpu_model=model)
    whole, rest = divmod(gpus, like.gpus)
    return (*nodes, *_named([like] * whole + ([_cut(like, rest)] if rest else []), nodes))


def _fewer(nodes: tuple[NodeSpec, ...], gpus: int, model: str, change: str) -> tuple[NodeSpec, ...]:
    """Take GPUs away, from the last nodes with this model; one that has only some of them left keeps the rest."""
    there = sum(node.gpus for node in nodes if node.gpu_model == model)
    if there < gpus:
        models = Counter[str]()
        for node in nodes:
            models[node.gpu_model or "no model"] += node.gpus
        raise InputError("fleet", change, f"at most what is there: {', '.join(f'{n} {m}' for m, n in models.items())}")
    kept: list[NodeSpec] = []
    for node in reversed(nodes):
        if node.gpu_model != model or not node.gpus or not gpus:
            kept.append(node)
            continue
        gone = min(gpus, node.gpus)
        gpus -= gone
        kept += [_cut(node, node.gpus - gone)] if gone < node.gpus else []
    return tuple(reversed(kept))


def _cut(node: NodeSpec, gpus: int) -> NodeSpec:
    """Return a node with its first devices only; how they are linked is told of whole nodes."""
    return msgspec.structs.replace(node, gpus=gpus, links=(), pcie=(), numa=(), slices=())


def _named(like: Sequence[NodeSpec], nodes: Sequence[NodeSpec]) -> list[NodeSpec]:
    """Give new nodes names of their own."""
    taken, found, number = {node.name for node in nodes}, list[NodeSpec](), 0
    for node in like:
        while f"{node.name}+{number}" in taken:
            number += 1
        taken.add(f"{node.name}+{number}")
        found.append(msgspec.structs.replace(node, name=f"{node.name}+{number}"))
    return found


def other_queues(queues: Sequence[QueueSpec], changes: Iterable[str]) -> tuple[QueueSpec, ...]:
    """Return the queues after changes such as `research.guarantee.gpus=16`; `none` takes a word back."""
    found = {queue.name: queue for queue in queues}
    for change in changes:
        path, equals, text = change.partition("=")
        name = max((one for one in found if path.startswith(f"{one}.")), key=len, default="")
        if not equals or not text or not name:
            if not found:
                raise InputError(
                    "queue", change, "there is no queue here but default, which has no words until it is declared"
                )
            rule = _known("QUEUE.WORD=VALUE, such as research.guarantee.gpus=16", path.partition(".")[0], list(found))
            raise InputError("queue", change, rule)
        words = queue_words(found[name])
        _set(words, path.removeprefix(f"{name}.").split("."), parse_yaml(text, f"--queue {change}"))
        found[name] = read_queue(words)
    return tuple(found.values())


def _set(words: dict[str, Any], path: Sequence[str], value: object) -> None:
    for key in path[:-1]:
        inner = words.get(key)
        if inner is not None and not isinstance(inner, dict):
            raise InputError("queue", ".".join(path), f"a word below {key}, which is no map")
        words = words.setdefault(key, {})
    if value == "none" and path[-1] != "call_rate":
        words.pop(path[-1], None)
    else:
        words[path[-1]] = value


def other_limits(limits: Sequence[LimitSpec], changes: Iterable[str]) -> tuple[LimitSpec, ...]:
    """Return the shared limits after changes such as `database=4`."""
    found = {limit.name: limit for limit in limits}
    for change in changes:
        name, equals, slots = change.partition("=")
        if not equals or name not in found or not slots.isascii() or not slots.isdigit():
            raise InputError("limit", change, _known("NAME=SLOTS of a shared limit", name, list(found)))
        found[name] = LimitSpec(name, count("slots", int(slots[:10])))
    return tuple(found.values())


def _known(what: str, name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, n=1, cutoff=0.5)
    if near:
        return f"{what}; did you mean {near[0]!r}?"
    shown = ", ".join(known[:8]) + (", .." if len(known) > 8 else "")  # noqa: PLR2004 - as many as fit a line
    return f"{what}; there are: {shown}" if known else f"{what}; there are none"
