"""Whatever people ask of workflows and schedules, in whatever order and over restarts: each comes to an end, once."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from clearway.flow.schedule_words import read_schedule
from clearway.flow.words import read_flow
from clearway.loop.snapshot import WorldKept, restore, take
from clearway.model import flow_events as fe
from clearway.model.asks import (
    Cancel,
    CancelFlow,
    ControllerUp,
    RemoveSchedule,
    Rerun,
    RerunFlow,
    ResumeFlow,
    SetClock,
    SetSchedule,
    SkipStep,
    SubmitFlow,
)
from clearway.model.errors import InputError
from clearway.model.ids import FlowId, JobId
from clearway.model.values import SECOND_US
from clearway.ports.engine import NodeIsUp, TaskIsGone
from clearway.testing.builders import Bench, node

if TYPE_CHECKING:
    from clearway.flow.track import FlowTrack
    from clearway.model.events import TaskRef

SEEDS, ASKS, MOST_STEPS = 20, 50, 4000
RULES = ("all_succeeded", "all_done", "one_failed", "none_failed")
RESULTS = ("", "null", "[1,2]", "[]", '{"x":2}', '"s1"', '["s1"]')


def a_step(rng: random.Random, name: str, before: list[str], depth: int) -> dict[str, Any]:
    step: dict[str, Any] = {"name": name, "rule": rng.choice(RULES)}
    if before and rng.random() < 0.7:
        step["after"] = rng.sample(before, min(len(before), rng.randint(1, 3)))
    kind = rng.random()
    if kind < 0.15:
        return {**step, "pause": "?"}
    if kind < 0.35 and depth < 2:
        step["workflow"] = a_flow(rng, depth + 1)
    else:
        step |= {"run": "true", "cpus": 1, "max_retries": rng.randint(0, 1), "retry_backoff": rng.choice([0, 5])}
    if rng.random() < 0.3:
        step["each"] = rng.choice([[], [1, 2, 3], *step.get("after", [])[:1]])
    if rng.random() < 0.25:
        step |= {"until": rng.choice(["pass >= 3", f"{name}.x > 1", "false"]), "max_loops": rng.randint(1, 4)}
    if rng.random() < 0.25:
        step["undo"] = {"run": "true", "cpus": 1}
    return {**step, "choose": {"from": name}} if rng.random() < 0.1 else step


def a_flow(rng: random.Random, depth: int = 0) -> dict[str, Any]:
    names = [f"s{i}" for i in range(rng.randint(0 if depth else 1, 5))]
    steps = [a_step(rng, name, names[:i], depth) for i, name in enumerate(names)]
    error = {"on_error": {"name": "err", "run": "true", "cpus": 1}} if rng.random() < 0.2 else {}
    return {"name": "w", "steps": steps, "time_limit": rng.choice([30, 1000]), **error}


def a_schedule(rng: random.Random) -> SetSchedule:
    words = {
        "name": rng.choice("ab"), "cron": "* * * * *", "overlap": rng.choice(["skip", "queue", "allow", "replace"]),
        "catchup": rng.choice(["none", "latest", "all"]), "after_previous": rng.random() < 0.2,
        "jitter": rng.choice([0, 100]), **rng.choice([{"job": {"cpus": 1}}, {"workflow": "w"}]),
    }  # fmt: skip
    return SetSchedule(read_schedule(words, {"w": read_flow(a_flow(rng))}))


class Crowd:
    """People who ask for this and that, while tasks end as they like and controllers die."""

    def __init__(self, seed: int) -> None:
        self.rng, self.machine = random.Random(seed), node("n", cpus=6000)
        self.bench = Bench(self.machine)

    def act(self) -> None:
        rng, flows = self.rng, self.bench.world.state.flows.tracks
        kind = rng.choice(["submit", "schedule", "remove", "restart", "clock", *["of a flow", "of a job", "end"] * 4])
        if kind in ("submit", "schedule"):
            self.submit(kind)
        elif kind == "remove":
            self.bench.step(RemoveSchedule(rng.choice("ab")))
        elif kind == "restart":
            self.restart()
        elif kind == "clock":
            self.bench.step(SetClock(rng.choice([-100, 0, 200, 4000]) * SECOND_US))
        elif kind == "of a flow" and flows:
            self.of_flow(flows[rng.choice(list(flows))])
        elif kind == "of a job":
            number = JobId(rng.randint(1, self.bench.world.state.next_job))
            self.bench.step(Cancel(number, "ada") if rng.random() < 0.5 else Rerun(number))
        else:
            self.bench.at(self.bench.now_us / SECOND_US + rng.choice([0.5, 20, 65]))
            self.ends(rng.sample(self.tasks(), min(len(self.tasks()), 3)))

    def submit(self, kind: str) -> None:
        try:
            self.bench.step(SubmitFlow(read_flow(a_flow(self.rng))) if kind == "submit" else a_schedule(self.rng))
        except InputError as error:  # a `choose` of a step without followers, and the like
            assert str(error)

    def restart(self) -> None:
        kept = msgspec.json.encode(take(self.bench.world))
        again = restore(msgspec.json.decode(kept, type=WorldKept))
        self.bench.world = self.rng.choice([again, self.bench.rebuilt()])
        self.bench.step(ControllerUp(), NodeIsUp(self.machine, tuple(self.tasks())))

    def of_flow(self, track: FlowTrack) -> None:
        rng, names = self.rng, list(track.steps)
        name = rng.choice(names) if names else "none"
        anew, skip = ((name,) if rng.random() < 0.3 else () for _ in range(2))
        asks = (
            CancelFlow(track.id, "ada"),
            SkipStep(track.id, name, "ada"),
            RerunFlow(track.id, by="ada", anew=anew, skip=skip),
            ResumeFlow(track.id, "", rng.choice(RESULTS[1:]), "ada"),
        )
        self.bench.step(*rng.choices(asks, k=rng.randint(1, 2)))

    def tasks(self) -> list[TaskRef]:
        return [task for job in list(self.bench.world.jobs) for task in self.bench.tasks(job)]

    def ends(self, tasks: list[TaskRef]) -> None:
        for task in tasks:
            code = self.rng.choice([0, 0, 0, 1, 99, None])
            self.bench.step(TaskIsGone(task, code, result=self.rng.choice(RESULTS)))

    def finish(self) -> None:
        """Answer, end and cancel what is left, until nothing is."""
        self.bench.step(*map(RemoveSchedule, "ab"))
        for _ in range(MOST_STEPS):
            world = self.bench.world
            left = [track for track in world.state.flows.tracks.values() if track.state is None]
            if not left and not world.jobs:
                return
            asked = [ResumeFlow(t.id, n, "1") for t in left for n, step in t.steps.items() if step.asks]
            tasks = self.tasks()
            self.bench.step(*asked, *(TaskIsGone(task, 0, result="3") for task in tasks))
            if not asked and not tasks:
                self.wait_on(left)
        raise AssertionError("it goes on for ever")

    def wait_on(self, left: list[FlowTrack]) -> None:
        if self.bench.next_us is not None:
            self.bench.now_us = max(self.bench.now_us, self.bench.next_us)
            self.bench.step()
            return
        gated = [CancelFlow(track.id) for track in left if track.gate]  # behind one that failed, with after_previous
        jobs = [Cancel(entry.id) for entry in self.bench.world.jobs.values() if entry.gate]
        assert gated or jobs, f"nothing goes on: {[track.steps for track in left]}"
        self.bench.step(*gated, *jobs)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_whatever_is_asked_everything_ends_and_no_tick_comes_twice(seed: int) -> None:
    crowd = Crowd(seed)
    for _ in range(ASKS):
        crowd.act()
    crowd.finish()
    runs: Counter[FlowId] = Counter()
    ticks: set[tuple[str, int]] = set()
    for record in crowd.bench.journal:
        if isinstance(record, fe.FlowBegan | fe.FlowRerun):
            runs[record.flow] += 1
        elif isinstance(record, fe.FlowEnded):
            runs[record.flow] -= 1
        elif isinstance(record, fe.ScheduleRemoved):
            ticks -= {one for one in ticks if one[0] == record.name}
        elif isinstance(record, fe.Ticked):
            assert (record.schedule, record.tick_us) not in ticks
            ticks.add((record.schedule, record.tick_us))
    assert set(runs.values()) <= {0}, "each run ends once"
