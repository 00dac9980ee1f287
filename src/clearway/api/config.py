"""The route by which a running controller reads its settings anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import Response
from starlette.concurrency import run_in_threadpool

from clearway.api.desk import TheDesk, answer
from clearway.api.roles import guarded
from clearway.config.settings import SETTINGS
from clearway.model.policies import SETTINGS as BY_SETTINGS

if TYPE_CHECKING:
    from clearway.config.settings import Settings

LIVE = ("queues", "limits", "budgets", "policy", "tenants")
"""Settings that hold at once when they are read anew; the others hold from the next start on."""

router = guarded()


@router.post("/config/reload")
async def reload(desk: TheDesk) -> Response:
    """Read clearway.yaml anew: its queues, limits, budgets, policy and tenants hold. Nothing is done where it is wrong.

    What the file no longer names stays as it is. `at_next_start` are other settings that are not as at the start.
    """
    settings = await run_in_threadpool(desk.reread)
    asks, done = desk.again(settings)
    for ask in asks:
        await desk.ask(ask)
    await run_in_threadpool(done)
    desk.in_force.tenants = settings.tenants
    promoted = desk.controller.world.state.policies.how != BY_SETTINGS  # it stays until other words stand in the file
    in_force = [name for name in LIVE if name != "policy" or not promoted]
    return answer({"in_force": in_force, "at_next_start": _others(desk.settings, settings)})


def _others(began_with: Settings, now: Settings) -> list[str]:
    fields = {name: name if hasattr(now, name) else f"{name}_us" for name in SETTINGS if name not in LIVE}
    return [name for name, field in fields.items() if getattr(began_with, field) != getattr(now, field)]
