"""Files and functions stay small enough to be read at once."""

from __future__ import annotations

import ast
import warnings
from typing import TYPE_CHECKING

from tests.house.code import PACKAGE, python_files, short, tree

if TYPE_CHECKING:
    from pathlib import Path

FILE_LINES = 500  # none is longer
FILE_LINES_TOLD = 200  # longer ones are named, because about 100 is meant
FUNCTION_LINES = 60  # none is longer
FUNCTION_LINES_USUAL = 25  # nine in ten are at most so long
USUAL_SHARE = 0.9


def function_lines(path: Path) -> list[tuple[int, str]]:
    """Return length and place of each function of a file, from `def` to its last line."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = [node for node in ast.walk(tree(path)) if isinstance(node, kinds)]
    return [((f.end_lineno or f.lineno) - f.lineno + 1, f"{short(path)}:{f.lineno} {f.name}") for f in found]


def test_no_file_is_longer_than_500_lines() -> None:
    lines = {short(path): len(path.read_text().splitlines()) for path in python_files()}
    assert {name: n for name, n in lines.items() if n > FILE_LINES} == {}


def test_no_function_is_longer_than_60_lines() -> None:
    assert [where for path in python_files() for n, where in function_lines(path) if n > FUNCTION_LINES] == []


def test_nine_in_ten_functions_have_at_most_25_lines() -> None:
    lengths = [n for path in python_files() if path.is_relative_to(PACKAGE) for n, _ in function_lines(path)]
    usual = sum(n <= FUNCTION_LINES_USUAL for n in lengths)
    assert usual >= USUAL_SHARE * len(lengths), f"{usual} of {len(lengths)}"


def test_long_files_are_named() -> None:
    told = [short(path) for path in python_files() if len(path.read_text().splitlines()) > FILE_LINES_TOLD]
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # this one is told, not an error
        if told:
            warnings.warn(f"over {FILE_LINES_TOLD} lines: {', '.join(told)}", stacklevel=1)
