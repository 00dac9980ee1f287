"""Text files, plain, gzip or zip, read line by line."""

from __future__ import annotations

import csv
import gzip
import io
import math
import zipfile
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from clearway.model.errors import InputError
from clearway.sim.workloads.order import Line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from clearway.sim.workloads.trace import Damage

HEAD_LINES = 80  # enough to see past the comments at the beginning of a long log
MAX_LINE_CHARS = 1 << 20  # a longer line is no line of a workload


class Head(NamedTuple):
    """What is looked at to recognise a format: the name and the first lines."""

    path: Path
    lines: list[str]

    @property
    def columns(self) -> list[str]:
        """The first line as the names of columns."""
        return [name.strip() for name in self.lines[0].split(",")] if self.lines else []


@contextmanager
def opened(path: Path) -> Iterator[IO[str]]:
    """Open a text, whatever packs it; the first file of a zip. Bytes that are no UTF-8 are shown as such."""
    with _raw(path) as raw:
        yield io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace", newline="")


@contextmanager
def _raw(path: Path) -> Iterator[IO[bytes]]:
    try:
        with path.open("rb") as file:
            magic = file.read(4)
            file.seek(0)
            if magic[:2] == b"\x1f\x8b":
                with gzip.open(file) as packed:
                    yield packed  # type: ignore[misc]  # GzipFile reads bytes as IO[bytes] does
            elif magic == b"PK\x03\x04":
                with zipfile.ZipFile(file) as archive, archive.open(archive.namelist()[0]) as member:
                    yield member
            else:
                yield file
    except FileNotFoundError as error:
        raise InputError("workload", str(path), f"a file that can be read ({error.strerror})") from error
    except (OSError, EOFError, zipfile.BadZipFile) as error:
        raise InputError("workload", str(path), f"a file that can be read ({error})") from error


def head(path: Path) -> Head:
    """Return the name and the first lines of a file."""
    with opened(path) as text:
        return Head(path, [line.rstrip("\r\n") for line in islice(_lines(text), HEAD_LINES)])


def _lines(text: IO[str]) -> Iterator[str]:
    while line := text.readline(MAX_LINE_CHARS):
        yield line


def numbered(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file with their numbers from 1."""
    with opened(path) as text:
        yield from enumerate(_lines(text), 1)


def csv_lines(path: Path, damage: Damage, at_us: Callable[[list[str]], int]) -> Iterator[Line]:
    """Yield the rows below the header; one with another number of fields, or without a moment, is damaged."""
    rows = csv.reader(text for _, text in numbered(path))
    width = len(next(rows, []))
    while True:
        try:
            fields = next(rows)
            if fields and len(fields) != width:
                raise ValueError(f"{len(fields)} fields instead of {width}")  # noqa: TRY301 - counted as other damage
            moment = at_us(fields) if fields else 0
        except StopIteration:
            return
        except (ValueError, csv.Error) as error:
            damage.add(rows.line_num, error)
            continue
        if fields:
            yield Line(moment, rows.line_num, fields)


def beside(path: Path, *names: str) -> Path | None:
    """Return the first of these files that lies in the same folder."""
    for name in names:
        if (path.parent / name).is_file():
            return path.parent / name
    return None


def whole_us(text: str, unit_us: int) -> int:
    """Return a number in units of `unit_us` microseconds as microseconds. Raises ValueError for what is none."""
    try:
        return int(text) * unit_us
    except ValueError:
        exact = float(text)
    if not math.isfinite(exact):
        raise ValueError(f"{text!r} is no time")
    return round(exact * unit_us)


def positive_us(text: str, unit_us: int, what: str) -> int:
    """Return a duration above zero."""
    us = whole_us(text, unit_us)
    if us <= 0:
        raise ValueError(f"{what} {text!r} is not above 0")
    return us


def positive(text: str, what: str) -> int:
    """Return a whole number above zero."""
    number = int(text)
    if number <= 0:
        raise ValueError(f"{what} {text!r} is not above 0")
    return number


def stem(path: Path) -> str:
    """Return the name of a file without its endings."""
    return Path(path.name.removesuffix(".gz").removesuffix(".zip")).stem
