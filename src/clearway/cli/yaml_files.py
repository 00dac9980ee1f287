"""YAML as Clearway reads it: YAML 1.2's core schema, and a key that stands twice in one map is an error.

So `no`, `1:30` and a date stay the text they look like.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import yaml

from clearway.model.errors import InputError

STDIN = "-"


class _Loader(yaml.SafeLoader):
    """A safe loader with its own table of what a plain scalar means."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - the base's own attribute


for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ("float", r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", list("-+.")),
    ("merge", r"<<", ["<"]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?:{_pattern})\Z"), _first)


def _decimal(loader: _Loader, node: yaml.ScalarNode) -> int:
    return int(loader.construct_scalar(node))


def _map(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    seen: set[str] = set()
    for key, _ in node.value:
        if key.value in seen and isinstance(key, yaml.ScalarNode):
            problem = f"the key {key.value!r} stands twice in one map"
            raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
        seen.add(str(key.value))
    loader.flatten_mapping(node)
    return loader.construct_mapping(node, deep=True)


_Loader.add_constructor("tag:yaml.org,2002:int", _decimal)
_Loader.add_constructor("tag:yaml.org,2002:map", _map)


def read(path: str) -> list[object]:
    """Return the documents of a file, or of stdin for `-`; raises InputError for what cannot be read."""
    return parse(_text(path), path)


def _text(path: str) -> str:
    try:
        return sys.stdin.read() if path == STDIN else Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError("FILE", path, f"a file that can be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise InputError("FILE", path, "a text in UTF-8") from None


def parse(text: str, place: str) -> list[object]:
    """Return the documents of a YAML text, empty ones left out; `place` is named in errors."""
    try:
        return [d for d in yaml.load_all(text, Loader=_Loader) if d is not None]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = text.splitlines()[mark.line : mark.line + 1] if mark else []
        where = f"{place}, line {mark.line + 1}" if mark else place
        raise InputError("YAML", line[0].strip() if line else "", str(error.problem), where) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError("YAML", place, str(error).splitlines()[0], place) from None
