"""Every format, in the order in which they are tried. A new one is one file and one line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.model.errors import InputError
from clearway.sim.workloads import chronus, gaia, itp, muri, openb, own, philly, pollux, shockwave, swf
from clearway.sim.workloads.textfile import head

if TYPE_CHECKING:
    from pathlib import Path

    from clearway.sim.workloads.format import Format
    from clearway.sim.workloads.trace import Trace

FORMATS: tuple[Format, ...] = tuple(
    module.FORMAT for module in (own, openb, swf, philly, muri, itp, chronus, shockwave, pollux, gaia)
)
SHOWN_CHARS = 60


def detect(path: Path) -> Format:
    """Return the format of a file, by its first lines. Raises InputError for a file that no reader knows."""
    seen = head(path)
    for form in FORMATS:
        if form.matches(seen):
            return form
    first = seen.lines[0][:SHOWN_CHARS] if seen.lines else "an empty file"
    known = ", ".join(form.name for form in FORMATS)
    raise InputError("workload", str(path), f"a workload in one of the formats {known}; it begins with {first!r}")


def open_workload(path: Path) -> Trace:
    """Recognise a file and read what comes before its jobs."""
    return detect(path).read(path)
