"""What is imported is asked for: nothing is there only because something else happens to bring it."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from typing import TYPE_CHECKING

from tests.house.code import CODE_FOLDERS, PACKAGE, ROOT, python_files, tree

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

OWN = {"clearway", *CODE_FOLDERS}
PUBLISHED_SUITES = PACKAGE / "testing"
"""Suites that others run under pytest: who runs tests has it."""
APART = {
    PACKAGE / "learn" / "optuna_sampler.py": "search",
    PACKAGE / "learn" / "boosted.py": "learn",
    PACKAGE / "engines" / "ray": "ray",
    PACKAGE / "learn" / "load_boosted.py": "learn",
    PACKAGE / "observe" / "telemetry.py": "telemetry",
    PACKAGE / "api" / "oidc.py": "oidc",
    PACKAGE / "sdk" / "langgraph.py": "langgraph",
}
"""Loaded only where their extra is installed."""


def asked_for(*extras: str) -> set[str]:
    """Return the projects that pyproject asks for, those of some extras included."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [*project["dependencies"], *(line for extra in extras for line in project["optional-dependencies"][extra])]
    return {plain(re.split(r"[<>=!~; \[]", line, maxsplit=1)[0]) for line in lines}


def plain(name: str) -> str:
    """Return a project's name as all ways to write it are compared."""
    return re.sub(r"[-_.]+", "-", name).lower()


def foreign(path: Path) -> set[str]:
    """Return the packages of others that a file imports."""
    names = set[str]()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
    return {name.partition(".")[0] for name in names} - OWN - set(sys.stdlib_module_names)


def missing(paths: Iterable[Path], asked: set[str]) -> list[str]:
    """Return what files import of projects that are not asked for."""
    owners = packages_distributions()
    imported = {name for path in paths for name in foreign(path)}
    return sorted(name for name in imported if not asked & {plain(owner) for owner in owners.get(name, [])})


def test_the_package_asks_for_what_it_imports() -> None:
    paths = [p for p in python_files() if p.is_relative_to(PACKAGE)]
    apart = (PUBLISHED_SUITES, *APART)
    assert missing([p for p in paths if not any(map(p.is_relative_to, apart))], asked_for()) == []
    for place, extra in APART.items():
        assert missing([p for p in paths if p.is_relative_to(place)], asked_for(extra)) == []
    assert missing([p for p in paths if p.is_relative_to(PUBLISHED_SUITES)], asked_for("dev")) == []


def test_so_do_examples_and_tests() -> None:
    paths = [p for p in python_files() if not p.is_relative_to(PACKAGE)]
    assert missing([p for p in paths if p.is_relative_to(ROOT / "examples")], asked_for("examples")) == []
    assert missing(paths, asked_for("examples", "dev", *APART.values())) == []


def test_nothing_is_asked_for_that_the_package_does_not_import() -> None:
    owners = packages_distributions()
    imported = {name for path in python_files() if path.is_relative_to(PACKAGE) for name in foreign(path)}
    used = {plain(owner) for name in imported for owner in owners.get(name, [])}
    assert sorted(asked_for() - used) == []


def test_all_that_is_asked_for_is_pinned() -> None:
    def pinned(name: str) -> set[str]:
        return {plain(line) for line in re.findall(r"^([\w.-]+)==", (ROOT / name).read_text(), re.MULTILINE)}

    assert sorted(asked_for() - pinned("requirements.txt")) == []
    assert sorted(asked_for("examples", "dev") - pinned("requirements-dev.txt")) == []
