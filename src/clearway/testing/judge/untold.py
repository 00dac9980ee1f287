"""Jobs whose submission was refused although no expectation says so: most often a name mistyped in the file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway.testing.judge.expect import nearest
from clearway.testing.judge.values import Raw, as_list

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SAYING = ("final", "reason", "refused", "never_starts")
"""The keys of `expect` that can say that a job is refused."""


def untold(scenario: Mapping[str, Any], timeline: Mapping[str, Any]) -> list[str]:
    """Return one line for each refused job of which `expect` says nothing of the kind."""
    told = set(_told(scenario.get("expect") or {}))
    return [
        f"{name} was refused: {entry['reason']['text']}{_hint(scenario, name, entry['reason']['text'])}"
        for name, entry in timeline["jobs"].items()
        if entry["state"] == "refused" and not _names(told, name)
    ]


def _told(expect: Mapping[str, Any]) -> Iterator[str]:
    for key in _SAYING:
        yield from map(str, as_list(list(expect[key]) if isinstance(expect.get(key), dict) else expect.get(key)))
    for choice in as_list(expect.get("either")):
        yield from _told(choice)


def _names(told: set[str], name: str) -> bool:
    return bool(told & {name, "all"}) or any(t.endswith("*") and name.startswith(t[:-1]) for t in told)


def _hint(scenario: Mapping[str, Any], name: str, said: str) -> str:
    """Return the nearest name of a queue or job that there is, where the job was refused for one that there is not."""
    jobs: list[Raw] = scenario.get("jobs") or []
    words = next((j for j in jobs if _is(j, name)), {})
    queues = [str(q["name"]) for q in scenario.get("queues") or []]
    queue = words.get("queue")
    if said.startswith("queue:") and queue is not None:
        return nearest(str(queue), [*queues, "default"])
    if not said.startswith("after:"):
        return ""
    names = [str(j["name"]) for j in jobs if j["name"] != words.get("name")]
    other = next((str(x) for x in as_list(words.get("after")) if repr(str(x)) in said), "")
    if any(_is(j, other) for j in jobs):
        return f"; {other} enters later, was refused itself, or waits for {name} too"
    return nearest(other, names)


def _is(job: Raw, name: str) -> bool:
    if "count" not in job:
        return str(job["name"]) == name
    base, _, number = name.rpartition("-")
    return base == str(job["name"]) and number.isdigit()
