"""axe-core finds no serious fault on any page, in both schemes of colours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

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


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", ["phone", "desk"])
def test_no_page_has_a_grave_fault(
    browser: Browser, place: Place, jobs: dict[str, int], scheme: str, size: str
) -> None:
    others = ("jobs/" + str(jobs["finetune-llama"]), "jobs/" + str(jobs["pretrain-7b"]), "workflows/flow/1")
    with visiting(browser, place.url, place.home, size=size, scheme=scheme) as visitor:
        found = {}
        for where in (*PAGES, *others, "workflows/search/learning-rate"):
            visitor.go(where)
            visitor.settled()
            found[where] = grave(visitor.page)
        visitor.go("queues")
        visitor.press("Edit queue products")
        found["a question"] = grave(visitor.page)
        assert {where: faults for where, faults in found.items() if faults} == {}
