"""What a job asked for, in words for people. Amounts are exact: 40 GB stay 40 GB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway.cli import shown
from clearway.model.values import SECOND_US
from clearway.observe import amounts

if TYPE_CHECKING:
    from collections.abc import Iterator

_TIMES = (
    ("time_limit", "time limit"),
    ("time_estimate", "estimate"),
    ("start_deadline", "start deadline"),
    ("retry_window", "retry window"),
)
_SIZES = ("memory", "disk")


def asked(words: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield a name and a text for each thing that a job asked for; `words` as the document of `show` has them."""
    for role in words.get("roles") or [words]:
        named = f"role {role['name']}" if "roles" in words else "asks for"
        yield (
            named,
            f"{_tasks(role)}{', each with ' if role['tasks'] > 1 else ' with '}{needs(role) or 'no needs stated'}",
        )
        yield from _places(role)
    for word, name in _TIMES:
        if words[word] is not None:
            yield name, _duration(words[word])
    yield "deadline", f"{shown.clock(words['deadline'])} ({words['on_deadline']})" if words["deadline"] else ""
    yield "takes turns with", _counted(words["colocate"], "other job") if words["colocate"] else ""
    yield "retries", _retries(words)
    yield "after", ", ".join(words["after"])
    yield "uses", ", ".join(words["uses"])
    yield "labels", _pairs(words["labels"])


def needs(role: dict[str, Any]) -> str:
    """Return what one task needs, like `2 GPUs of model A100 with 40 GB of GPU memory each, 4 CPUs`."""
    found = [_devices(role), f"{_counted(role['cpus'], 'CPU')}" if role["cpus"] else ""]
    found += [f"{amounts.size(role[key])} of {key}" for key in _SIZES if role[key]]
    found += [f"{shown.amount(role['bandwidth'])} Gbit/s of bandwidth" if role["bandwidth"] else ""]
    found += [f"{count} {name}" for name, count in role["resources"].items()]
    return ", ".join(text for text in found if text)


def _devices(role: dict[str, Any]) -> str:
    gpus, memory = role["gpus"], role["gpu_memory"]
    model = f" of model {' or '.join(role['gpu_model'])}" if role["gpu_model"] else ""
    if role["slice"]:
        return f"1 slice {role['slice']}{model}"
    if not gpus:
        return f"{amounts.size(memory)} of GPU memory on one device{model}" if memory else ""
    count = f"{shown.amount(gpus)} of one GPU" if gpus < 1 else _counted(gpus, "GPU")
    held = f" with {amounts.size(memory)} of GPU memory{' each' if gpus > 1 else ''}" if memory else ""
    return f"{count}{model}{held}"


def _counted(n: float, noun: str) -> str:
    return f"{shown.amount(n)} {noun}{'' if n == 1 else 's'}"


def _tasks(role: dict[str, Any]) -> str:
    least = f" (at least {role['min_tasks']})" if role["min_tasks"] != role["tasks"] else ""
    apart = ", at most one on a node" if role["one_per_node"] else ""
    return f"{_counted(role['tasks'], 'task')}{least}{apart}"


def _places(role: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "on nodes with", _pairs(role["nodes"])
    yield "tolerates", ", ".join(role["tolerates"])
    yield "spot", "" if role["spot"] == "allow" else role["spot"]


def _retries(words: dict[str, Any]) -> str:
    if not words["max_retries"]:
        return ""
    first, most = _duration(words["retry_backoff"]), _duration(words["retry_backoff_max"])
    which = f" on {', '.join(words['retry_on'])}" if words["retry_on"] else ""
    return f"{words['max_retries']}{which}, after {first} and then twice as long each time, up to {most}"


def _duration(seconds: float) -> str:
    return amounts.duration(round(seconds * SECOND_US))


def _pairs(found: dict[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in found.items())
