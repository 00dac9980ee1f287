"""Every source of histories, in the order in which they are tried. A new one is one file and one line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.interop.kubernetes import KUBERNETES
from clearway.interop.ray import RAY
from clearway.interop.slurm import SLURM
from clearway.interop.table import TABLE
from clearway.model.errors import InputError
from clearway.sim.workloads.textfile import head

if TYPE_CHECKING:
    from pathlib import Path

    from clearway.interop.importing import Source

SOURCES: dict[str, Source] = {source.name: source for source in (SLURM, RAY, KUBERNETES, TABLE)}
SHOWN_CHARS = 60


def detect(path: Path) -> Source:
    """Return the source of a file, by its first lines. Raises InputError for one that no reader knows."""
    seen = head(path)
    for source in SOURCES.values():
        if source.matches(seen):
            return source
    first = seen.lines[0][:SHOWN_CHARS] if seen.lines else "an empty file"
    rule = "sacct -P with its header, a JSON or YAML list of Kubernetes or Ray, or a table with --from csv and --column"
    raise InputError("file", str(path), f"{rule}; it begins with {first!r}")
