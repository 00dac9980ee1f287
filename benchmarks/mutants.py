"""Faults put into `core` and `policies` on purpose, one at a time: how many of them the fast tests see.

Every comparison, sum, condition, whole number and call whose answer nobody uses is a place for a fault. A fixed sample
of them (by seed) is tried: the project is copied, one file of the copy is changed, and of the fast unit and scenario
tests those that go through the changed line run, the cheapest first, until one fails. A fault that no test sees has
survived; so has one that changes nothing, which only reading tells. What was found is kept in `out/`, so that a run
that was broken off goes on where it stood.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.touched import BUDGET_S, ROOMS_WATCHED, WRITTEN_TO, Touched

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

TITLE = "faults put into core and policies on purpose, and how many of them the fast tests see"
ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("core", "policies")
TESTS = (
    "tests/policies/test_orders.py", "tests/policies/test_causes.py", "tests/core", "tests/policies/test_scenarios.py",
    "tests/loop", "tests/testing/test_scenarios.py", "tests/policies/test_properties.py", "tests/test_decided.py",
    "tests/whatif",
)  # fmt: skip
"""Of these a fault sees those that go through its line."""

NOT_THESE = "not lies_about and not bad_systems and not same and not not_built"  # what they see, others see sooner
EXAMPLES = "15"  # of each property; the suite itself tries more
AT_ONCE = 2
PATIENCE = 3  # a run that takes so many times as long as it should has been caught in a circle
START_S = 20  # and so much more, for a machine that is busy
MEMORY_BYTES = 4 << 30
WITH_LESS_MEMORY = (
    "import resource, sys, pytest; "
    f"resource.setrlimit(resource.RLIMIT_AS, ({MEMORY_BYTES}, {MEMORY_BYTES})); "
    "sys.exit(pytest.main(sys.argv[1:]))"
)
SHOWN = 160  # a fault is named by so many letters

KEYS = {
    "mutants": "faults that were tried",
    "killed": "faults that a test saw, or that made a test run for ever",
    "survived": "faults that no test saw",
    "killed_share": "part of the faults that were seen, in hundredths",
    "places": "places for a fault in all",
    "survivors": "where they are and what they change",
}

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
COUNTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip


class Span(NamedTuple):
    """The lines that run when a node does: its own, and the one where its statement begins."""

    line: int
    lines: tuple[int, ...]
    at_import: bool


class Mutant(NamedTuple):
    """A fault: the file, the place of its node when the tree is walked, and which of the node's faults."""

    file: str
    node: int
    kind: str
    place: Span
    says: str

    @property
    def name(self) -> str:
        """The fault as people read it."""
        return f"{self.file}:{self.place.line} {self.says}"


# --- faults --------------------------------------------------------------------------------------


def every_mutant(root: Path) -> list[Mutant]:
    """Return all faults that a copy of the project may have, in the order of files."""
    found = []
    for room in ROOMS:
        for path in sorted((root / "src" / "clearway" / room).rglob("*.py")):
            short = str(path.relative_to(root))
            found += [Mutant(short, *rest) for rest in _faults(ast.parse(path.read_text()))]
    return found


def _faults(tree: ast.Module) -> Iterator[tuple[int, str, Span, str]]:
    spared, spans = _spared(tree), _spans(tree)
    for number, node in enumerate(ast.walk(tree)):
        if id(node) in spared:
            continue
        for kind in _kinds(node):
            yield number, kind, spans[id(node)], _said(node, kind).replace("\n", " ")[:SHOWN]


def _spans(tree: ast.Module) -> dict[int, Span]:
    found: dict[int, Span] = {}

    def walk(node: ast.AST, begins: int, *, at_import: bool) -> None:
        if isinstance(node, ast.stmt):
            begins = node.lineno
        first = getattr(node, "lineno", begins)
        ends = node.test if isinstance(node, ast.If | ast.While) else node
        last = getattr(ends, "end_lineno", None) or first
        found[id(node)] = Span(first, tuple(sorted({begins, *range(first, last + 1)})), at_import)
        inside = isinstance(node, ast.FunctionDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            walk(child, begins, at_import=at_import and not inside)

    walk(tree, 0, at_import=True)
    return found


def _said(node: ast.AST, kind: str) -> str:
    if isinstance(node, ast.If):
        return f"if {ast.unparse(node.test)} -> {kind}"
    changed = copy.deepcopy(node)
    _change(changed, kind)
    return f"{ast.unparse(node)} -> {'nothing' if kind == 'drop' else ast.unparse(changed)}"


def _spared(tree: ast.Module) -> set[int]:
    """Return the nodes in which a change would be no fault: types, doc texts, what is only imported for types."""
    spared: set[int] = set()
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            parts = [node]
        elif isinstance(node, ast.AnnAssign | ast.arg):
            parts = [node.annotation]
        elif isinstance(node, ast.FunctionDef):
            parts = [node.returns, *node.decorator_list]
        elif (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and _is_type(node)) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        ):
            parts = [node]
        for part in parts:
            spared |= {id(inner) for inner in ast.walk(part)} if part is not None else set()
    return spared


def _is_type(node: ast.Subscript) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id in {"tuple", "list", "dict", "type", "Generic", "Ordered"}


def _kinds(node: ast.AST) -> tuple[str, ...]:
    """Return the faults that a node may have."""
    kinds: tuple[str, ...] = ()
    match node:
        case ast.Compare(ops=[one]) if type(one) in COMPARED:
            kinds = ("compare",)
        case ast.BinOp(op=one) if type(one) in COUNTED:
            kinds = ("count",)
        case ast.AugAssign(op=one) if type(one) in COUNTED:
            kinds = ("count", "drop")
        case ast.BoolOp():
            kinds = ("bool",)
        case ast.UnaryOp(op=ast.Not()):
            kinds = ("not",)
        case ast.If() | ast.IfExp():
            kinds = ("always", "never")
        case ast.Constant(value=bool()):
            kinds = ("flip",)
        case ast.Constant(value=int()):
            kinds = ("more",)
        case ast.Expr(value=ast.Call()) | ast.Continue() | ast.Break():
            kinds = ("drop",)
        case _:
            pass
    return kinds


def _change(node: ast.AST, kind: str) -> None:
    """Give a node its fault. A statement that is dropped is replaced where it stands."""
    match node:
        case ast.Compare(ops=[one]):
            node.ops = [COMPARED[type(one)]()]
        case ast.BinOp(op=one) | ast.AugAssign(op=one) if kind == "count":
            node.op = COUNTED[type(one)]()
        case ast.BoolOp(op=both):
            node.op = ast.Or() if isinstance(both, ast.And) else ast.And()
        case ast.UnaryOp():
            node.operand, node.op = ast.UnaryOp(ast.Not(), node.operand), ast.Not()
        case ast.If() | ast.IfExp():
            node.test = ast.Constant(kind == "always")
        case ast.Constant(value=bool() as yes):
            node.value = not yes
        case ast.Constant(value=int() as number):
            node.value = number + 1
        case _:
            pass


def broken(source: str, mutant: Mutant) -> str:
    """Return a file's text with a fault in it."""
    tree = ast.parse(source)
    node = next(n for i, n in enumerate(ast.walk(tree)) if i == mutant.node)
    if mutant.kind != "drop":
        _change(node, mutant.kind)
    else:
        _drop(tree, node)
    return ast.unparse(ast.fix_missing_locations(tree))


def _drop(tree: ast.Module, node: ast.AST) -> None:
    for parent in ast.walk(tree):
        for block in (getattr(parent, field, None) for field in ("body", "orelse", "finalbody")):
            if isinstance(block, list) and node in block:
                block[block.index(node)] = ast.Pass()


# --- trying --------------------------------------------------------------------------------------


class Copy:
    """A copy of the project beside a link to the shared folder, in which one file at a time is broken."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "main"
        skipped = shutil.ignore_patterns("__pycache__", ".venv", ".git", "out", ".*_cache", ".hypothesis", "*.egg-info")
        shutil.copytree(ROOT, self.root, ignore=skipped)
        (folder / "shared").symlink_to(ROOT.parent / "shared")

    def touched(self) -> Touched:
        """Run all the tests once, and return which lines each goes through; they must hold without a fault."""
        path = self.root.parent / "touched.json"
        rooms = os.pathsep.join(str(self.root / "src" / "clearway" / room) for room in ROOMS)
        tests = [test for test in TESTS if (self.root / test).exists()]
        watched = {WRITTEN_TO: str(path), ROOMS_WATCHED: rooms}
        if not self._holds(["-p", "benchmarks.touched", "-k", NOT_THESE, *tests], 3600, watched):
            raise SystemExit("the fast tests do not hold without a fault: nothing can be learned from them")
        return Touched(path)

    def _holds(self, args: list[str], patience_s: float, more: dict[str, str]) -> bool:
        """Run tests until one fails; return whether none did. One that takes too long has failed."""
        command = [sys.executable, "-c", WITH_LESS_MEMORY, "-x", "-q", "--no-header", "-p", "no:cacheprovider", *args]
        path = os.pathsep.join([str(self.root / "src"), str(self.root)])
        env = {**os.environ, "PYTHONPATH": path, "CLEARWAY_EXAMPLES": EXAMPLES, "PYTHONDONTWRITEBYTECODE": "1", **more}
        running = subprocess.Popen(
            command, cwd=self.root, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        try:
            return running.wait(patience_s) == 0
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
            return False

    def survives(self, mutant: Mutant, touched: Touched) -> bool:
        """Break a file, run the tests that go through the place, and mend it."""
        tests = touched.tests(mutant.file, mutant.place.lines)
        tests = tests or (touched.tests_of(mutant.file) if mutant.place.at_import else [])
        path = self.root / mutant.file
        whole = path.read_text()
        path.write_text(broken(whole, mutant))
        try:
            return not tests or self._holds(tests, BUDGET_S * PATIENCE + START_S, {})
        finally:
            path.write_text(whole)


def run(args: Namespace) -> dict[str, Any]:
    """Try a sample of all faults."""
    with tempfile.TemporaryDirectory() as folder:
        made = [Copy(Path(folder) / str(number)) for number in range(AT_ONCE)]
        every = every_mutant(made[0].root)
        chosen = random.Random(args.seed).sample(every, min(args.sample, len(every)))
        kept = Kept(ROOT / "out" / f"mutants-{args.seed}.jsonl", made[0].root)
        copies: SimpleQueue[Copy] = SimpleQueue()
        for one in made:
            copies.put(one)
        touched = made[0].touched()
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(lambda mutant: _try(mutant, copies, kept, touched), chosen))
    survivors = [mutant.name for mutant in chosen if kept.survived[kept.key(mutant)]]
    return {
        "mutants": len(chosen),
        "killed": len(chosen) - len(survivors),
        "survived": len(survivors),
        "killed_share": 100 * (len(chosen) - len(survivors)) / max(len(chosen), 1),
        "places": len(every),
        "survivors": "".join(f"\n  {name}" for name in survivors) if not args.json else survivors,
    }


def _try(mutant: Mutant, copies: SimpleQueue[Copy], kept: Kept, touched: Touched) -> None:
    if kept.key(mutant) in kept.survived:
        return
    one = copies.get()
    try:
        survived = one.survives(mutant, touched)
    finally:
        copies.put(one)
    kept.add(mutant, survived=survived)
    print("survived" if survived else "killed  ", mutant.name, file=sys.stderr, flush=True)


class Kept:
    """What was found out before about the same faults in the same files by the same tests."""

    def __init__(self, path: Path, root: Path) -> None:
        path.parent.mkdir(exist_ok=True)
        self._path, self._root = path, root
        self._digests: dict[str, str] = {}
        named = [file for test in TESTS for file in (root / test, *sorted((root / test).rglob("*.py")))]
        self._tests = _digest(*(file for file in named if file.is_file()))
        lines = path.read_text().splitlines() if path.exists() else []
        self.survived: dict[str, bool] = {one["key"]: one["survived"] for one in map(json.loads, lines)}

    def key(self, mutant: Mutant) -> str:
        """Return what names a fault as long as neither its file nor the tests change."""
        if mutant.file not in self._digests:
            self._digests[mutant.file] = _digest(self._root / mutant.file)
        return f"{mutant.file} {mutant.node} {mutant.kind} {self._digests[mutant.file]} {self._tests}"

    def add(self, mutant: Mutant, *, survived: bool) -> None:
        """Write down what was found."""
        key = self.key(mutant)
        self.survived[key] = survived
        with self._path.open("a") as file:
            file.write(json.dumps({"key": key, "name": mutant.name, "survived": survived}) + "\n")


def _digest(*paths: Path) -> str:
    found = hashlib.sha256()
    for path in paths:
        found.update(path.read_bytes())
    return found.hexdigest()[:12]
