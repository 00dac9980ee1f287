"""Points from outside: asked for once, taken while they are wanted, asked for again by a new controller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway.flow.search_words import read_search
from clearway.loop.world import World
from clearway.model import asks
from clearway.model.errors import ConflictError
from clearway.model.states import State

if TYPE_CHECKING:
    from clearway.flow.search import SearchTrack
    from clearway.model.flow import SearchSpec


def spec(**words: Any) -> SearchSpec:
    known = {"name": "X", "trials": 3, "parallel": 2, "sampler": "tpe", "space": {"x": [1, 2]}}
    return read_search({**known, "job": {"run": "true"}, **words})


def track(world: World) -> SearchTrack:
    return world.state.flows.searches.tracks["X"]


def test_each_point_is_asked_for_once_and_side_by_side() -> None:
    world, wanted = World(), spec()
    first = world.step([asks.SubmitSearch(wanted)], 0)
    assert [draw.number for draw in first.draws] == [1]
    assert world.step([asks.LookSearches()], 1).draws == []
    second = world.step([asks.EnterTrial(wanted, 1, '{"x":2}')], 2)
    assert [(draw.number, draw.points, draw.order) for draw in second.draws] == [(2, ('{"x":2}',), (1,))]
    assert world.step([asks.EnterTrial(wanted, 2, '{"x":2}')], 3).draws == []  # two at a time
    assert [trial.point for trial in track(world).trials] == ['{"x":2}'] * 2


def test_a_point_that_is_not_wanted_any_more_is_not_taken() -> None:
    world, wanted = World(), spec()
    world.step([asks.SubmitSearch(wanted)], 0)
    late = asks.EnterTrial(wanted, 1, '{"x":1}')
    for wish in (asks.EnterTrial(wanted, 2, "{}"), asks.EnterTrial(spec(name="Y"), 1, "{}")):
        assert isinstance(world.step([wish], 1).answers[0], ConflictError)
    world.step([asks.CancelSearch("X")], 2)
    assert isinstance(world.step([late], 3).answers[0], ConflictError)
    world.step([asks.SubmitSearch(spec(space={"y": [1]}))], 4)
    assert isinstance(world.step([late], 5).answers[0], ConflictError), "the point of an earlier search of its name"
    assert track(world).trials == []


def test_a_new_controller_asks_again() -> None:
    world, wanted = World(), spec()
    records = [*world.step([asks.SubmitSearch(wanted)], 0).records]
    records += world.step([asks.EnterTrial(wanted, 1, '{"x":1}')], 1).records
    again = World()
    for record in records:
        again.apply(record)
    draws = again.step([asks.ControllerUp()], 2).draws
    assert [(draw.number, draw.points) for draw in draws] == [(2, ('{"x":1}',))]


def test_a_search_without_a_point_fails_and_says_why() -> None:
    world, wanted = World(), spec()
    world.step([asks.SubmitSearch(wanted)], 0)
    world.step([asks.EnterTrial(wanted, 1, '{"x":1}')], 1)
    world.step([asks.FailSearch(wanted, "no luck")], 2)
    found = track(world)
    assert (found.state, found.reason and found.reason.get("error")) == (State.FAILED, "no luck")
    world.step([asks.FailSearch(wanted, "again")], 3)
    assert found.reason is not None
    assert found.reason.get("error") == "no luck"
