"""The rule same: a run that looks at names, or at the order of what is equal, is found out."""

from __future__ import annotations

from typing import Any

import pytest

from clearway.testing.judge import same
from tests.testing.stories import job, ran, task, timeline

Raw = dict[str, Any]
SCENARIO: Raw = {
    "policy": {"order": ["fifo"]},
    "fleet": {"nodes": [{"name": "n", "count": 2, "gpus": 1}, {"name": "big", "gpus": 4}]},
    "jobs": [
        {"name": "j", "submit": 0, "count": 2, "gpus": 1, "runtime": 10},
        {"name": "late", "submit": 5, "gpus": 4, "runtime": 10, "after": ["j-1"]},
        {"name": "zz", "submit": 7, "gpus": 1, "runtime": 10, "pin": "n-1"},
    ],
    "events": [{"at": 3, "cancel": "j-2"}, {"at": 4, "drain": "n-0"}],
    "expect": {"starts": {"j-*": [0, 0], "late": [10, 10]}, "placed": {"late": ["big"]}},
}


def _run(s: Raw, *, by_name: bool = False, by_place: bool = False) -> Raw:
    """A toy scheduler for this scenario: first come, first served, on the first node of its kind."""
    small, big = (
        next(n for n in s["fleet"]["nodes"] if "count" in n),
        next(n for n in s["fleet"]["nodes"] if "count" not in n),
    )
    jobs = sorted(s["jobs"], key=lambda j: j["submit"])
    if by_name:
        jobs = sorted(s["jobs"], key=lambda j: j["name"])
    if by_place:
        jobs = s["jobs"]
    first = {"j": jobs[0]["submit"] == 0 or by_name}
    many, late, pinned = (next(j for j in s["jobs"] if j["submit"] == t) for t in (0, 5, 7))
    delay = 0 if jobs[0] is many or first["j"] is None else 1
    cancelled = next(e["cancel"] for e in s["events"] if "cancel" in e)
    names = [f"{many['name']}-{i}" for i in (1, 2)]
    assert cancelled in names
    assert late["after"] == [names[0]]
    assert pinned["pin"] == f"{small['name']}-1"
    why = f"waits for {names[0]} to succeed"
    return timeline({
        names[0]: job(0, ran(task(delay, 10 + delay, f"{small['name']}-0"))),
        names[1]: job(0, ran(task(delay, 3 + delay, f"{small['name']}-1"), end="cancelled"), state="cancelled"),
        late["name"]: job(5, ran(task(10 + delay, 20 + delay, big["name"], (0, 1, 2, 3))), why=why),
        pinned["name"]: job(7, ran(task(7, 17, f"{small['name']}-1")), why=why),
    })  # fmt: skip


def test_a_run_that_ignores_names_and_places_is_the_same() -> None:
    assert [same(SCENARIO, _run, seed) for seed in range(10)] == [[]] * 10


@pytest.mark.parametrize(("how", "variants"), [("by_name", "renamed"), ("by_place", "reordered")])
def test_a_run_that_looks_at_them_is_found_out(how: str, variants: str) -> None:
    found = [line for seed in range(10) for line in same(SCENARIO, lambda s: _run(s, **{how: True}), seed)]
    assert found
    assert all(line.startswith("same: ") and variants in line for line in found)


def test_texts_get_their_old_names_back() -> None:
    scenario = {**SCENARIO, "expect": {"reason": {"late": ["j-1"]}, "placed": {"zz": ["n-1"]}}}
    assert same(scenario, _run) == []
