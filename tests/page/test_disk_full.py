"""A controller that cannot write: the page says so, keeps showing, and says when that is over."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from clearway.model.errors import StoreError
from tests.api.live import until
from tests.disks import small_disk
from tests.page.places import real
from tests.page.visitor import visiting

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

    from clearway.sdk.client import Client

pytestmark = pytest.mark.slow
LITTLE = 96 * 1024  # of 2 MB: the controller can still write


def test_a_full_disk_is_said_and_its_end_too(browser: Browser) -> None:
    with small_disk() as disk, real(disk / "home", devices=2) as place:
        place.client.submit([{"name": "goes-on", "run": "sleep 900", "gpus": 1}])
        with visiting(browser, place.url, place.home) as visitor:
            visitor.go("now")
            visitor.see("goes-on")
            fill(disk / "most", leave=LITTLE)
            visitor.see("The disk of the controller is nearly full.")
            fill(disk / "ballast")
            until(lambda: refused(place.client), "a submit is refused")
            visitor.see("The controller cannot write its journal.")
            visitor.page.get_by_text("the disk is full").first.wait_for()
            assert visitor.page.get_by_text("goes-on").first.is_visible()
            visitor.go("queues")
            visitor.settled()
            visitor.go("now")
            visitor.see("goes-on")
            (disk / "ballast").unlink()
            (disk / "most").unlink()
            visitor.page.get_by_text("The controller cannot write its journal.").wait_for(state="detached")
            visitor.see("live")


def fill(ballast: Path, leave: int = 0) -> None:
    with ballast.open("wb", buffering=0) as file:
        for piece in (65536, 4096, 1):
            try:
                while leave == 0 or free(ballast) - piece >= leave:
                    file.write(bytes(piece))
            except OSError:
                continue


def free(place: Path) -> int:
    disk = os.statvfs(place)
    return disk.f_bavail * disk.f_frsize


def refused(client: Client) -> bool:
    try:
        client.submit([{"name": "one-more", "run": "true", "gpus": 2}])
    except StoreError:
        return True
    return False
