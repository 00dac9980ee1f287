"""The layers hold, and what keeps them notices when they do not."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.house.code import PACKAGE, ROOT, modules, rooms, tree

PURE = {"model", "core", "policies", "forecast", "flow", "serve", "federation", "loop"}
OUTSIDE_CALLS = {"open", "print", "input", "hash", "id", "exec", "eval", "compile", "__import__"}
"""Builtins that reach outside or differ from process to process."""
UNSAFE = {"pickle", "cloudpickle", "dill", "marshal", "shelve", "joblib", "runpy", "code"}
PICKLES = ("clearway.sdk.tasks.values", "clearway.engines.ray.plain")
"""One makes and reads pickles, in programs and workers, never in a controller; one keeps Ray from reading any."""
UNSAFE_CALLS = {"eval", "exec", "yaml.unsafe_load"}  # of yaml.load, ruff sees whether its loader is a safe one


def settings() -> dict[str, Any]:
    tools: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    return tools


def contract(kind: str) -> dict[str, Any]:
    found: dict[str, Any] = next(c for c in settings()["importlinter"]["contracts"] if c["type"] == kind)
    return found


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the import contracts of pyproject on the package under `folder`/src."""
    program = Path(sys.executable).with_name("lint-imports")
    command = [str(program), str(folder / "pyproject.toml"), "--no-cache", "--no-logo"]
    paths = {**os.environ, "PYTHONPATH": str(folder / "src")}
    return subprocess.run(command, cwd=folder, env=paths, capture_output=True, text=True, check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package in which faults can be planted."""
    shutil.copytree(PACKAGE, tmp_path / "src" / "clearway", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_every_import_goes_downwards() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("module", "code"),
    [
        ("utils/__init__.py", "X = 1"),
        ("model/planted.py", "import clearway.core"),
        ("core/planted.py", "import clearway.loop.world"),
        ("core/planted.py", "import time"),
        ("core/planted.py", "import random"),
        ("policies/planted.py", "from datetime import datetime"),
        ("loop/planted.py", "import logging"),
        ("loop/planted.py", "from clearway.config import home"),
        ("sim/planted.py", "import clearway.control"),
        ("store/planted.py", "import clearway.observe"),
        ("cli/planted.py", "import clearway.engines.local"),
    ],
)
def test_a_planted_fault_is_noticed(copy: Path, module: str, code: str) -> None:
    path = copy / "src" / "clearway" / module
    path.parent.mkdir(exist_ok=True)
    path.write_text(code + "\n")
    done = lint(copy)
    assert done.returncode != 0
    assert module.removesuffix("/__init__.py").removesuffix(".py").replace("/", ".") in done.stdout


@pytest.mark.parametrize(
    "code",
    [
        "import time\ntime.time()",
        "from time import monotonic",
        "from datetime import datetime\ndatetime.now()",
        "from datetime import date\ndate.today()",
        "import random",
        "import numpy as np\nnp.random.default_rng()",
        "import uuid",
    ],
)
def test_pure_rooms_read_no_clock_and_no_chance(code: str) -> None:
    def refused(room: str) -> bool:
        where = f"src/clearway/{room}/planted.py"
        command = [sys.executable, "-m", "ruff", "check", "--select", "TID251", "--stdin-filename", where, "-"]
        return subprocess.run(command, input=code.encode(), cwd=ROOT, capture_output=True, check=False).returncode != 0

    assert all(refused(room) for room in sorted(PURE))
    assert not refused("control")


def test_pure_rooms_call_no_builtin_that_reaches_outside() -> None:
    found = []
    for name, path in modules().items():
        if name.split(".")[1:2] and name.split(".")[1] in PURE:
            calls = [n for n in ast.walk(tree(path)) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
            found += [f"{name}:{c.lineno} {ast.unparse(c.func)}" for c in calls if ast.unparse(c.func) in OUTSIDE_CALLS]
    assert found == []


def test_every_room_has_its_place_and_pure_ones_are_kept_pure() -> None:
    layers = contract("layers")["layers"]
    placed = {room.strip("() ") for line in layers for room in line.split("|")}
    assert rooms() <= placed
    assert contract("layers")["exhaustive"]
    kept = {name.removeprefix("clearway.") for name in contract("forbidden")["source_modules"]}
    assert kept == PURE & rooms()
    (pattern,) = [p for p in settings()["ruff"]["lint"]["per-file-ignores"] if p.startswith("!")]
    assert set(pattern[pattern.index("{") + 1 : pattern.index("}")].split(",")) == PURE


def test_nothing_that_a_user_sent_is_unpickled_or_executed() -> None:
    found = []
    for name, path in modules().items():
        if name in PICKLES:
            continue
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Import):
                found += [f"{name}:{node.lineno} {a.name}" for a in node.names if a.name.split(".")[0] in UNSAFE]
            elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in UNSAFE and not node.level:
                found.append(f"{name}:{node.lineno} {node.module}")
            elif isinstance(node, ast.Call) and ast.unparse(node.func) in UNSAFE_CALLS:
                found.append(f"{name}:{node.lineno} {ast.unparse(node.func)}")
    assert found == []
