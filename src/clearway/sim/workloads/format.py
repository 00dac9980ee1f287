"""A format of workload files: its name, how it is recognised, how it is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from clearway.sim.workloads.textfile import Head
    from clearway.sim.workloads.trace import Trace


class Format(NamedTuple):
    """One reader. `matches` looks at the name and the first lines only; `read` opens nothing but the fleet's files."""

    name: str
    title: str
    matches: Callable[[Head], bool]
    read: Callable[[Path], Trace]
