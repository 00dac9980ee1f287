"""The lists of routes in docs/api.md and of forms in docs/answers.md are those of the program."""

from __future__ import annotations

import pytest

from clearway.api import roles
from clearway.api.app import app_of_routes
from clearway.api.description import JSON, describe
from clearway.api.who import Role
from clearway.model.errors import ControllerError
from tests.reference import FORMS, PAGE, forms, page


def test_the_page_lists_the_routes_as_they_are() -> None:
    text = PAGE.read_text()
    assert page(text) == text, "run python -m tests.reference"
    assert forms() == FORMS.read_text(), "run python -m tests.reference"


def test_a_route_without_a_role_keeps_a_controller_from_starting(monkeypatch: pytest.MonkeyPatch) -> None:
    app_of_routes()
    monkeypatch.delitem(roles.NEEDED, "POST /api/v1/jobs")
    with pytest.raises(ControllerError, match="no role for .*POST /api/v1/jobs"):
        app_of_routes()
    monkeypatch.undo()
    monkeypatch.setitem(roles.NEEDED, "GET /api/v1/gone", Role.viewer)
    with pytest.raises(ControllerError, match="no route for .*gone"):
        app_of_routes()


def test_no_answer_in_json_is_a_bare_object_and_every_field_says_what_it_means() -> None:
    told = describe(app_of_routes())
    forms = told["components"]["schemas"]
    answers = [
        (f"{method} {path}", answer["content"][JSON]["schema"])
        for path, methods in told["paths"].items()
        for method, operation in methods.items()
        for status, answer in operation["responses"].items()
        if status.startswith("2") and JSON in answer.get("content", ())
    ]
    assert [key for key, schema in answers if "$ref" not in schema] == []
    found, ahead = set(), [schema for _, schema in answers]
    while ahead:
        match ahead.pop():
            case {"$ref": str(where)} if where not in found:
                found.add(where)
                ahead.append(forms[where.rpartition("/")[2]])
            case dict(part):
                ahead += part.values()
            case list(parts):
                ahead += parts
            case _:
                pass  # a text or a number
    assert len(found) > 100
    for name in (where.rpartition("/")[2] for where in sorted(found)):
        silent = [field for field, schema in forms[name]["properties"].items() if not schema.get("description")]
        assert (name, silent) == (name, [])
        assert forms[name]["description"], name
