"""A second world that stands exactly as the first, to be asked what would happen."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, TypeVar

from clearway.loop.progress import Progressing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clearway.loop.world import World

T = TypeVar("T")


def twin(world: World) -> World:
    """Return a copy of a world: what happens to one does not happen to the other.

    Nouns that never change are shared; what there are many of is copied by hand, since that is most of the work.
    """
    memo: dict[int, object] = {id(one): one for one in _nouns(world)}
    state = world.state
    for entry in state.jobs.values():
        memo[id(entry)] = _copied(entry)
    for cls in state.view.line.classes.values():
        memo.update({id(waiting): _copied(waiting) for waiting in cls.jobs.values()})
    for running in state.view.running.values():
        memo[id(running)] = _copied(running)
    memo[id(world.step_records)], memo[id(world.step_actions)] = [], []
    memo[id(world.progressing)] = Progressing()
    memo[id(world.forecasting)] = None if world.forecasting is None else world.forecasting.aside()
    return deepcopy(world, memo)


def _copied(one: T) -> T:
    """Return a copy of an object with slots, with its own sets, lists and dicts of things that never change."""
    made = object.__new__(type(one))
    for name in type(one).__slots__:  # type: ignore[attr-defined]  # all kinds that come here have slots
        value = getattr(one, name)
        setattr(made, name, value.copy() if isinstance(value, set | dict | list) else value)
    return made


def _nouns(world: World) -> Iterator[object]:
    state = world.state
    view, ledger = state.view, state.view.ledger
    yield from (state.policy, view.rules, *view.rules, *ledger.specs, *ledger.kinds, *view.queues.specs.values())
    yield from (order for orders in view.own_orders.values() for order in orders)
    for cls in view.line.classes.values():
        yield from (cls.spec, *cls.reasons, view.line.keys[cls.id])
        yield from (cls.entries[at] for at in range(len(cls.entries)))
    yield from (one for held in ledger.holdings.values() for one in held)
    yield from view.ends.jobs.values()
    yield from view.forecasts.said.values()
    yield from view.forecasts.progressed.values()
    yield from state.runs.kept
    yield from (places.demand for places in view.places.values())
