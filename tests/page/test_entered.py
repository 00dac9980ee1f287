"""A browser that comes in by a link, as people do: with a cookie and no token."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.page.places import real

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow
PATIENCE_MS = 60_000


def test_a_link_opens_the_page_and_its_changes_hold(browser: Browser, tmp_path: Path) -> None:
    with real(tmp_path, devices=1) as place:
        context = browser.new_context()
        page = context.new_page()
        link = place.client.link()["url"]
        page.goto(link)
        page.wait_for_url(f"{place.url}/", timeout=PATIENCE_MS)
        page.locator("main h1").first.wait_for(timeout=PATIENCE_MS)
        [cookie] = context.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        assert page.evaluate("document.cookie") == "", "no script can read it"
        change = "import('/static/js/net.js').then((net) => net.post('queues', { name: 'from-the-page' }))"
        assert page.evaluate(change)["name"] == "from-the-page"
        assert "from-the-page" in {row["name"] for row in place.client.queues()}
        other = browser.new_context().new_page()
        answer = other.goto(link)
        assert answer is not None
        assert answer.status == 401, "the link was good once"
        context.close()
        other.context.close()
