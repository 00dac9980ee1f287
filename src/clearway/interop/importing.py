"""Histories of other systems into a workload file, in one pass, whatever their size."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple
from zoneinfo import ZoneInfo

import msgspec

from clearway.interop.gaps import Gaps
from clearway.interop.moments import BEGINNING
from clearway.model.errors import InputError
from clearway.sim.workloads.order import Line, merged
from clearway.sim.workloads.own import build
from clearway.sim.workloads.textfile import opened
from clearway.sim.workloads.writer import written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from clearway.sim.workloads.textfile import Head

QUEUE_BY = ("partition", "account", "qos", "namespace")
LINE_CHARS = 1 << 20  # a longer line is no row of a table
_encoder = msgspec.json.Encoder()


class Column(NamedTuple):
    """A column of a table and the unit of its numbers, where one is said."""

    name: str
    unit: str = ""


@dataclass(frozen=True)
class Options:
    """What a person says about a source.

    `defaults` are job words for jobs that do not say; `columns` name the column of a table for each word.
    """

    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    zone_said: bool = False
    queue_by: str = ""
    columns: Mapping[str, Column] = field(default_factory=dict)
    defaults: Mapping[str, object] = field(default_factory=dict)


class Past(NamedTuple):
    """One job as a source tells of it: when it entered (microseconds since 1970), its line, its words."""

    at_us: int
    line: int
    words: dict[str, Any]


class Source(NamedTuple):
    """A reader: its name, how its files are recognised, and what turns one into jobs.

    `read` is given the file, the options, where gaps are told, and what hears how many characters were read.
    """

    name: str
    title: str
    matches: Callable[[Head], bool]
    read: Callable[[Path, Options, Gaps, Callable[[int], None]], Iterator[Past]]


class Imported(NamedTuple):
    """What was written: jobs, and the first and last submit in microseconds since 1970."""

    jobs: int
    first_us: int | None
    last_us: int | None
    gaps: Gaps


def import_history(
    source: Source, path: Path, out: Path, options: Options, told: Callable[[int], None] = lambda _: None
) -> Imported:
    """Write the jobs of a source to a workload file, in order of their submits.

    Memory does not grow with the file: what is out of order is sorted in pieces on disk. Raises InputError where the
    file cannot be read as such a source at all, or cannot be written.
    """
    gaps = Gaps()
    lines = merged(_lines(source.read(path, options, gaps, told), options, gaps))
    first = next(lines, None)
    if first is None:
        return Imported(0, None, None, gaps)
    clock = (BEGINNING + timedelta(microseconds=first.at_us)).isoformat()
    jobs, last_us = 0, first.at_us
    with written(out, {"clock": clock, "origin": f"imported from {source.title}: {path.name}"}) as write:
        for line in _with(first, lines):
            arrival = build(line)
            write(arrival._replace(at_us=line.at_us - first.at_us))
            jobs, last_us = jobs + 1, line.at_us
    return Imported(jobs, first.at_us, last_us, gaps)


def _with(first: Line, rest: Iterator[Line]) -> Iterator[Line]:
    yield first
    yield from rest


def _lines(jobs: Iterable[Past], options: Options, gaps: Gaps) -> Iterator[Line]:
    """Check each job as a workload's reader will, so that a bad one is named here and written nowhere."""
    for at_us, number, words in jobs:
        said = {**options.defaults, **words}
        try:
            line = Line(at_us, number, [_encoder.encode(said).decode()])
            build(line)
        except UnicodeEncodeError:
            gaps.refuse(number, InputError("name", said.get("name"), "a text of valid Unicode"))
        except InputError as error:
            gaps.refuse(number, error)
        else:
            yield line


def lines_of(path: Path, told: Callable[[int], None]) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text with their numbers from 1; `told` hears how many characters were read so far."""
    seen = 0
    with opened(path) as text:
        for number, line in enumerate(iter(lambda: text.readline(LINE_CHARS), ""), 1):
            seen += len(line)
            told(seen)
            yield number, line
