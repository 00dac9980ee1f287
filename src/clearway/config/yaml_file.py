"""YAML as Clearway reads it: plain data, each key once, and no small text that unfolds into a large one.

It is the core schema of YAML 1.2: `no`, `1:30` and a date stay the text that they look like.
"""

from __future__ import annotations

import functools
import math
import re
from typing import TYPE_CHECKING, Any

from clearway.model.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

MAX_CHARS = 64 * 2**20  # a million jobs; more is a workload file
MAX_VALUES = 20 * 10**6  # what anchors may unfold into: about as much as MAX_CHARS can spell out
MAX_DEPTH = 100  # deeper than any word nests, and far from the interpreter's own limit

_SCALARS = (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+", list("-+0123456789")),
    (
        "float",
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        list("-+.0123456789"),
    ),
    ("merge", r"<<", ["<"]),
)
"""What a plain scalar means: tag, pattern, first characters."""


def read_text(path: Path, field: str = "file") -> str:
    """Return the text of a file. Raises InputError naming `field` for one that cannot be read or is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(field, str(path), f"a file that can be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise InputError(field, str(path), "a text in UTF-8") from None


def read_yaml(path: Path) -> object:
    """Return the content of a YAML file of one document. Raises InputError for what cannot be read as such."""
    return parse_yaml(read_text(path), str(path))


def parse_yaml(text: str, place: str) -> object:
    """Return the content of a YAML text of at most one document; None for none. `place` is named in errors."""
    found = parse_documents(text, place)
    if len(found) > 1:
        raise InputError("yaml", f"{len(found)} documents", "one document", place)
    return found[0] if found else None


def parse_documents(text: str, place: str) -> list[object]:
    """Return the documents of a YAML text, empty ones left out. Raises InputError naming `place` and the line."""
    import yaml  # noqa: PLC0415  a controller without a settings file does not pay for it

    if len(text) > MAX_CHARS:
        raise InputError("yaml", f"{len(text)} characters", f"at most {MAX_CHARS} characters", place)
    try:
        return list(_documents(_loader()(text), place))
    except yaml.YAMLError as error:
        raise _ill_formed(error, text, place) from None
    except (ValueError, RecursionError) as error:  # a number of too many digits; the loader that is not in C, too deep
        raise InputError("yaml", text[:40], f"well-formed YAML: {error}", place) from None


def _ill_formed(error: Any, text: str, place: str) -> InputError:  # noqa: ANN401  only some of yaml's errors have marks
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    line = text.splitlines()[mark.line : mark.line + 1] if mark else []
    where = f"{place}, line {mark.line + 1}, column {mark.column + 1}" if mark else place
    return InputError("yaml", line[0].strip() if line else "..", f"well-formed YAML: {problem or error}", where)


def _documents(loader: Any, place: str) -> Any:  # noqa: ANN401  yaml's loaders are made while the program runs
    while loader.check_node():
        node = loader.get_node()
        _measure(node, place, {}, 0)
        found = loader.construct_document(node)
        if found is not None:
            yield found


def _measure(node: Any, place: str, known: dict[int, int], depth: int) -> int:  # noqa: ANN401
    """Return how many values a node has with all anchors written out, looking at each node once."""
    if depth > MAX_DEPTH:
        raise _refusal(node, "..", f"at most {MAX_DEPTH} levels, and nothing that contains itself", place)
    if node.id == "scalar":
        return 1
    if id(node) not in known:
        if node.id == "mapping":
            _check_keys(node, place)
        parts = [value for _, value in node.value] if node.id == "mapping" else node.value
        known[id(node)] = 1 + sum(_measure(part, place, known, depth + 1) for part in parts)
    if known[id(node)] > MAX_VALUES:
        raise _refusal(node, known[id(node)], f"at most {MAX_VALUES} values with all anchors written out", place)
    return known[id(node)]


def _check_keys(node: Any, place: str) -> None:  # noqa: ANN401
    seen = set()
    for key, _ in node.value:
        if key.id != "scalar":
            raise _refusal(key, "..", "a key is a text or a number", place)
        if key.value in seen and not key.tag.endswith(":merge"):
            raise _refusal(key, key.value, "a key stands once in a map, this one stands twice", place)
        seen.add(key.value)


def _refusal(node: Any, value: object, rule: str, place: str) -> InputError:  # noqa: ANN401
    return InputError("yaml", value, rule, f"{place}, line {node.start_mark.line + 1}")


@functools.cache
def _loader() -> Any:  # noqa: ANN401
    import yaml  # noqa: PLC0415

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # in C where it is built
        """A safe loader with a table of its own of what a plain scalar means."""

        yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012  PyYAML's own table

    for tag, pattern, first in _SCALARS:
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(rf"(?:{pattern})\Z"), first)
    Loader.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(loader.construct_scalar(node)))
    Loader.add_constructor("tag:yaml.org,2002:float", _float)
    return Loader


def _float(loader: Any, node: Any) -> float | str:  # noqa: ANN401
    """Return a number; one that is too large for a float stays the text that it is, to be refused as that."""
    found: float = loader.construct_yaml_float(node)
    return str(node.value) if math.isinf(found) and "inf" not in node.value.lower() else found
