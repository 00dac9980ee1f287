"""The list of all routes in docs/api.md, from the description that a controller gives: `python -m tests.reference`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from clearway.api.app import app_of_routes
from clearway.api.description import describe
from clearway.api.roles import API, NEEDED

PAGE = Path(__file__).parents[1] / "docs" / "api.md"
BEGIN, END = "<!-- routes: written by python -m tests.reference -->\n", "<!-- end of routes -->\n"


def rows() -> str:
    """Return the list, a table for each noun."""
    told = describe(app_of_routes())
    nouns: dict[str, list[str]] = {}
    for path, methods in told["paths"].items():
        noun = path.removeprefix(API).strip("/").partition("/")[0]
        for method, operation in methods.items():
            nouns.setdefault(noun, []).append(_row(method.upper(), path, operation))
    head = "| route | role | query | what it does |\n| --- | --- | --- | --- |\n"
    return "".join(f"\n### `{noun}`\n\n{head}{''.join(sorted(lines))}" for noun, lines in sorted(nouns.items())) + "\n"


def _row(method: str, path: str, operation: dict[str, Any]) -> str:
    role = NEEDED.get(f"{method} {path}")
    words = [f"`{one['name']}`" for one in operation.get("parameters", ()) if one["in"] in ("query", "header")]
    said = " ".join(operation.get("description", "").split("\n\n")[0].split()).replace("|", "\\|")
    return f"| `{method} {path}` | {'nobody' if role is None else role.name} | {' '.join(words)} | {said} |\n"


def page(text: str) -> str:
    """Return the page with its list as it should be."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + rows() + END + after


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
