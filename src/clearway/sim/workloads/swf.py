"""The Standard Workload Format of the Parallel Workloads Archive: 18 numbers a line, comments begin with `;`.

Without a `.machines` file beside it the computer is one pool of processors and a job takes its processors from the
pool, as simulators of these logs have it; with one, a job is as many tasks as processors, on the nodes stated there.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from clearway.model.job import JobSpec
from clearway.model.values import SECOND_US
from clearway.sim.truth import Truth
from clearway.sim.workloads.format import Format
from clearway.sim.workloads.node_lists import machine_nodes
from clearway.sim.workloads.order import Line
from clearway.sim.workloads.shapes import cpu_roles, pool
from clearway.sim.workloads.textfile import beside, head, numbered, positive_us, whole_us
from clearway.sim.workloads.trace import Arrival, Trace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clearway.model.fleet import NodeSpec
    from clearway.sim.workloads.textfile import Head
    from clearway.sim.workloads.trace import Damage

FIELDS = 18
NUMBER, SUBMIT, WAIT, RUN, USED, _, _, ASKED, ASKED_TIME, _, STATUS, USER, _, _, QUEUE = range(15)
FAILED = "0"
DIGITS = 11  # a wait has fewer: centuries are no wait


def _matches(head: Head) -> bool:
    rows = [line.split() for line in head.lines if line.strip() and not line.lstrip().startswith(";")]
    named = ".swf" in head.path.name
    comments = sum(line.startswith(";") for line in head.lines)
    return (bool(rows) and len(rows[0]) == FIELDS and _numbers(rows[0])) or (named and comments > 0)


def _numbers(fields: list[str]) -> bool:
    return all(field.lstrip("-").replace(".", "", 1).isdigit() for field in fields)


def _lines(path: Path, damage: Damage) -> Iterator[Line]:
    for number, text in numbered(path):
        fields = text.split()
        if not fields or fields[0].startswith(";"):
            continue
        try:
            if len(fields) != FIELDS:
                raise ValueError(f"{len(fields)} fields instead of {FIELDS}")  # noqa: TRY301 - counted as other damage
            yield Line(whole_us(fields[SUBMIT], SECOND_US), number, fields)
        except ValueError as error:
            damage.add(number, error)


def _build(line: Line, *, pooled: bool) -> Arrival:
    fields = line.fields
    asked = int(fields[ASKED])
    processors = asked if asked > 0 else int(fields[USED])
    if processors <= 0:
        raise ValueError("no number of processors")
    run_us, wait = positive_us(fields[RUN], SECOND_US, "run time"), fields[WAIT]
    truth = Truth(
        runtimes_us=(run_us,), exit_codes=(int(fields[STATUS] == FAILED),),
        took_us=int(wait) * SECOND_US + run_us if wait.isascii() and wait.isdigit() and len(wait) < DIGITS else None,
    )  # fmt: skip
    estimate_us = whole_us(fields[ASKED_TIME], SECOND_US)
    spec = JobSpec(
        f"job-{fields[NUMBER]}", cpu_roles(processors) if pooled else cpu_roles(1, processors),
        queue="default" if fields[QUEUE].startswith("-") else f"queue-{fields[QUEUE]}",
        user="" if fields[USER].startswith("-") else f"user-{fields[USER]}",
        time_estimate_us=estimate_us if estimate_us > 0 else None,
    )  # fmt: skip
    return Arrival(line.at_us, spec, truth)


def _read(path: Path) -> Trace:
    words = _header(path)
    machines = beside(path, *_machine_files(path))
    processors = int(words.get("MaxProcs") or words.get("MaxNodes") or 0)
    nodes: tuple[NodeSpec, ...] = ()
    if machines:
        nodes = machine_nodes(machines)
    elif processors > 0:
        nodes = pool(processors)
    begin = words.get("UnixStartTime", "")
    return Trace(
        "swf", path, partial(_lines, path), partial(_build, pooled=machines is None),
        nodes=nodes,
        notes=("one task for each processor",) if machines else ("the computer is one pool of processors",),
        clock_us=int(begin) * SECOND_US if begin.isdigit() else None,
    )  # fmt: skip


def _header(path: Path) -> dict[str, str]:
    pairs = (line.lstrip("; ").partition(":") for line in head(path).lines if line.startswith(";"))
    return {word.strip(): value.strip() for word, _, value in pairs}


def _machine_files(path: Path) -> Iterator[str]:
    """Names under which a machine file may lie beside `log_excerpt.swf.gz`: of the log, or of a longer name of it."""
    base = path.name.split(".swf")[0]
    parts = base.split("_")
    for n in range(len(parts), 0, -1):
        yield "_".join(parts[:n]) + ".swf.machines"


FORMAT = Format("swf", "Standard Workload Format of parallel computers (text, .machines beside)", _matches, _read)
