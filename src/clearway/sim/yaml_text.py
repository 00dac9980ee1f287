"""YAML as Clearway takes it: data only, each key once, and no small text that unfolds into a large one."""

from __future__ import annotations

import yaml

from clearway.model.errors import InputError

MAX_CHARS = 64 * 2**20  # a scenario of a million jobs; more is a workload file
MAX_VALUES = 20 * 10**6  # what anchors may unfold into: about as much as MAX_CHARS can spell out
MAX_DEPTH = 100  # deeper than any word nests, and far from the interpreter's own limit

_TIMESTAMP = "tag:yaml.org,2002:timestamp"
_MERGE = "tag:yaml.org,2002:merge"
_Base: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the same in C where it is there


class _Loader(_Base):  # type: ignore[misc, valid-type]  # chosen while the program runs
    """Reads plain data; a time stays text, so that one reader judges times."""

    yaml_implicit_resolvers = {  # noqa: RUF012  # PyYAML's own table, replaced as a whole
        first: [(tag, pattern) for tag, pattern in found if tag != _TIMESTAMP]
        for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def load(text: str, place: str) -> object:
    """Return the data of one YAML document. Errors: InputError naming `place` and the line."""
    if len(text) > MAX_CHARS:
        raise InputError(place, f"{len(text)} characters", f"at most {MAX_CHARS} characters")
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            return None
        _measure(node, place, {}, 0)
        return loader.construct_document(node)
    except yaml.YAMLError as error:
        raise InputError(place, _problem(error), "a YAML document", _where(error)) from None
    except ValueError as error:  # a number or text that YAML's own rules cannot make a value of
        raise InputError(place, str(error), "a YAML document") from None


def _problem(error: yaml.YAMLError) -> str:
    return str(getattr(error, "problem", None) or error)


def _where(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    return f"line {mark.line + 1}" if mark else ""


def _line(node: yaml.Node) -> str:
    return f"line {node.start_mark.line + 1}"


def _measure(node: yaml.Node, place: str, known: dict[int, int], depth: int) -> int:
    """Return how many values `node` has with all anchors written out, looking at each node once.

    Refuses what unfolds too far, nests too deep or contains itself, and a key that stands twice.
    """
    if depth > MAX_DEPTH:
        raise InputError(place, "..", f"at most {MAX_DEPTH} levels, and nothing that contains itself", _line(node))
    if isinstance(node, yaml.ScalarNode):
        return 1
    if id(node) not in known:
        if isinstance(node, yaml.MappingNode):
            _check_keys(node)
            parts = [value for _, value in node.value]
        else:
            parts = node.value
        known[id(node)] = 1 + sum(_measure(part, place, known, depth + 1) for part in parts)
    if known[id(node)] > MAX_VALUES:
        raise InputError(place, known[id(node)], f"at most {MAX_VALUES} values with all anchors written out")
    return known[id(node)]


def _check_keys(node: yaml.MappingNode) -> None:
    """Refuse a key that is no plain value, and one that stands twice: one of its values would be lost."""
    seen = set()
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise InputError("key", "..", "a text or a number", _line(key))
        if key.tag != _MERGE and (key.tag, key.value) in seen:
            raise InputError(key.value, "a second time", "a key stands once", _line(key))
        seen.add((key.tag, key.value))
