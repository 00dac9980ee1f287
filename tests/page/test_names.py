"""Names that are programs, pages or a thousand characters long are shown as what they are, and do nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.api.live import until
from tests.page.places import real
from tests.page.visitor import visiting

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

    from tests.page.places import Place

pytestmark = pytest.mark.slow
EVIL = (
    "<img src=x onerror=window.ill=1><script>window.ill=1</script>'\"`${window.ill=1}</td></table>javascript:alert(1)"
)
LONG = "n" * 990 + "the end"
NAMES = (EVIL, LONG, "../../x?y=1#z/%2F", "\u202egnp.exe \u0000\u001b[31m".replace("\u0000", ""), "名前 🚀")
PAGES = ("now", "jobs", "timeline", "queues", "workflows", "waste", "policy", "policy/whatif/1", "forecasts")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    budgets = [{"name": EVIL, "queue": EVIL[:200], "gpu_hours": 1}, {"name": LONG, "tenant": LONG, "cost": 1}]
    with real(tmp_path_factory.mktemp("names"), devices=4, budgets=budgets) as found:
        yield found


@pytest.fixture(scope="module")
def jobs(place: Place, tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    folder: Path = tmp_path_factory.mktemp("work")
    place.client.set_queue({"name": EVIL[:200]})
    place.client.run_flow({"name": EVIL, "steps": [{"name": "a", "run": "sleep 900", "workdir": str(folder)}]})
    words = {
        "run": f"printf '%s' '{EVIL.replace(chr(39), '')}'; sleep 900",
        "gpus": 0.5,
        "user": EVIL,
        "queue": EVIL[:200],
    }
    (over,) = place.client.submit([{"name": LONG, **words, "run": "true", "user": LONG}])
    place.client.wait(f"id:{over['id']}")
    asked = place.client.ask_whatif({"policy": "sjf", "queues": [f"{EVIL[:200]}.weight=2"]})
    until(lambda: place.client.whatif(asked["id"])["state"] != "working", "the what-if is worked out")
    entered = place.client.submit([{"name": name, **words} for name in NAMES])
    return {row["name"]: row["id"] for row in entered}


def test_no_page_runs_what_a_name_says(browser: Browser, place: Place, jobs: dict[str, int]) -> None:
    with visiting(browser, place.url, place.home) as visitor:
        for where in (*PAGES, *(f"jobs/{job}" for job in jobs.values()), "workflows/flow/1"):
            visitor.go(where)
            visitor.settled()
            assert visitor.page.evaluate("window.ill") is None, where
            assert visitor.page.locator("main img, main script, main iframe").count() == 0
            assert not visitor.wider_than_it_is(), where
        assert visitor.faults == []
        assert visitor.outside() == []


def test_they_are_shown_as_they_are(browser: Browser, place: Place, jobs: dict[str, int]) -> None:
    with visiting(browser, place.url, place.home, size="phone") as visitor:
        for name, job in jobs.items():
            visitor.go(f"jobs/{job}")
            heading = visitor.page.get_by_role("heading", level=1)
            heading.filter(has_text=name[-5:].strip()).wait_for()
            assert heading.inner_text().replace("\n", "") == name.strip()
            assert not visitor.wider_than_it_is(), name
        visitor.go(f"jobs/{jobs[EVIL]}")
        visitor.page.get_by_role("log").get_by_text("<script>").wait_for()
        visitor.press("Hold")
        visitor.agree("Hold")
        assert visitor.page.evaluate("window.ill") is None
        assert place.client.job(f"id:{jobs[EVIL]}")["held_by"]


def test_a_name_that_is_a_path_is_found_by_itself(browser: Browser, place: Place, jobs: dict[str, int]) -> None:
    with visiting(browser, place.url, place.home) as visitor:
        visitor.go("jobs")
        visitor.page.get_by_label("Find a job").fill("../../x?y=1#z/%2F")
        visitor.page.keyboard.press("Enter")
        visitor.page.get_by_role("link", name="../../x?y=1#z/%2F").click()
        visitor.heading("../../x?y=1#z/%2F")
        assert jobs
