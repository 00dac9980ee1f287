"""axe-core finds no serious fault on any page, in both schemes of colours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.api.live import until
from tests.page.visitor import PAGES, visiting

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.page.places import Place

pytestmark = pytest.mark.slow
GRAVE = {"serious", "critical"}


def grave(page: Any) -> list[str]:
    from axe_playwright_python.sync_playwright import Axe  # noqa: PLC0415  only where there is a browser

    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {one['help']}: {[node['html'][:120] for node in one['nodes'][:3]]}"
        for one in found
        if one["impact"] in GRAVE
    ]


def tried(place: Place) -> int:
    """Have a what-if there, and return its number."""
    kept = place.client.whatifs()
    number = int(kept[0]["id"] if kept else place.client.ask_whatif({"policy": "sjf"})["id"])
    until(lambda: place.client.whatif(number)["state"] == "done", "it is worked out")
    return number


@pytest.mark.parametrize(
    ("size", "scheme"), [("phone", "light"), ("phone", "dark"), ("tablet", "dark"), ("desk", "light"), ("desk", "dark")]
)
def test_no_page_has_a_grave_fault(
    browser: Browser, place: Place, jobs: dict[str, int], size: str, scheme: str
) -> None:
    others = ("jobs/" + str(jobs["finetune-llama"]), "jobs/" + str(jobs["pretrain-7b"]), "workflows/flow/1")
    asked = tried(place)
    with visiting(browser, place.url, place.home, size=size, scheme=scheme) as visitor:
        found = {}
        for where in (*PAGES, *others, "workflows/search/learning-rate", f"policy/whatif/{asked}"):
            visitor.go(where)
            visitor.settled()
            found[where] = grave(visitor.page)
        visitor.go("queues")
        visitor.press("Edit queue products")
        found["a question"] = grave(visitor.page)
        visitor.press("Not now")
        visitor.go("policy")
        visitor.press("Ask what if")
        found["a what-if"] = grave(visitor.page)
        assert {where: faults for where, faults in found.items() if faults} == {}
