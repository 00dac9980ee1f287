"""The project's own files, as the house tests look at them."""

from __future__ import annotations

import ast
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SRC = ROOT / "src"
PACKAGE = SRC / "clearway"
CODE_FOLDERS = ("src", "tests", "examples", "benchmarks")


@cache
def tracked() -> tuple[Path, ...]:
    """Return the files that belong to the project: in git, or new and not ignored."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    return tuple(sorted({ROOT / name for name in names if name and (ROOT / name).is_file()}))


@cache
def python_files() -> tuple[Path, ...]:
    """Return all Python files of the project."""
    return tuple(p for p in tracked() if p.suffix == ".py" and p.relative_to(ROOT).parts[0] in CODE_FOLDERS)


@cache
def modules() -> dict[str, Path]:
    """Return the package's modules by dotted name."""
    return {dotted(path): path for path in python_files() if path.is_relative_to(PACKAGE)}


def dotted(path: Path) -> str:
    """Return the dotted name of a module of the package."""
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text(), str(path))


def rooms() -> set[str]:
    """Return the names of the rooms that have code."""
    return {name.split(".")[1] for name in modules() if "." in name}


def short(path: Path) -> str:
    """Return a path as a message shows it."""
    return str(path.relative_to(ROOT))
