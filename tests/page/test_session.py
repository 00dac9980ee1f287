"""A browser comes in by a link that is good once; its changes show the session's secret; the end of it is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clearway.compose.launch import ensure_running
from tests.api.live import kill_controller
from tests.page.places import real
from tests.page.visitor import Visitor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

    from tests.page.places import Place

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with real(tmp_path_factory.mktemp("session"), devices=2) as found:
        yield found


def test_a_link_opens_the_page_once_and_a_killed_controller_closes_it(browser: Browser, place: Place) -> None:
    (job,) = place.client.submit([{"name": "held-back", "run": "sleep 900", "gpus": 2}])
    link = place.client.link()["url"]
    context = browser.new_context()
    try:
        visitor = Visitor(context.new_page(), place.url)
        visitor.page.goto(link)
        visitor.see("held-back")
        visitor.go(f"jobs/{job['id']}")
        visitor.press("Hold")
        visitor.agree("Hold")
        assert place.client.job(f"id:{job['id']}")["held_by"]
        assert visitor.faults == []
        assert visitor.outside() == []
        kill_controller(place.home)
        visitor.see("The controller does not answer.")
        ensure_running(place.home, {"listen": place.url.removeprefix("http://"), "devices": 2})
        visitor.see("This page is not allowed in any more.")
    finally:
        context.close()
    other = browser.new_context()
    try:
        page = other.new_page()
        answer = page.goto(link)
        assert answer is not None
        assert answer.status == 401
    finally:
        other.close()
