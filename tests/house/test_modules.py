"""Every module is used: somebody imports it, or it is where a program begins."""

from __future__ import annotations

import ast
import tomllib
from typing import TYPE_CHECKING

from tests.house.code import ROOT, modules, python_files, tree

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PUBLISHED = (
    "clearway.testing.",
    "clearway.engines.fake",
)  # made for tests, ours and our users': a test that imports it uses it


def imported(path: Path, own_package: str) -> Iterator[str]:
    """Yield the dotted names that a file imports, or names in a text (late imports, `python -m`)."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = own_package.split(".")[: len(own_package.split(".")) - node.level + 1]
                base = ".".join([*above, *([base] if base else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("clearway."):
            yield node.value.partition(":")[0]


def entry_points() -> set[str]:
    """Return the modules at which a program begins."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    return {target.partition(":")[0] for target in scripts.values()}


def commands() -> set[str]:
    """Return the modules of the command table, which are imported when the command is called."""
    from clearway.cli.main import COMMANDS  # noqa: PLC0415  the rest of this file needs no working package

    return {entry.module for entry in COMMANDS.values()}


def test_every_module_is_imported_or_is_where_a_program_begins() -> None:
    packages = {name for name, path in modules().items() if path.name == "__init__.py"}
    used = entry_points() | commands() | {n for n in modules() if n.endswith("__main__")}
    for name, path in modules().items():
        own = name if name in packages else name.rpartition(".")[0]
        used |= {target for target in imported(path, own) if target != name}
    for path in python_files():
        if path.is_relative_to(ROOT / "tests"):
            used |= {target for target in imported(path, "") if target.startswith(PUBLISHED)}
    assert sorted(set(modules()) - packages - used) == []


def test_every_folder_of_the_package_is_a_package() -> None:
    folders = {path.parent for path in modules().values()}
    assert sorted(str(f) for f in folders if not (f / "__init__.py").exists()) == []
