"""A thousand nodes, ten thousand waiting, a hundred thousand past: the pages show them, and live."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks.busy.shapes import Size
from tests.page.places import invented
from tests.page.visitor import Visitor, visiting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

    from tests.page.places import Place

pytestmark = pytest.mark.slow
SIZE = Size()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with invented(tmp_path_factory.mktemp("busy") / "home", **SIZE._asdict()) as found:
        yield found


@pytest.fixture
def visitor(browser: Browser, place: Place) -> Iterator[Visitor]:
    with visiting(browser, place.url, place.home) as found:
        yield found
        assert found.faults == []
        assert found.outside() == []


def test_it_is_as_large_as_it_says(place: Place) -> None:
    told = place.client.status()
    assert (told["nodes"], told["gpus"]["total"]) == (SIZE.nodes, SIZE.nodes * 8)
    assert told["jobs"]["pending"] >= SIZE.waiting * 0.95
    assert place.client.job("id:1")["state"] in {"succeeded", "failed", "cancelled"}  # the first of the past


def test_the_map_of_all_devices_goes_from_node_to_node(visitor: Visitor) -> None:
    visitor.go("now")
    visitor.page.locator(".fleet-map").focus()
    visitor.page.keyboard.press("ArrowRight")
    visitor.page.get_by_role("heading", name="h100-0000").wait_for()
    visitor.page.keyboard.press("End")
    visitor.page.get_by_role("heading", name="-0999").wait_for()
    visitor.page.keyboard.press("Escape")
    visitor.page.get_by_role("heading", name="No node chosen").wait_for()


def test_a_job_that_ends_leaves_the_map_by_itself(visitor: Visitor, place: Place) -> None:
    visitor.go("now")
    visitor.page.locator(".fleet-map").focus()
    visitor.page.keyboard.press("ArrowRight")
    link = visitor.page.locator(".node-look a").first
    link.wait_for()
    name, job = link.inner_text(), (link.get_attribute("href") or "").rpartition("/")[2]
    place.client.cancel(f"id:{job}")
    visitor.page.locator(".node-look").get_by_text(name, exact=True).first.wait_for(state="detached")


def test_who_waits_is_counted_by_reason_and_chosen_by_it(visitor: Visitor) -> None:
    visitor.go("now")
    chosen = visitor.page.get_by_role("button", name="queue at its limit")
    chosen.click()
    visitor.page.get_by_role("table", name="Jobs that wait").get_by_text("may hold at most").first.wait_for()
    visitor.page.get_by_role("link", name="All that wait").click()
    visitor.heading("Jobs")
    visitor.press("Next")
    visitor.see("101–200")


def test_the_timeline_of_two_weeks_draws_every_bar(visitor: Visitor) -> None:
    visitor.go("timeline")
    chart = visitor.page.locator(".gantt")
    chart.wait_for()
    visitor.press("30 d")
    visitor.page.get_by_text("100,000 bars").wait_for()
    visitor.press("All")
    visitor.press("Queues")
    chart.focus()
    for key in ("+", "+", "-", "ArrowLeft", "ArrowRight", "PageDown", "Home", "n"):
        visitor.page.keyboard.press(key)
    chart.hover()
    visitor.page.mouse.wheel(0, -400)
    visitor.page.keyboard.down("Control")
    visitor.page.mouse.wheel(0, 400)
    visitor.page.keyboard.up("Control")
    assert visitor.page.evaluate("document.querySelector('.gantt').chart.spent.length") > 0


def test_queues_and_waste_add_up(visitor: Visitor, place: Place) -> None:
    visitor.go("queues")
    visitor.page.get_by_role("row").filter(has_text="research/vision").wait_for()
    visitor.go("waste")
    visitor.see("Who held what")
    held = visitor.page.get_by_role("table", name="GPU-hours by queue and tenant")
    held.get_by_role("row").filter(has_text="research/vision").wait_for()
    assert place.client.status()["controller"]["state"] == "up"


def test_who_holds_devices_that_do_nothing_is_listed_with_what_that_costs(visitor: Visitor, place: Place) -> None:
    visitor.go("waste")
    table = visitor.page.get_by_role("table", name="Jobs whose devices do nothing")
    table.get_by_role("row").nth(5).wait_for()
    most = place.client.waste()["idle"][0]
    row = table.get_by_role("row").filter(has_text=most["name"])
    row.locator("time").filter(has_text="in ").wait_for()  # until it gives way
    assert most["cost"] > 0
    row.get_by_role("link").click()
    visitor.heading(most["name"])


def test_budgets_have_a_row_for_each_bound(visitor: Visitor) -> None:
    visitor.go("waste")
    rows = visitor.page.get_by_role("table", name="Budgets").get_by_role("row")
    rows.filter(has_text="research-month").nth(1).wait_for()
    rows.filter(has_text="ads-day").filter(has_text="of 40,000 money").wait_for()
