"""The accounting of Slurm, as `sacct -P` prints it: one job of one or more rows at a time."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from clearway.interop import slurm_values as sv
from clearway.interop.importing import Past, Source, lines_of
from clearway.interop.moments import moment_us
from clearway.interop.slurm_needs import needs
from clearway.model.errors import InputError
from clearway.sim.workloads.writer import seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from clearway.interop.gaps import Gaps
    from clearway.interop.importing import Options
    from clearway.sim.workloads.textfile import Head

SEPARATORS = "|;\t,^~"
NEEDED = ("jobid", "state", "submit")
JOB_ID = re.compile(r"([0-9]{1,20}(?:_[0-9]{1,10})?)(?:\+([0-9]{1,6}))?")
NOT_STARTED = re.compile(r"[0-9]{1,20}_\[[^\]]{0,4096}\]")
QUEUE_COLUMNS = {"": "partition", "partition": "partition", "account": "account", "qos": "qos"}
TELLS = {
    "user": "the column User: who submitted each job, so nobody's think times are known",
    "timelimit": "the column Timelimit: how long jobs asked for",
    "eligible": "the column Eligible: whether a job was held back by a dependency or a begin time",
    "alloctres": "the column AllocTRES: what jobs held, with the model of their GPUs",
    "account": "the column Account: to whom jobs belong",
}


class Row(NamedTuple):
    """A row of a job: its line, its id without the part, which part of a job of several kinds, its cells by column."""

    line: int
    id: str
    part: int
    cells: Mapping[str, str]

    def get(self, *columns: str) -> str:
        """Return the first of these columns that says something."""
        return next((text for name in columns if (text := self.cells.get(name, "").strip())), "")


def _matches(head: Head) -> bool:
    return bool(head.lines) and len(_separated(head.lines[0])) > 1 and "jobid" in _separated(head.lines[0])


def _separated(header: str) -> list[str]:
    return [name.strip().lower() for name in header.strip("\ufeff\r\n").split(_separator(header))]


def _separator(header: str) -> str:
    return max(SEPARATORS, key=header.count)


def _read(path: Path, options: Options, gaps: Gaps, told: Callable[[int], None]) -> Iterator[Past]:
    rows = _rows(path, gaps, told)
    for _, group in groupby(rows, key=lambda row: row.id):
        together = list(group)
        try:
            job = _job(together, options, gaps)
        except InputError as error:
            gaps.refuse(together[0].line, error)
            continue
        if job is not None:
            yield job


def _rows(path: Path, gaps: Gaps, told: Callable[[int], None]) -> Iterator[Row]:
    lines = lines_of(path, told)
    header = next(lines, (0, ""))[1]
    separator, names = _separator(header), _separated(header)
    _check(names, header, gaps)
    for line, text in lines:
        fields = text.rstrip("\r\n").split(separator)
        if fields == [""] or fields[0].strip().lower() == names[0]:  # an empty line, or another header
            continue
        try:
            found = _row(line, fields, names)
        except InputError as error:
            gaps.refuse(line, error)
            continue
        if isinstance(found, str):
            gaps.leave(found)
        else:
            yield found


def _check(names: Sequence[str], header: str, gaps: Gaps) -> None:
    missing = [name for name in NEEDED if name not in names]
    if missing or not {"end", "elapsed", "elapsedraw"} & set(names):
        need = "JobID, State, Submit and, of Start, End and Elapsed, what tells how long it ran"
        raise InputError("header", header.strip()[:120], f"sacct -P (or -p) with a header that has {need}")
    for name, what in TELLS.items():
        if name not in names:
            gaps.lack(what)
    gaps.lack("dependencies between jobs, and what a job would have done had it not been stopped")


def _row(line: int, fields: list[str], names: Sequence[str]) -> Row | str:
    if len(fields) != len(names):
        raise InputError("row", "|".join(fields), f"{len(names)} fields, and these are {len(fields)}")
    cells = dict(zip(names, fields, strict=True))
    text = cells["jobid"].strip()
    if "." in text:
        return "rows of steps, whose job's row tells the same"
    if NOT_STARTED.fullmatch(text):
        return "rows of what of an array has not started"
    match = JOB_ID.fullmatch(text)
    if match is None:
        raise InputError("JobID", text, "a job such as 12, 12_3 or 12+1, or a step of one such as 12.batch")
    return Row(line, match[1], int(match[2] or 0), cells)


class Attempt(NamedTuple):
    """One row of a job's first part: its state, from when to when, and how long it ran without pauses."""

    state: str
    submit_us: int
    start_us: int | None
    end_us: int | None
    run_us: int
    row: Row


def _attempt(row: Row, options: Options) -> Attempt:
    submit_us = moment_us("Submit", row.get("submit"), options.zone)
    if submit_us is None:
        raise InputError("Submit", row.get("submit"), "the moment of the submit")
    start_us = moment_us("Start", row.get("start"), options.zone)
    end_us = moment_us("End", row.get("end"), options.zone)
    return Attempt(sv.state(row.get("state")), submit_us, start_us, end_us, _run_us(row, start_us, end_us), row)


def _run_us(row: Row, start_us: int | None, end_us: int | None) -> int:
    """Return how long it ran: as it was counted, without pauses; else from its start to its end."""
    if row.get("elapsedraw"):
        return sv.raw_us("ElapsedRaw", row.get("elapsedraw"))
    if row.get("elapsed"):
        return sv.duration_us("Elapsed", row.get("elapsed"))
    return max(0, end_us - start_us) if start_us is not None and end_us is not None else 0


def _job(rows: Sequence[Row], options: Options, gaps: Gaps) -> Past | None:
    parts = sorted({row.part for row in rows})
    tries = sorted((_attempt(row, options) for row in rows if row.part == parts[0]), key=lambda a: a.submit_us)
    first, last = tries[0], tries[-1]
    if last.state in sv.OPEN:
        gaps.leave("rows of jobs that are not over", len(rows))
        return None
    if last.state == sv.MOVED:
        gaps.leave("rows of jobs that went to another cluster of the federation", len(rows))
        return None
    at_us = _entered_us(first, options, gaps)
    row = last.row
    limit_us = sv.limit_us("Timelimit", row.get("timelimit", "timelimitraw"))
    if row.get("timelimit").lower() == "partition_limit":
        gaps.assume("the time limit was that of the partition, which no row tells; none is taken")
    words: dict[str, object] = {"name": row.get("jobname") or row.id, "labels": {"id": row.id}}
    words |= _owner(row, options)
    words |= {} if limit_us is None else {"time_limit": seconds(limit_us)}
    words |= _needs([[r for r in rows if r.part == part][-1] for part in parts], gaps)
    words |= _truth(tries, at_us, limit_us, gaps)
    return Past(at_us, rows[0].line, words)


def _entered_us(first: Attempt, options: Options, gaps: Gaps) -> int:
    eligible_us = moment_us("Eligible", first.row.get("eligible"), options.zone)
    if not options.zone_said and "+" not in first.row.get("submit") and not first.row.get("submit").isdigit():
        gaps.lack("the time zone of its times: UTC is taken (--timezone)")
    if eligible_us is None or eligible_us <= first.submit_us:
        return first.submit_us
    gaps.assume("it became eligible after its submit (a dependency, or a begin time): it enters then")
    return eligible_us if first.start_us is None else min(eligible_us, max(first.start_us, first.submit_us))


def _owner(row: Row, options: Options) -> dict[str, str]:
    queue = row.get(QUEUE_COLUMNS.get(options.queue_by, "partition")).partition(",")[0]
    said = {"queue": queue, "user": row.get("user"), "tenant": row.get("account")}
    return {word: text for word, text in said.items() if text}


def _needs(rows: Sequence[Row], gaps: Gaps) -> dict[str, object]:
    """Return what is asked for; parts of a job of several kinds are its roles."""
    if len(rows) == 1:
        return needs(rows[0].get, gaps)
    return {"roles": [{"name": f"part-{row.part}", **needs(row.get, gaps)} for row in rows]}


def _truth(tries: Sequence[Attempt], at_us: int, limit_us: int | None, gaps: Gaps) -> dict[str, object]:
    """Return how long each attempt ran and how it ended; what was stopped for another's sake is decided anew."""
    last = tries[-1]
    runs: list[tuple[int, int]] = []
    for a in tries:
        if a.state == "COMPLETED":
            runs.append((a.run_us, 0))
        elif a.state in sv.OWN_FAILURES:
            runs.append((a.run_us, sv.exit_code(a.row.get("exitcode"))))
        elif a.state == "TIMEOUT":
            runs.append((max(a.run_us, limit_us) + 1_000_000 if limit_us is not None else a.run_us, 1))
        elif a.state in sv.STOPPED and a.start_us is not None and a.run_us:
            gaps.assume("somebody stopped it while it ran: it runs as long as it did then, and fails")
            runs.append((a.run_us, 1))
    found: dict[str, object] = {}
    end_us = last.end_us if last.end_us is not None else (last.start_us or last.submit_us) + last.run_us
    took_us = max(0, end_us - at_us)
    if not runs and last.state in sv.STOPPED:
        found["cancel_after"] = seconds(took_us)
    elif not runs:
        gaps.assume("it was preempted or lost its node and did not run again: it runs as long as it did, and fails")
        runs.append((last.run_us, 1))
    if runs:
        found["runtime"] = [seconds(us) for us, _ in runs]
        found["exit_code"] = [code for _, code in runs]
    if len(runs) > 1:
        found["max_retries"] = len(runs) - 1
    return {**found, "took": seconds(took_us)}


SLURM = Source("slurm", "Slurm's accounting (sacct -P)", _matches, _read)
