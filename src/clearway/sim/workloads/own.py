"""Clearway's own workload file: JSON lines, plain or gzip. docs/workload-format.md describes it.

The first line says what it is; each other line is a job in the words of a scenario's job: what the user wrote, and
beside it what really happened (`submit`, `runtime`, `exit_code`, ..).
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import msgspec

from clearway.model import values as v
from clearway.model.errors import InputError
from clearway.model.machine_words import read_limit, read_nodes, read_queue
from clearway.model.words import read_job
from clearway.sim.truth import TRUTH_WORDS, read_truth
from clearway.sim.workloads.format import Format
from clearway.sim.workloads.order import Line
from clearway.sim.workloads.textfile import head, numbered
from clearway.sim.workloads.trace import Arrival, Trace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clearway.model.job import JobSpec
    from clearway.sim.truth import Truth
    from clearway.sim.workloads.textfile import Head
    from clearway.sim.workloads.trace import Damage

NAME = "clearway-workload"
VERSION = 1
HEADER_WORDS = ("format", "version", "clock", "title", "origin", "fleet", "queues", "limits", "jobs")
TOOK = "took"  # the one word that only a workload has: nothing is simulated by it
REMEMBERED = 4096  # different jobs, apart from name, labels and times, that are read only once

_jobs = msgspec.json.Decoder(dict[str, Any])
_words = msgspec.json.Encoder(order="deterministic")


def header_of(line: str) -> dict[str, Any] | None:
    """Return the first line as a map if it is the header of such a file."""
    try:
        header = _jobs.decode(line)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None
    return header if header.get("format") == NAME else None


def _matches(head: Head) -> bool:
    return bool(head.lines) and header_of(head.lines[0]) is not None


def _lines(path: Path, damage: Damage) -> Iterator[Line]:
    for number, text in numbered(path):
        if number == 1 or not text.strip():
            continue
        try:
            yield Line(v.duration("submit", _jobs.decode(text).get("submit", 0)), number, [text])
        except (msgspec.DecodeError, InputError) as error:
            damage.add(number, error)


def build(line: Line, clock_us: int | None = None) -> Arrival:
    """Return the job of a line; its field is the line's JSON text. Raises InputError for a bad word or value."""
    words = _jobs.decode(line.fields[0])
    words.pop("submit", None)
    name = v.name("name", words.pop("name", None))
    took = words.pop(TOOK, None)
    truth = _truth(_words.encode({k: words.pop(k) for k in TRUTH_WORDS if k in words}))
    if took is not None:
        truth = msgspec.structs.replace(truth, took_us=v.duration(TOOK, took))
    labels = v.pairs("labels", words.pop("labels", {}))
    deadline = words.pop("deadline", None)
    spec: JobSpec = msgspec.structs.replace(_spec(_words.encode(words)), name=name, labels=labels)
    if deadline is not None:
        spec = msgspec.structs.replace(spec, deadline_us=_deadline_us(deadline, clock_us))
    return Arrival(line.at_us, spec, truth)


def _deadline_us(deadline: object, clock_us: int | None) -> int:
    """Return when a job is needed: seconds from the file's beginning, or a time where the header has a clock."""
    if not isinstance(deadline, str):
        return v.duration("deadline", deadline)
    if clock_us is None:
        raise InputError("deadline", deadline, "seconds from the beginning, as the header has no clock")
    return v.instant("deadline", deadline) - clock_us


@lru_cache(REMEMBERED)
def _spec(words: bytes) -> JobSpec:
    return read_job({"name": "job", **_jobs.decode(words)})


@lru_cache(REMEMBERED)
def _truth(words: bytes) -> Truth:
    return read_truth(_jobs.decode(words))


def _read(path: Path) -> Trace:
    header = header_of(head(path).lines[0]) or {}
    place = str(path)
    for key in header:
        if key not in HEADER_WORDS:
            raise InputError(key, header[key], "a word of the header: " + ", ".join(HEADER_WORDS), place)
    if header.get("version") != VERSION:
        raise InputError("version", header.get("version"), f"this program reads version {VERSION}", place)
    nodes = header.get("fleet", {}).get("nodes", [])
    clock_us = v.instant("clock", header["clock"]) if header.get("clock") else None
    return Trace(
        "clearway", path, partial(_lines, path), partial(build, clock_us=clock_us),
        nodes=tuple(node for raw in nodes for node in read_nodes(raw)),
        queues=tuple(map(read_queue, header.get("queues", []))),
        limits=tuple(map(read_limit, header.get("limits", []))),
        notes=tuple(str(header[word]) for word in ("title", "origin") if header.get(word)),
        clock_us=clock_us,
    )  # fmt: skip


FORMAT = Format("clearway", "Clearway's own workload file (JSON lines)", _matches, _read)
