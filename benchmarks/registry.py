"""Every benchmark. A new one is one file with TITLE, KEYS and `run`, and one line here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Collection, Sequence

NAMES = (
    "decisions",
    "explain",
    "queues",
    "store",
    "processes",
    "calls",
    "calls-vs-peers",
    "first-result",
    "flows",
    "searches",
    "load",
    "replay",
    "slowdowns",
    "forecast",
    "needs",
    "openb",
    "ray",
    "slurm",
    "mutants",
    "window-page",
    "window",
)


class Benchmark(Protocol):
    """What a module of this folder has."""

    TITLE: str
    """One line for the list."""

    KEYS: dict[str, str]
    """What each key of the answer means, with its unit."""

    ONLY: Sequence[str]
    """What `--only` may name, its parts or its data; none where a benchmark leaves it out."""

    def run(self, args: Namespace) -> dict[str, Any]:
        """Measure, and return plain data. `args.data` is the folder with the workloads."""
        ...


def load(name: str) -> Benchmark:
    """Import one benchmark."""
    return cast("Benchmark", import_module(f"benchmarks.{name.replace('-', '_')}"))


def refusal(name: str, only: Collection[str]) -> str | None:
    """Return what is wrong with what `--only` names, None if nothing is."""
    if not only or name == "list":
        return None
    if name == "all":
        return "--only names parts of one benchmark: name that in place of all"
    known = getattr(load(name), "ONLY", ())
    if not known:
        return f"{name} has no parts: leave out --only"
    unknown = [one for one in only if one not in known]
    return f"{name} has no part {unknown[0]}: it has {', '.join(known)}" if unknown else None
