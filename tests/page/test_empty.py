"""Every page where nothing has happened yet, and where the controller goes away and comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clearway.compose.launch import ensure_running
from clearway.config.home import read_running
from tests.api.live import kill_controller
from tests.page.places import real
from tests.page.visitor import PAGES, visiting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

    from tests.page.places import Place

pytestmark = pytest.mark.slow
SAID = {
    "timeline": "Nothing ran in this time.",
    "jobs": "No job has been submitted yet.",
    "workflows": "No workflow has been entered.",
    "now": "Nobody waits.",
    "waste": "Nothing was held in this time.",
    "policy": "No other policy has been tried here.",
    "forecasts": "Nothing can be judged yet.",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with real(tmp_path_factory.mktemp("empty"), devices=0) as found:
        yield found


def test_every_page_says_calmly_that_nothing_is_there(browser: Browser, place: Place) -> None:
    with visiting(browser, place.url, place.home) as visitor:
        for where in PAGES:
            visitor.go(where)
            visitor.settled()
            if where in SAID:
                visitor.see(SAID[where])
        assert visitor.faults == []
        assert visitor.outside() == []


@pytest.mark.parametrize(
    "where", ["jobs/99", "jobs/nobody", "workflows/flow/99", "workflows/search/none", "no-such-page"]
)
def test_what_is_not_there_is_said(browser: Browser, place: Place, where: str) -> None:
    with visiting(browser, place.url, place.home) as visitor:
        visitor.go(where)
        visitor.settled()
        if where != "no-such-page":
            visitor.see("There is no such")


def test_a_controller_that_is_killed_and_comes_back(browser: Browser, place: Place) -> None:
    running = read_running(place.home)
    assert running is not None
    with visiting(browser, place.url, place.home) as visitor:
        visitor.go("now")
        visitor.see("live")
        kill_controller(place.home)
        visitor.see("The controller does not answer.")
        assert visitor.page.get_by_role("heading", name="Now").is_visible()
        ensure_running(place.home, {"listen": running.listen.removeprefix("http://"), "devices": 0})
        visitor.page.get_by_text("The controller does not answer.").wait_for(state="detached")
        visitor.see("live")
        assert visitor.outside() == []
