"""Random graphs with loops beside the slow reference, with controllers that die at random points.

The world decides and the real functions of the graph run, in this process and in no time: what a job is handed and
gives back goes through the same texts as on a controller.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from clearway.flow.words import read_flow
from clearway.model import flow_events as fe
from clearway.model.actions import Launch
from clearway.model.asks import ControllerUp, LookFlows, ResumeFlow, SubmitFlow
from clearway.model.errors import InputError
from clearway.model.ids import FlowId
from clearway.model.reasons import Code
from clearway.model.states import State as Ended
from clearway.ports.engine import NodeIsUp, TaskIsGone, TaskIsUp
from clearway.sdk.flows import END, START
from clearway.sdk.flows.at_work import KINDS
from clearway.sdk.flows.packed import FUNCTION, KIND, unpacked
from clearway.sdk.flows.plain import from_plain, to_plain
from clearway.testing.builders import Bench, node
from tests.sdk.graph_reference import BEGIN, Drawing, Entry, Node, Route, Sent, come_to

if TYPE_CHECKING:
    from clearway.model.events import TaskRef

PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
NAMES = ("think", "act", "note", "check")  # in another order than that of letters
MOST_STEPS = 5000


@st.composite
def drawings(draw: st.DrawFn) -> Drawing:
    nodes = tuple(
        Node(name, draw(st.integers(1, 3)), draw(st.sampled_from([0, 0, 0, 0, 1, 2])), draw(st.booleans()))
        for name in NAMES[: draw(st.integers(1, 4))]
    )
    names = [one.name for one in nodes]
    ends = st.sampled_from([*names, END])
    sends = st.builds(Sent, st.sampled_from(names), st.integers(0, 9))
    entries: st.SearchStrategy[Entry] = st.one_of(
        ends, st.just(END), st.lists(st.one_of(ends, sends), max_size=3).map(tuple)
    )
    routes = st.builds(Route, st.lists(entries, min_size=1, max_size=4).map(tuple), st.booleans())
    edges = [(START, draw(ends))]
    branches = [(START, draw(routes))] if draw(st.booleans()) else []
    for name in names:
        edges += [(name, draw(ends)) for _ in range(draw(st.sampled_from([0, 0, 0, 1])))]
        branches += [(name, draw(routes)) for _ in range(draw(st.sampled_from([0, 1, 1, 2])))]
    return Drawing(nodes, tuple(edges), tuple(branches), draw(st.integers(3, 16)))


class Play:
    """Has a graph run its course in a world driven by hand: in which order tasks end and when it dies is chance."""

    def __init__(self, drawing: Drawing, chance: random.Random, killed: int) -> None:
        """`killed`: one in so many steps is followed by the death of the controller, 0 for none."""
        self.drawing, self.chance, self.killed = drawing, chance, killed
        self.machine = node("n", cpus=64_000)
        self.bench = Bench(self.machine)
        self.open: dict[TaskRef, Launch] = {}
        self.untold: list[TaskIsGone] = []
        self.done: Counter[str] = Counter()
        self.state: Any = None
        words = drawing.built().compile("agent", drawing.limit).words(BEGIN)
        self.flow = FlowId(1)
        self.step(SubmitFlow(read_flow(words)))

    def step(self, *inputs: Any) -> None:
        """Take a step; what it orders is carried out, unless the controller dies before or after that."""
        self.bench.step(*inputs)
        if self._dies():
            self.bench.orders.clear()
            self._restart()
        launches = [order for order in self.bench.orders if isinstance(order, Launch)]
        self.bench.orders.clear()
        new = [launch for launch in launches if launch.task not in self.open]
        self.open |= {launch.task: launch for launch in new}
        if self._dies():
            self._restart()
        elif new:
            self.step(*(TaskIsUp(launch.task) for launch in new))

    def _dies(self) -> bool:
        return bool(self.killed) and not self.chance.randrange(self.killed)

    def _restart(self) -> None:
        self.bench.world = self.bench.rebuilt()
        untold, self.untold = self.untold, []
        self.step(ControllerUp(), *untold, NodeIsUp(self.machine, tuple(self.open)))

    def run(self) -> fe.FlowEnded:
        """Go on until it is over."""
        for _ in range(MOST_STEPS):
            ended = [r for r in self.bench.all(fe.FlowEnded) if r.flow == self.flow]
            if ended:
                assert len(ended) == 1
                return ended[0]
            if self.open:
                self._finish(self.chance.choice(list(self.open)))
            elif not self._answer() and self.bench.next_us is not None:
                self.bench.now_us = max(self.bench.next_us, self.bench.now_us)
                self.step()
        raise AssertionError("it goes on for ever")

    def _finish(self, task: TaskRef) -> None:
        launch = self.open.pop(task)
        spec = launch.spec
        env = dict(spec.env)
        thing = unpacked(env[FUNCTION])
        if env[KIND] == "node" and thing[0].nodes[thing[1]][0].flaky and task.attempt == 1:
            end = TaskIsGone(task, 1)
        else:
            self.done[spec.name] += 1
            result = to_plain(KINDS[env[KIND]](thing, from_plain(json.loads(spec.input))), Path())
            if env[KIND] == "plan":
                self.state = result["state"]
            end = TaskIsGone(task, 0, result=json.dumps(result))
        if self._dies():  # it ended while no controller was there
            self.untold.append(end)
            self._restart()
        else:
            self.step(end)

    def _answer(self) -> bool:
        """Answer what a person is asked, if so."""
        flows: Any = self.bench.step(LookFlows()).answers[0]
        for flow in flows:
            for one in flow.steps:
                if one.pause:
                    answer = f"yes to {json.loads(one.input)['question']}"
                    self.step(ResumeFlow(flow.id, one.name, json.dumps(answer)))
                    return True
        return False


def compare(drawing: Drawing, seed: int, killed: int) -> None:
    play, wanted = Play(drawing, random.Random(seed), killed), come_to(drawing)
    ended = play.run()
    passes = [r for r in play.bench.all(fe.FlowBegan) if r.part is not None]
    assert len(passes) == wanted.passes
    assert set(play.done.values()) <= {1}, "a node that was done ran again"
    if wanted.state is None:
        assert (ended.state, ended.reason and ended.reason.code) == (Ended.FAILED, Code.LOOP_LIMIT)
        return
    assert ended.state == Ended.SUCCEEDED
    assert play.state == wanted.state
    assert sum(".node_" in name for name in play.done) == wanted.visits
    assert len(play.bench.all(fe.StepAnswered)) == wanted.questions


def test_a_key_that_the_state_lacks_is_refused_before_anything_runs() -> None:
    graph = Drawing((Node("think", 1, 0, flaky=False),), ((START, "think"),), (), 3).built()
    graph.add_conditional_edges("think", Route((END,), named=False), ["think", END])
    with pytest.raises(InputError, match="cuont"):
        graph.compile().words({"cuont": 1})
    with pytest.raises(InputError, match="thnik"):
        graph.add_conditional_edges("think", Route((END,), named=False), ["thnik"]).compile()


@settings(max_examples=60, deadline=None, phases=PHASES)
@given(drawings(), st.integers(0, 2**32))
def test_a_graph_comes_to_what_its_nodes_and_edges_say(drawing: Drawing, seed: int) -> None:
    compare(drawing, seed, 0)


@settings(max_examples=25, deadline=None, phases=PHASES)
@given(drawings(), st.integers(0, 2**32), st.integers(8, 30))
def test_deaths_at_any_point_change_nothing_and_repeat_nothing(drawing: Drawing, seed: int, killed: int) -> None:
    compare(drawing, seed, killed)
