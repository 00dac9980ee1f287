"""The list of all routes in docs/api.md and the forms of their answers in docs/answers.md, from the description that a
controller gives: `python -m tests.reference`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from clearway.api.app import app_of_routes
from clearway.api.description import JSON, describe
from clearway.api.roles import API, NEEDED

DOCS = Path(__file__).parents[1] / "docs"
PAGE, FORMS = DOCS / "api.md", DOCS / "answers.md"
BEGIN, END = "<!-- routes: written by python -m tests.reference -->\n", "<!-- end of routes -->\n"
HEAD = """# The forms of answers

What each field of an answer in JSON means, and its unit. `or null` stands where it may be null, `may be left out` where
it is not always there; *moments* are texts in ISO 8601, in UTC, and amounts of GPUs, CPUs and Gbit/s may be broken
numbers. In `/api/v1` fields may be added: let those pass that you do not know. The routes are in the
[HTTP API](api.md). This page is written by `python -m tests.reference`.
"""


def rows() -> str:
    """Return the list of routes, a table for each noun."""
    told = describe(app_of_routes())
    nouns: dict[str, list[str]] = {}
    for path, methods in told["paths"].items():
        noun = path.removeprefix(API).strip("/").partition("/")[0]
        for method, operation in methods.items():
            nouns.setdefault(noun, []).append(_row(method.upper(), path, operation))
    head = "| route | role | query | what it does | answer |\n| --- | --- | --- | --- | --- |\n"
    return "".join(f"\n### `{noun}`\n\n{head}{''.join(sorted(lines))}" for noun, lines in sorted(nouns.items())) + "\n"


def _row(method: str, path: str, operation: dict[str, Any]) -> str:
    role = NEEDED.get(f"{method} {path}")
    words = [f"`{one['name']}`" for one in operation.get("parameters", ()) if one["in"] in ("query", "header")]
    said = " ".join(operation.get("description", "").split("\n\n")[0].split()).replace("|", "\\|")
    form = _answer(operation)
    return f"| `{method} {path}` | {'nobody' if role is None else role.name} | {' '.join(words)} | {said} | {form} |\n"


def _answer(operation: dict[str, Any]) -> str:
    told = {
        kind: one["schema"]
        for status, answer in operation["responses"].items() if status.startswith("2")
        for kind, one in answer.get("content", {}).items()
    }  # fmt: skip
    return " ".join(_type(schema, "answers.md") if kind == JSON else f"`{kind}`" for kind, schema in told.items())


def forms() -> str:
    """Return the page of all forms of answers, by name."""
    named: dict[str, Any] = describe(app_of_routes())["components"]["schemas"]
    parts = [HEAD]
    for name, form in sorted(named.items()):
        needed = set(form.get("required", ()))
        told = {field: schema for field, schema in form["properties"].items() if "description" in schema}
        if not told:
            continue  # a body, whose words are told elsewhere
        lines = [_field(field, schema, must=field in needed) for field, schema in told.items()]
        parts.append(f"\n## {name}\n\n{form['description']}\n\n| field | what it is | meaning |\n| --- | --- | --- |\n")
        parts += lines
    return "".join(parts)


def _field(name: str, schema: dict[str, Any], *, must: bool) -> str:
    kind = _type(schema) + ("" if must else ", may be left out")
    return f"| `{name}` | {kind} | {schema['description']} |\n"


def _type(schema: dict[str, Any], page: str = "") -> str:
    match schema:
        case {"$ref": str(where)}:
            name = where.rpartition("/")[2]
            return f"[{name}]({page}#{name.lower()})"
        case {"anyOf": list(kinds)}:
            return " or ".join(_type(kind, page) for kind in kinds)
        case {"format": "date-time"}:
            return "moment"
        case {"type": "array", "prefixItems": list(kinds)}:
            return "list: " + ", ".join(_type(kind, page) for kind in kinds)
        case {"type": "array", "items": dict(of)}:
            return f"list of {_type(of, page)}"
        case {"type": "object", "additionalProperties": dict(of)} if of:
            return f"map to {_type(of, page)}"
        case {"type": str(kind)}:
            return {"string": "text", "integer": "whole number", "boolean": "true or false", "object": "map"}.get(
                kind, kind
            )
        case _:
            return "any JSON"


def page(text: str) -> str:
    """Return the page of routes with its list as it should be."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + rows() + END + after


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
    FORMS.write_text(forms())
