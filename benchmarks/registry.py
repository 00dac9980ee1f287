"""Every benchmark. A new one is one file with TITLE, KEYS and `run`, and one line here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from argparse import Namespace

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
    "openb",
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

    def run(self, args: Namespace) -> dict[str, Any]:
        """Measure, and return plain data. `args.data` is the folder with the workloads."""
        ...


def load(name: str) -> Benchmark:
    """Import one benchmark."""
    return cast("Benchmark", import_module(f"benchmarks.{name.replace('-', '_')}"))
