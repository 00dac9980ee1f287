"""A table (CSV) whose columns a person names: `submit=created_at runtime=duration:min gpus=n_gpu`."""

from __future__ import annotations

import csv
import re
from fractions import Fraction
from typing import TYPE_CHECKING

from clearway.interop.importing import Past, Source, lines_of
from clearway.interop.moments import NEVER, NUMBER, RULE, UNITS_US, amount_us, moment_us
from clearway.model import values as v
from clearway.model.errors import InputError, UnknownWordError
from clearway.sim.workloads.writer import seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from clearway.interop.gaps import Gaps
    from clearway.interop.importing import Column, Options
    from clearway.sim.workloads.textfile import Head

MOMENTS = ("submit", "start", "end")
TIMES = ("runtime", "time_limit", "time_estimate")
WHOLE = ("tasks", "priority", "exit_code", "max_retries")
NUMBERS = ("gpus", "cpus", "bandwidth")
SIZES = ("memory", "gpu_memory", "disk")
TEXTS = ("name", "user", "tenant", "queue", "gpu_model")
WORDS = (*MOMENTS, *TIMES, *WHOLE, *NUMBERS, *SIZES, *TEXTS, "state", "id")
SIZE_UNITS = ("Ki", "Mi", "Gi", "Ti", "k", "M", "G", "T")
PLAIN = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,9})?")
SEPARATORS = ",;\t|"
STATES = {
    "succeeded": 0, "success": 0, "successful": 0, "completed": 0, "complete": 0, "done": 0, "finished": 0, "pass": 0,
    "passed": 0, "ok": 0, "terminated": 0, "0": 0, "failed": 1, "failure": 1, "error": 1, "errored": 1, "fail": 1,
    "timeout": 1, "timed_out": 1, "killed": 1, "cancelled": 1, "canceled": 1, "stopped": 1, "aborted": 1, "1": 1,
}  # fmt: skip
OPEN = frozenset({"running", "pending", "queued", "waiting", "submitted", "created"})


def _matches(head: Head) -> bool:
    del head
    return False  # any table may be one: it is named with its columns


def _read(path: Path, options: Options, gaps: Gaps, told: Callable[[int], None]) -> Iterator[Past]:
    lines = (text for _, text in lines_of(path, told))
    header = next(lines, "").lstrip("\ufeff")
    separator = max(SEPARATORS, key=header.count)
    names = [name.strip() for name in next(csv.reader([header], delimiter=separator), [])]
    places = _places(names, options.columns)
    for word, what in (
        ("user", "who submitted a job"),
        ("gpus", "GPUs"),
        ("queue", "queues"),
        ("state", "how a job ended"),
    ):
        if word not in places and word not in options.defaults and not (word == "state" and "exit_code" in places):
            gaps.lack(f"{what} (no column is named for {word})")
    rows = csv.reader(lines, delimiter=separator)
    while True:
        try:
            fields = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            gaps.refuse(rows.line_num + 1, InputError("row", "", f"a row of a table ({error})"))
            continue
        if not fields:
            continue
        try:
            job = _job(rows.line_num + 1, fields, len(names), places, options, gaps)
        except InputError as error:
            gaps.refuse(rows.line_num + 1, error)
            continue
        if job is not None:
            yield job


class _Cells:
    """The cells of a row by word; an error names the column."""

    def __init__(self, fields: Sequence[str], places: Mapping[str, tuple[int, Column]]) -> None:
        self._fields, self._places = fields, places

    def get(self, word: str) -> tuple[str, str, str]:
        """Return what a cell says, its column and its unit; nothing where there is no column or nothing in it."""
        place = self._places.get(word)
        if place is None:
            return "", word, ""
        text = self._fields[place[0]].strip()
        return ("" if text.lower() in NEVER and not (word in WHOLE and text == "-1") else text), *place[1]


def _places(names: Sequence[str], columns: Mapping[str, Column]) -> dict[str, tuple[int, Column]]:
    for word in columns:
        if word not in WORDS:
            raise UnknownWordError.of(word, WORDS, "columns")
    if "submit" not in columns or not ({"runtime"} <= set(columns) or {"start", "end"} <= set(columns)):
        raise InputError("columns", ", ".join(columns) or None, "submit=COLUMN, and runtime=COLUMN or start= and end=")
    found = {}
    for word, column in columns.items():
        if column.name not in names:
            raise UnknownWordError.of(column.name, names, f"the header of the table, for {word}")
        found[word] = (names.index(column.name), column)
        _check_unit(word, column.unit)
    return found


def _check_unit(word: str, unit: str) -> None:
    known = (*UNITS_US,) if word in (*MOMENTS, *TIMES) else SIZE_UNITS if word in SIZES else ()
    if unit and unit not in known:
        rule = f"one of {', '.join(known)}" if known else "nothing: its numbers have no unit"
        raise InputError(f"columns.{word}", unit, rule)


def _job(
    line: int, fields: Sequence[str], width: int, places: Mapping[str, tuple[int, Column]], options: Options, gaps: Gaps
) -> Past | None:
    if len(fields) != width:
        raise InputError("row", ",".join(fields), f"{width} fields, and these are {len(fields)}")
    cells = _Cells(fields, places)
    state = cells.get("state")[0].lower()
    if state in OPEN:
        gaps.leave("rows of jobs that are not over")
        return None
    if state and state not in STATES:
        raise InputError(cells.get("state")[1], state, f"how a job ended: {', '.join(STATES)}")
    at_us = _moment(cells, "submit", options)
    if at_us is None:
        raise InputError(cells.get("submit")[1], cells.get("submit")[0], RULE)
    start_us, end_us = _moment(cells, "start", options), _moment(cells, "end", options)
    run_us = _time(cells, "runtime")
    if run_us is None and (start_us is None or end_us is None):
        gaps.leave("rows that do not tell how long the job ran")
        return None
    words: dict[str, object] = {"name": cells.get("name")[0] or cells.get("id")[0] or f"line-{line}"}
    words |= _plain(cells)
    if run_us is None and start_us is not None and end_us is not None:
        run_us = _between("end", "start", start_us, end_us, cells)
    words["runtime"] = seconds(run_us or 0)
    if end_us is not None:
        words["took"] = seconds(_between("end", "submit", at_us, end_us, cells))
    if "exit_code" not in words and state:
        words["exit_code"] = STATES[state]
    return Past(at_us, line, words)


def _between(late: str, early: str, from_us: int, to_us: int, cells: _Cells) -> int:
    if to_us < from_us:
        text, column, _ = cells.get(late)
        raise InputError(column, text, f"not before {cells.get(early)[1]} ({cells.get(early)[0]})")
    return to_us - from_us


def _moment(cells: _Cells, word: str, options: Options) -> int | None:
    text, column, unit = cells.get(word)
    return moment_us(column, text, options.zone, UNITS_US[unit or "s"]) if text else None


def _time(cells: _Cells, word: str) -> int | None:
    text, column, unit = cells.get(word)
    if not text:
        return None
    if NUMBER.fullmatch(text):
        return amount_us(text, UNITS_US[unit or "s"])
    return v.duration(column, text)


def _plain(cells: _Cells) -> dict[str, object]:
    words: dict[str, object] = {word: text for word in TEXTS[1:] if (text := cells.get(word)[0])}
    for word in TIMES[1:]:
        time_us = _time(cells, word)
        if time_us is not None:
            words[word] = seconds(time_us)
    for word in (*WHOLE, *NUMBERS):
        text, column, _ = cells.get(word)
        if text:
            words[word] = _number(column, text, whole=word in WHOLE)
    for word in SIZES:
        text, column, unit = cells.get(word)
        if text:
            words[word] = v.size(column, text + unit if unit or not text.isdigit() else int(text))
    ident = cells.get("id")[0]
    return words | ({"labels": {"id": ident}} if ident else {})


def _number(column: str, text: str, *, whole: bool) -> int | float:
    if not PLAIN.fullmatch(text):
        raise InputError(column, text, "a number")
    exact = Fraction(text)
    if whole and exact.denominator != 1:
        raise InputError(column, text, "a whole number")
    return int(exact) if exact.denominator == 1 else float(exact)


TABLE = Source("csv", "a table (CSV)", _matches, _read)
