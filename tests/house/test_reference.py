"""The list of routes in docs/api.md is that of the program."""

from __future__ import annotations

import pytest

from clearway.api import roles
from clearway.api.app import app_of_routes
from clearway.api.who import Role
from clearway.model.errors import ControllerError
from tests.reference import PAGE, page


def test_the_page_lists_the_routes_as_they_are() -> None:
    text = PAGE.read_text()
    assert page(text) == text, "run python -m tests.reference"


def test_a_route_without_a_role_keeps_a_controller_from_starting(monkeypatch: pytest.MonkeyPatch) -> None:
    app_of_routes()
    monkeypatch.delitem(roles.NEEDED, "POST /api/v1/jobs")
    with pytest.raises(ControllerError, match="no role for .*POST /api/v1/jobs"):
        app_of_routes()
    monkeypatch.undo()
    monkeypatch.setitem(roles.NEEDED, "GET /api/v1/gone", Role.viewer)
    with pytest.raises(ControllerError, match="no route for .*gone"):
        app_of_routes()
