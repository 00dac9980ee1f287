"""Pictures of the dashboard for the documentation: `python -m benchmarks.busy.shots docs/images`.

A small invented place and a real one with real jobs are made in a temporary folder, and looked at with Chromium.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.busy.lively import SETTINGS, enter
from benchmarks.window_page import ARGS, CHROMIUM
from clearway.compose.launch import ensure_running, stop
from clearway.config.home import read_running
from clearway.sdk.client import Client

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

WIDE, TALL = 1280, 800
SMALL = ("--nodes", "16", "--waiting", "60", "--past", "6000")
STARTS_S, SETTLES_MS = 60.0, 2500


def main() -> int:
    """Make all pictures."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  only here

    parser = argparse.ArgumentParser(prog="python -m benchmarks.busy.shots", description=__doc__)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, sync_playwright() as player:
        browser = player.chromium.launch(executable_path=CHROMIUM, args=list(ARGS))
        with _invented(Path(place) / "invented") as home:
            _shoot(browser, home, folder, {"now": "now", "timeline": "timeline", "queues": "queues"}, "light")
        with _real(Path(place) / "real") as (home, jobs):
            pages = {"job": f"jobs/{jobs['pretrain-7b']}", "workflow": "workflows/flow/1"}
            _shoot(browser, home, folder, pages, "dark")
        browser.close()
    return 0


@contextmanager
def _invented(home: Path) -> Iterator[Path]:
    command = [sys.executable, "-m", "benchmarks.busy", str(home), *SMALL]
    child = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + STARTS_S
        while read_running(home) is None:
            if child.poll() is not None or time.monotonic() > end:
                raise RuntimeError("the invented place did not come up")
            time.sleep(0.1)
        yield home
    finally:
        child.terminate()
        child.wait()


@contextmanager
def _real(home: Path) -> Iterator[tuple[Path, dict[str, int]]]:
    home.mkdir(mode=0o700)
    (home / "clearway.yaml").write_text(json.dumps(SETTINGS))
    ensure_running(home, {"listen": "127.0.0.1:0"})
    client = Client.connect(home)
    try:
        yield home, enter(client)
    finally:
        for row in client.jobs():
            client.cancel(f"id:{row['id']}")
        for row in client.jobs():
            client.wait(f"id:{row['id']}", STARTS_S)
        stop(home)


def _shoot(browser: Browser, home: Path, folder: Path, pages: dict[str, str], scheme: str) -> None:
    running = read_running(home)
    if running is None:
        raise RuntimeError(f"nobody runs in {home}")
    context = browser.new_context(
        viewport={"width": WIDE, "height": TALL},
        color_scheme="dark" if scheme == "dark" else "light",
        reduced_motion="reduce",
        extra_http_headers={"Authorization": f"Bearer {(home / 'token').read_text().strip()}"},
    )
    page = context.new_page()
    for name, where in pages.items():
        page.goto(f"{running.listen}/#/{where}")
        page.wait_for_timeout(SETTLES_MS)
        if page.locator("main .bones").count():  # an outlook takes some seconds
            page.locator("main .bones").first.wait_for(state="detached")
        if name == "timeline":
            page.get_by_role("button", name="24 h", exact=True).click()
            page.wait_for_timeout(SETTLES_MS)
        page.screenshot(path=folder / f"{name}.png")
    context.close()


if __name__ == "__main__":
    sys.exit(main())
