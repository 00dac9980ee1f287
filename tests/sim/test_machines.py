"""Fleets that grow and shrink, at random: what always holds of orders, machines and those who wait for them."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from clearway.testing.judge import judge, play

SIZES = st.sampled_from([1, 2, 4])


@st.composite
def scenarios(draw: st.DrawFn) -> dict[str, Any]:
    """Return a scenario with types of machines, some jobs and some faults; every job fits some type."""
    boots = st.lists(st.integers(0, 90) | st.just("never"), min_size=1, max_size=4)
    types = [
        {
            "name": f"T{n}", "gpus": 4 if n == 0 else draw(SIZES), "boot": [draw(st.integers(0, 60)), *draw(boots), 30],
            "min": draw(st.integers(0, 1)), "max": draw(st.integers(4, 6)), "idle_timeout": draw(st.integers(0, 80)),
            "boot_timeout": 100, "price": draw(st.integers(0, 3)),
        }
        for n in range(draw(st.integers(1, 2)))
    ]  # fmt: skip
    jobs = [
        {
            "name": f"j{n}", "submit": draw(st.integers(0, 200)), "gpus": draw(SIZES), "tasks": draw(SIZES),
            "runtime": draw(st.integers(1, 100)), "priority": draw(st.integers(0, 1)),
            **({"time_limit": 150} if draw(st.booleans()) else {}),
            **({"checkpoint": {"on_stop": True, "grace": 5}} if draw(st.booleans()) else {}),
        }
        for n in range(draw(st.integers(1, 8)))
    ]  # fmt: skip
    events: list[dict[str, Any]] = []
    if draw(st.booleans()):
        at = draw(st.integers(1, 150))
        events += [
            {"at": at, "kill_controller": "hard"},
            {"at": at + draw(st.integers(1, 90)), "start_controller": True},
        ]
    kind = draw(st.sampled_from(["node_lost", "spot_notice", "sold_out"]))
    victim = "T0" if kind == "sold_out" else f"T0-{draw(st.integers(1, 3))}"
    events.append({"at": draw(st.integers(1, 250)), kind: victim})
    if kind == "sold_out":
        events.append({"at": 400, "in_stock": "T0"})
    policy = {"order": ["priority", "fifo"], "backfill": draw(st.sampled_from(["none", "easy", "conservative"]))}
    fleet = {"nodes": [{"name": "n", "gpus": 2}] if draw(st.booleans()) else [], "types": types}
    return {
        "policy": policy,
        "fleet": fleet,
        "jobs": jobs,
        "events": sorted(events, key=lambda e: e["at"]),
        "until": 4000,
    }


@given(scenarios())
def test_all_who_wait_start_and_what_nobody_needs_goes(scenario: dict[str, Any]) -> None:
    timeline = play(scenario)
    assert judge(scenario, timeline) == []
    assert {job["state"] for job in timeline["jobs"].values()} == {"succeeded"}
    for kind in scenario["fleet"]["types"]:
        mine = [one for one in timeline.get("machines", {}).values() if one["type"] == kind["name"]]
        there = [one for one in mine if one["gone"] is None]
        assert len(there) == kind["min"]
        assert len(mine) <= 60, "orders are made and taken back again and again"


@given(st.integers(1, 30), SIZES, SIZES)
def test_no_machine_is_ordered_that_could_be_done_without(many: int, gpus: int, machine: int) -> None:
    gpus = min(gpus, machine)
    fleet = {"types": [{"name": "T", "gpus": machine, "boot": 10, "idle_timeout": 5}]}
    timeline = play({"fleet": fleet, "jobs": [{"name": "j", "count": many, "gpus": gpus, "runtime": 20}]})
    assert len(timeline["machines"]) == -(-many // (machine // gpus))
