"""One word, one meaning: the words of the glossary and no others."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from tests.house.code import PACKAGE, modules, short, tree

if TYPE_CHECKING:
    from collections.abc import Iterator

OTHERS = {"pod", "pods", "executor", "agent", "agents", "allocation", "epoch", "epochs"}
"""Words for which the glossary has another one: task, engine, runner, placement, attempt."""

FOREIGN = {
    "sim/workloads": "histories of other systems call their things as they do",
    "interop": "job files of other systems call their things as they do",
    "engines/kubernetes": "Kubernetes calls a task a pod",
    "engines/slurm": "Slurm calls its nodes an allocation",
    "model/values.py": "_EPOCH is the moment from which computers count time, not a part of a training",
}
"""Places that must name what others call by these words."""


def names_given(code: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and name of everything that a module names itself."""
    for node in ast.walk(code):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id if isinstance(node, ast.Name) else node.attr


def parts(name: str) -> set[str]:
    """Return the words of a name: `PodList` and `pod_list` have two."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def test_nothing_is_called_by_a_word_that_means_something_else() -> None:
    found = [
        f"{short(path)}:{line} {name}"
        for path in modules().values()
        if not str(path.relative_to(PACKAGE)).startswith(tuple(FOREIGN))
        for line, name in names_given(tree(path))
        if parts(name) & OTHERS
    ]
    assert found == []


def test_no_module_is_a_drawer_for_everything() -> None:
    drawers = {"utils", "util", "helpers", "helper", "misc", "common"}
    assert [name for name in modules() if drawers & set(name.split("."))] == []
