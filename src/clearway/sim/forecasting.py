"""Who forecasts in invented time: the same as in the live product, where the policy goes by forecasts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.forecast import RunTimes
from clearway.loop.forecast_state import MOST_RUNS
from clearway.loop.forecasting import Forecasting

if TYPE_CHECKING:
    from clearway.loop.world import World

FORECAST = "forecast"


def forecasting_for(world: World) -> World:
    """Return a world with a forecaster that has learnt what the world knows of the past, if its policy wants one."""
    if world.policy.estimate == FORECAST:
        world.forecasting = Forecasting(RunTimes())
        world.forecasting.learn(world.state, MOST_RUNS)
    return world
