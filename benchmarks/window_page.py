"""How fast the dashboard is on 1,000 nodes, 8,000 devices, 10,000 waiting and 100,000 past jobs, in a real browser.

The controller is a process of its own with invented nodes (`benchmarks.busy`); the browser is Debian's Chromium without
a graphics card, everything on this machine.
"""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearway.config.home import read_running
from clearway.sdk.client import Client

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

TITLE = "the dashboard of 1,000 nodes in a browser: first paint, a live update, frames with 100,000 bars"
KEYS = {
    "first_paint_ms": "ms from the request to the first content, median of cold starts",
    "fleet_shown_ms": "ms until the map of 8,000 devices is there",
    "live_update_ms": "ms from the order to end a running job until the page shows the device without it, median",
    "live_update_ms_most": "ms, the slowest of them",
    "timeline_bars": "bars in the timeline of two weeks",
    "timeline_shown_ms": "ms until they are there, the journal being read for them for the first time",
    "frame_paint_ms": "ms to draw a frame with all of them in view while it is zoomed, median",
    "frame_paint_ms_p95": "ms, 95th percentile",
    "frame_paint_rows_ms": "ms to draw a frame of rows with names, median",
}
CHROMIUM = "/usr/bin/chromium"
ARGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking")
COLD_STARTS, ENDS, FRAMES = 7, 11, 90
STARTS_S = 600.0
WIDE, TALL = 1440, 900
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
WATCH = """name => { window.gone = 0; const look = () => {
  if (!document.querySelector('.node-look').textContent.includes(name)) window.gone = Date.now();
  else requestAnimationFrame(look); }; look(); }"""
ZOOM = """async many => { const chart = document.querySelector('.gantt').chart; chart.spent.length = 0;
  for (let n = 0; n < many; n += 1) { chart.zoom(n % 2 ? 1.04 : 1 / 1.04);
    await new Promise(requestAnimationFrame); await new Promise(requestAnimationFrame); }
  return chart.spent; }"""


def run(_: Namespace) -> dict[str, Any]:
    """Measure; needs `/usr/bin/chromium` and playwright."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  only for this benchmark

    with tempfile.TemporaryDirectory() as folder, _served(Path(folder) / "home") as home, sync_playwright() as player:
        browser = player.chromium.launch(executable_path=CHROMIUM, args=list(ARGS))
        found = _first(browser, home) | _live(browser, home) | _frames(browser, home)
        browser.close()
    return {key: found[key] for key in KEYS}


@contextlib.contextmanager
def _served(home: Path) -> Iterator[Path]:
    log = home.parent / "log"
    with log.open("wb") as sink:
        child = subprocess.Popen([sys.executable, "-m", "benchmarks.busy", str(home)], stdout=sink, stderr=sink)
    try:
        end = time.monotonic() + STARTS_S
        while read_running(home) is None:
            if child.poll() is not None or time.monotonic() > end:
                raise RuntimeError(log.read_text())
            time.sleep(0.1)
        yield home
    finally:
        child.terminate()
        child.wait()


@contextlib.contextmanager
def _window(browser: Browser, home: Path) -> Iterator[tuple[Page, str]]:
    running = read_running(home)
    if running is None:
        raise RuntimeError("the controller is gone")
    headers = {"Authorization": f"Bearer {(home / 'token').read_text().strip()}"}
    context = browser.new_context(viewport={"width": WIDE, "height": TALL}, extra_http_headers=headers)
    try:
        yield context.new_page(), running.listen
    finally:
        context.close()


def _first(browser: Browser, home: Path) -> dict[str, float]:
    paints, shown = [], []
    for _ in range(COLD_STARTS):
        with _window(browser, home) as (page, url):
            begun = time.perf_counter()
            page.goto(f"{url}/#/now")
            page.locator(".fleet-map").wait_for()
            shown.append((time.perf_counter() - begun) * 1000)
            paints.append(page.evaluate(PAINT))
    return {"first_paint_ms": statistics.median(paints), "fleet_shown_ms": statistics.median(shown)}


def _live(browser: Browser, home: Path) -> dict[str, float]:
    client, spent = Client.connect(home), []
    with _window(browser, home) as (page, url):
        page.goto(f"{url}/#/now")
        page.locator(".fleet-map").focus()
        for _ in range(ENDS):
            page.keyboard.press("ArrowRight")
            link = page.locator(".node-look a").first
            link.wait_for()
            name, where = link.inner_text(), link.get_attribute("href") or ""
            page.evaluate(WATCH, name)
            begun_ms = time.time() * 1000
            client.cancel(f"id:{where.rpartition('/')[2]}")
            while not (gone_ms := page.evaluate("window.gone")):
                time.sleep(0.02)
            spent.append(gone_ms - begun_ms)
    return {"live_update_ms": statistics.median(spent), "live_update_ms_most": max(spent)}


def _frames(browser: Browser, home: Path) -> dict[str, float]:
    with _window(browser, home) as (page, url):
        page.goto(f"{url}/#/timeline")
        page.locator(".gantt").wait_for()
        begun = time.perf_counter()
        page.get_by_role("button", name="7 d", exact=True).click()
        page.evaluate("document.querySelector('.gantt').chart.look(Date.now() - 15 * 86400e3, Date.now() + 86400e3)")
        count = "document.querySelector('.gantt').chart.bars.count"
        while page.evaluate(count) < 90_000:  # noqa: PLR2004  nearly all of them
            time.sleep(0.05)
        shown_ms = (time.perf_counter() - begun) * 1000
        rows = page.evaluate(ZOOM, FRAMES)
        page.get_by_role("button", name="All", exact=True).click()
        page.wait_for_timeout(300)
        every = sorted(page.evaluate(ZOOM, FRAMES))
        bars = page.evaluate(count)
    return {
        "timeline_bars": bars,
        "timeline_shown_ms": shown_ms,
        "frame_paint_ms": statistics.median(every),
        "frame_paint_ms_p95": every[int(len(every) * 0.95)],
        "frame_paint_rows_ms": statistics.median(rows),
    }
