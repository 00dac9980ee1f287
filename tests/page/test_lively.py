"""Every page and action on a controller that runs real jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.api.live import until
from tests.page.visitor import PAGES, Visitor, visiting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

    from tests.page.places import Place

pytestmark = pytest.mark.slow


@pytest.fixture
def visitor(browser: Browser, place: Place, jobs: dict[str, int]) -> Iterator[Visitor]:
    assert jobs
    with visiting(browser, place.url, place.home) as found:
        yield found
        assert found.faults == []
        assert found.outside() == []


def state(place: Place, job: int) -> str:
    return str(place.client.job(f"id:{job}")["inner_state"])


@pytest.mark.parametrize("size", ["phone", "tablet", "desk"])
def test_no_page_is_wider_than_the_window(browser: Browser, place: Place, jobs: dict[str, int], size: str) -> None:
    others = (f"jobs/{jobs['finetune-llama']}", "workflows/flow/1", "workflows/search/learning-rate")
    with visiting(browser, place.url, place.home, size=size) as visitor:
        for where in (*PAGES, *others):
            visitor.go(where)
            visitor.settled()
            assert not visitor.wider_than_it_is(), where
        assert visitor.faults == []


def test_now_shows_who_holds_what_and_who_waits(visitor: Visitor) -> None:
    visitor.go("now")
    card = visitor.page.get_by_role("listitem").filter(has_text="gpu-1").first
    card.get_by_label("NVLink island").first.wait_for()
    assert card.get_by_label("NVLink island").count() == 2
    tiles = card.get_by_role("link", name="finetune-llama")
    tiles.first.wait_for()
    assert tiles.count() == 4
    visitor.see("pretrain-7b")
    visitor.press("Table")
    visitor.page.get_by_role("table", name="Nodes with their devices").wait_for()


def test_a_start_shows_by_itself(visitor: Visitor, place: Place) -> None:
    visitor.go("now")
    visitor.see("finetune-llama")
    (row,) = place.client.submit([{"name": "just-came", "run": "sleep 600", "cpus": 0.1, "gpus": 1, "priority": 99}])
    visitor.see("just-came")
    place.client.cancel(f"id:{row['id']}")
    visitor.page.get_by_text("just-came").first.wait_for(state="detached")


def test_a_job_shows_its_log_as_it_grows(visitor: Visitor, jobs: dict[str, int]) -> None:
    visitor.go(f"jobs/{jobs['finetune-llama']}")
    visitor.heading("finetune-llama")
    log = visitor.page.get_by_role("log")
    log.get_by_text("epoch").first.wait_for()
    seen = len(log.inner_text())
    until(lambda: len(log.inner_text()) > seen, "more is written")
    visitor.see("was next in order")


def test_a_job_that_waits_tells_what_would_let_it_start(visitor: Visitor, jobs: dict[str, int]) -> None:
    visitor.go(f"jobs/{jobs['pretrain-7b']}")
    visitor.see("needs 8 GPUs on one node")
    visitor.see("lacks")  # changes are tried for three seconds: a busy machine may find none in that time


def test_what_a_failed_job_wrote_to_stderr(visitor: Visitor, jobs: dict[str, int]) -> None:
    visitor.go(f"jobs/{jobs['unlucky']}")
    visitor.press("stderr")
    visitor.page.get_by_role("log").get_by_text("no data").wait_for()
    visitor.see("Why it ended so")


def test_hold_and_release(visitor: Visitor, place: Place, jobs: dict[str, int]) -> None:
    job = jobs["sweep-0"]
    visitor.go(f"jobs/{job}")
    visitor.press("Hold")
    visitor.agree("Hold")
    visitor.see(f"Job {job} is held back.")
    assert place.client.job(f"id:{job}")["held_by"]
    visitor.press("Release")
    visitor.agree("Release")
    visitor.page.get_by_role("button", name="Hold", exact=True).wait_for()
    assert not place.client.job(f"id:{job}")["held_by"]


def test_suspend_resume_requeue_and_cancel(visitor: Visitor, place: Place) -> None:
    words = {"name": "moved", "run": "sleep 900", "gpus": 0, "queue": "research", "priority": 50}
    job = place.client.submit([words])[0]["id"]
    visitor.go(f"jobs/{job}")
    for verb, then in (("Suspend", "suspended"), ("Resume", "running")):
        visitor.press(verb)
        visitor.agree(verb)
        until(lambda: state(place, job) == then, then)  # noqa: B023  asked at once
    visitor.press("Requeue")
    visitor.agree("Requeue")
    until(lambda: place.client.job(f"id:{job}")["attempt"] == 2, "a second attempt")
    visitor.press("Cancel")
    visitor.page.get_by_role("dialog").get_by_role("button", name="Not now").click()
    assert place.client.job(f"id:{job}")["ended"] is None
    visitor.press("Cancel")
    visitor.agree("Cancel")
    until(lambda: state(place, job) == "cancelled", "cancelled")
    visitor.page.get_by_role("button", name="Cancel", exact=True).wait_for(state="detached")


def test_a_queue_is_changed_after_its_effect_was_shown(visitor: Visitor, place: Place) -> None:
    visitor.go("queues")
    visitor.press("Edit queue products")
    asked = visitor.page.get_by_role("dialog")
    asked.get_by_label("Guarantee, GPUs").fill("3")
    visitor.press("Show the effect")
    asked.get_by_text("Fair shares").wait_for()
    assert queue(place, "products")["guarantee"] == {"gpus": 2}
    visitor.agree("Apply")
    assert queue(place, "products")["guarantee"] == {"gpus": 3}
    assert queue(place, "products")["limit"] == {"gpus": 6}


def test_what_a_queue_may_not_be_is_said_in_the_question(visitor: Visitor, place: Place) -> None:
    visitor.go("queues")
    visitor.press("Edit queue products")
    asked = visitor.page.get_by_role("dialog")
    asked.get_by_label("Guarantee, GPUs").fill("0.0001")
    asked.get_by_role("button", name="Apply").click()
    asked.get_by_role("alert").get_by_text("0.0001").wait_for()
    asked.get_by_role("button", name="Not now").click()
    assert queue(place, "products")["guarantee"] != {"gpus": 0.0001}
    visitor.faults.clear()  # the browser notes every refused request


def queue(place: Place, name: str) -> dict[str, object]:
    return next(row for row in place.client.queues() if row["name"] == name)


def test_a_workflow_as_a_drawing_and_step_by_step(visitor: Visitor) -> None:
    visitor.go("workflows")
    visitor.page.get_by_role("link", name="nightly").click()
    visitor.heading("nightly")
    step = visitor.page.get_by_role("button", name="train-small: running")
    step.wait_for()
    visitor.page.get_by_role("button", name="audit: skipped").press("Enter")
    visitor.see("its condition is false")


def test_a_workflow_says_what_it_waits_for_and_a_person_answers(visitor: Visitor, place: Place) -> None:
    inner = {"steps": [{"name": "sure", "pause": "Sure?"}]}
    steps = [{"name": "behind", "after": ["ask"], "run": "true", "workdir": "/"}, {"name": "part", "workflow": inner}]
    ask = {"name": "ask", "pause": "Deploy it?"}
    flow = place.client.run_flow({"name": "deploys", "steps": [ask, *steps]})["id"]
    visitor.go("workflows")
    visitor.see("waits for a person: ask, part.sure")
    visitor.go(f"workflows/flow/{flow}")
    visitor.see("waits for ask")
    visitor.see("waits for a person: sure")
    visitor.press("Answer ...")
    visitor.page.get_by_label("The answer: JSON, or a text").fill("yes")
    visitor.press("Answer")
    visitor.agree("Answer")
    until(lambda: place.client.flow(f"id:{flow}")["steps"][0]["result"] == "yes", "it has the answer")
    place.client.cancel_flow(f"id:{flow}")


def test_a_search_with_its_trials(visitor: Visitor) -> None:
    visitor.go("workflows/search/learning-rate")
    visitor.page.get_by_role("img", name="Values of 24 trials").wait_for()
    visitor.page.get_by_role("row").nth(24).wait_for()
    assert visitor.page.get_by_role("row").count() == 25
    assert visitor.page.locator(".plot-best").get_attribute("d") != "M0 0"
    for name in ("rate", "depth"):
        visitor.page.get_by_role("img", name=f"Values along {name}").wait_for()
    values = [float(text.split()[0]) for text in visitor.page.locator("tbody td:nth-child(3)").all_inner_texts()]
    assert values == sorted(values)
    visitor.press("Latest first")
    visitor.page.get_by_role("row").nth(1).get_by_text("learning-rate.24").wait_for()


def test_a_schedule_is_paused(visitor: Visitor, place: Place) -> None:
    visitor.go("workflows")
    visitor.press("Pause")
    visitor.agree("Pause")
    until(lambda: place.client.schedules()[0]["paused"], "paused")


def test_a_job_is_submitted_after_advice(visitor: Visitor, place: Place) -> None:
    visitor.go("submit")
    visitor.page.get_by_label("Command").fill("true")
    visitor.page.get_by_label("Name", exact=True).fill("from-the-page")
    visitor.page.get_by_label("Folder").fill("/")
    visitor.page.get_by_label("Memory").fill("lots")
    visitor.press("Submit")
    visitor.page.get_by_role("alert").get_by_text("memory").wait_for()
    visitor.page.get_by_label("Memory").fill("")
    visitor.press("How would it stand?")
    visitor.see("start")
    visitor.press("Submit")
    visitor.heading("from-the-page")
    assert place.client.job("from-the-page")["priority"] == 0
    visitor.faults.clear()  # the browser notes every refused request


def test_what_failed_is_told_with_what_it_wrote(visitor: Visitor, jobs: dict[str, int]) -> None:
    visitor.go("now")
    look = visitor.page.get_by_role("region", name="Needs a look")
    look.get_by_text("failed in the last hour").wait_for()
    assert look.get_by_role("link").count() > 0
    visitor.go(f"jobs/{jobs['unlucky']}")
    visitor.heading("unlucky")
    visitor.page.get_by_role("log").get_by_text("no data").wait_for()  # on stderr; nothing is on stdout


def test_jobs_that_share_a_device_lie_side_by_side(visitor: Visitor) -> None:
    visitor.go("timeline")
    visitor.page.locator(".gantt").wait_for()
    rows = """() => {
      const { bars, rows } = document.querySelector(".gantt").chart;
      return Object.fromEntries([...rows.bar].map((bar, at) => [bars.at(bar).name, rows.row[at]]));
    }"""
    found = visitor.page.evaluate(rows)
    assert found["embed-docs"] != found["serve-reranker"]


def test_the_timeline_in_words(visitor: Visitor, jobs: dict[str, int]) -> None:
    visitor.go("timeline")
    visitor.page.get_by_role("application").wait_for()
    visitor.press("Table")
    visitor.page.get_by_role("row").filter(has_text="finetune-llama").first.wait_for()
    visitor.press("Queues")
    visitor.page.get_by_role("link", name="finetune-llama").first.click()
    visitor.heading("finetune-llama")
    assert visitor.page.url.endswith(f"#/jobs/{jobs['finetune-llama']}")


def test_a_job_is_found_by_its_name_and_number(visitor: Visitor, jobs: dict[str, int]) -> None:
    visitor.go("now")
    visitor.page.keyboard.press("/")
    visitor.page.keyboard.type("distill")
    visitor.page.keyboard.press("Enter")
    visitor.page.get_by_role("link", name="distill", exact=True).wait_for()
    visitor.page.get_by_label("Find a job").fill(str(jobs["distill"]))
    visitor.page.keyboard.press("Enter")
    visitor.heading("distill")


def test_colours_are_chosen_and_kept(visitor: Visitor) -> None:
    visitor.go("policy")
    visitor.press("Colours: system")
    visitor.press("Colours: light")
    visitor.page.reload()
    visitor.page.get_by_role("button", name="Colours: dark").wait_for()
    assert visitor.page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"


def test_budgets_show_how_far_they_are_used(visitor: Visitor, place: Place) -> None:
    visitor.go("waste")
    rows = visitor.page.get_by_role("table", name="Budgets").get_by_role("row")
    rows.filter(has_text="vision-month").filter(has_text="of 500 GPU-hours").wait_for()
    rows.filter(has_text="vision-month").filter(has_text="of 900 money").wait_for()
    rows.filter(has_text="students-month").get_by_text("used up").wait_for()
    assert {one["name"]: one["used_up"] for one in place.client.waste()["budgets"]} == {
        "vision-month": False,
        "students-month": True,
    }


def test_a_what_if_is_asked_shown_whole_and_removed(visitor: Visitor, place: Place) -> None:
    for kept in place.client.whatifs():  # of other tests
        place.client.remove_whatif(kept["id"])
    visitor.go("policy")
    visitor.see("No other policy has been tried here.")
    visitor.press("Ask what if")
    asked = visitor.page.get_by_role("dialog")
    asked.get_by_label("Policy").fill("nonsense")
    asked.get_by_role("button", name="Work it out").click()
    asked.get_by_role("alert").get_by_text("nonsense").wait_for()
    visitor.faults.clear()  # the browser notes every refused request
    asked.get_by_label("Policy").fill("sjf")
    asked.get_by_label("Machines").fill("+8xA100")
    visitor.agree("Work it out")
    link = visitor.page.get_by_role("table", name="What-ifs").get_by_role("link", name="instead of fair")
    link.wait_for()  # the words of a change are known when it is worked out
    link.click()
    visitor.see("What would change")
    visitor.see("How far to believe it")
    assert not visitor.wider_than_it_is()
    with visitor.page.expect_download() as report:
        visitor.page.get_by_role("link", name="Download the report").click()
    assert "Who held what" in report.value.path().read_text()
    visitor.press("Remove")
    visitor.agree("Remove")
    visitor.see("No other policy has been tried here.")
    assert place.client.whatifs() == []


def test_a_policy_is_tried_promoted_and_rolled_back(visitor: Visitor, place: Place) -> None:
    before = place.client.policy()["called"]
    visitor.go("policy")
    visitor.press("Try a policy")
    asked = visitor.page.get_by_role("dialog")
    asked.get_by_label("Policy").fill("nonsense")
    asked.get_by_role("button", name="Try it").click()
    asked.get_by_role("alert").get_by_text("nonsense").wait_for()
    visitor.faults.clear()  # the browser notes every refused request
    asked.get_by_label("Policy").fill("sjf")
    visitor.agree("Try it")
    visitor.see(f"sjf beside {before}")
    assert not visitor.wider_than_it_is()
    visitor.press("Promote")
    visitor.agree("Promote")
    visitor.see(f"{before} is put in force again where a tenant waits 20 %")
    assert place.client.policy()["called"] == "sjf"
    visitor.press("Roll back")
    visitor.agree("Roll back")
    visitor.see("No other policy decides beside it.")
    assert place.client.policy()["called"] == before
    assert visitor.page.get_by_role("table", name="Changes of policies").get_by_text("put in force again").count() >= 1
