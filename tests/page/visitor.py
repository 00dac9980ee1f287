"""A person with a browser: goes to pages, looks at them, and notes every fault and every request on the way."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, Request

CHROMIUM = "/usr/bin/chromium"
ARGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
PATIENCE_MS = 120_000
SIZES = {"phone": (390, 844), "tablet": (820, 1180), "desk": (1440, 900)}
PAGES = ("now", "timeline", "jobs", "queues", "workflows", "policy", "forecasts", "waste", "submit")


class Visitor:
    """One window of a browser at one controller."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.url = page, url
        self.faults: list[str] = []
        self.asked: list[str] = []
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("request", self._noted)

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.faults.append(message.text)

    def _noted(self, request: Request) -> None:
        self.asked.append(request.url)

    def go(self, where: str) -> None:
        """Go to a page, as its link would."""
        self.page.goto(f"{self.url}/#/{where}")
        self.page.locator(f'main[data-shown="{where}"]').wait_for()

    def see(self, text: str) -> Locator:
        """Wait until a text is there to be seen."""
        found = self.page.get_by_text(text).first
        found.wait_for()
        return found

    def heading(self, text: str) -> None:
        """Wait for the heading of a page."""
        self.page.get_by_role("heading", name=text, level=1).wait_for()

    def settled(self) -> None:
        """Wait until nothing on the page stands for what is yet to come."""
        self.page.locator("main h1").first.wait_for()
        while self.page.locator("main .bones").count():
            self.page.locator("main .bones").first.wait_for(state="detached")

    def press(self, name: str) -> None:
        """Press the button of this name."""
        self.page.get_by_role("button", name=name, exact=True).click()

    def agree(self, name: str) -> None:
        """Press a button in the question that is asked, and wait until it is gone."""
        asked = self.page.get_by_role("dialog")
        asked.get_by_role("button", name=name, exact=True).click()
        asked.wait_for(state="detached")

    def wider_than_it_is(self) -> bool:
        """Whether the page has to be moved sideways to be seen whole."""
        wide: bool = self.page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
        return wide

    def outside(self) -> list[str]:
        """Return what was asked of anybody but this machine."""
        return [url for url in self.asked if urlsplit(url).hostname != "127.0.0.1"]


@contextlib.contextmanager
def visiting(browser: Browser, url: str, home: Path, *, size: str = "desk", scheme: str = "light") -> Iterator[Visitor]:
    """Open a window on a controller, with the token of its home."""
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if scheme == "dark" else "light",
        reduced_motion="reduce",
        extra_http_headers={"Authorization": f"Bearer {(home / 'token').read_text().strip()}"},
    )
    try:
        yield Visitor(context.new_page(), url)
    finally:
        context.close()
