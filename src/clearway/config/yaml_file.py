"""Reading YAML as files of ours are read: a key stands once, and what is wrong names its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway.model.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


def read_yaml(path: Path) -> object:
    """Return the content of a YAML file. Raises InputError for what is no YAML, or has a key twice."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("file", str(path), f"a readable text file ({error})") from error
    return parse_yaml(text, str(path))


def parse_yaml(text: str, place: str) -> object:
    """Return the content of a YAML text; `place` is named in errors."""
    import yaml  # noqa: PLC0415  a controller without a settings file does not pay for it

    try:
        return yaml.load(text, Loader=_strict_loader())  # noqa: S506  a safe loader, made stricter
    except yaml.YAMLError as error:
        raise InputError("yaml", _where(error), f"well-formed YAML: {_problem(error)}", place) from error
    except (RecursionError, ValueError) as error:  # deeply nested, or a number or date that is none
        raise InputError("yaml", text[:40], f"well-formed YAML: {error}", place) from error


def _where(error: Any) -> str:  # noqa: ANN401  a YAMLError may carry a mark or not
    mark = getattr(error, "problem_mark", None)
    return f"line {mark.line + 1}, column {mark.column + 1}" if mark else "the text"


def _problem(error: Any) -> str:  # noqa: ANN401
    return str(getattr(error, "problem", None) or error)


def _strict_loader() -> Any:  # noqa: ANN401  yaml's loaders are not typed by name
    import yaml  # noqa: PLC0415

    class Strict(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # the fast one where it is built
        """A safe loader that refuses a key given twice."""

    def mapping(loader: Any, node: Any) -> dict[Any, Any]:  # noqa: ANN401
        loader.flatten_mapping(node)
        pairs = loader.construct_pairs(node, deep=True)
        found: dict[Any, Any] = {}
        for (key, value), (key_node, _) in zip(pairs, node.value, strict=True):
            if not isinstance(key, str | int | float | bool | None) or key in found:
                problem = f"key {key!r} stands twice or is no text"
                raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
            found[key] = value
        return found

    Strict.add_constructor("tag:yaml.org,2002:map", mapping)
    return Strict
