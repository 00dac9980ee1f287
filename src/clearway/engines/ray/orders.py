"""What the bridge is told of a launch."""

from __future__ import annotations

import json
from math import ceil
from typing import TYPE_CHECKING, Any

from clearway.engines.parts.orders import key_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clearway.model.actions import Launch

    Message = dict[str, Any]

MILLI = 1000
LOCAL = "local"
"""Where `ray.init()` in a task starts a cluster of its own."""


def launch_order(launch: Launch, order: Mapping[str, Any], first: str) -> Message:
    """Return the order to start a task, made from the one for this machine. `first`: the address of rank 0."""
    env = {**order["env"], "MASTER_ADDR": first}
    bundle = bundle_of(launch)
    return {
        "task": key_of(launch.task),
        "node": launch.node,
        "devices": sorted(launch.grant.devices),
        "share": share_of(launch),
        "bundle": bundle,
        "argv": order["argv"],
        "shell": order["shell"],
        "cwd": order["workdir"],
        "code": order["code"],
        "env": {**own_ray(bundle), **env},
        "runtime_env": launch.spec.runtime_env,
        "secrets": order["secrets"],
        "output_size": order["output_size"],
        "token": env.get("CLEARWAY_TOKEN_FILE", ""),
        "input": launch.spec.input,
        "result": env.get("CLEARWAY_RESULT", ""),
        "files": {
            "stdout": order["stdout"], "stderr": order["stderr"], "metrics": env.get("CLEARWAY_METRICS", ""),
            "progress": env.get("CLEARWAY_PROGRESS", ""),
        },
    }  # fmt: skip


def bundle_of(launch: Launch) -> dict[str, float]:
    """Return what is held for a task, by Ray's words."""
    demand = launch.spec.roles[launch.grant.role].demand
    gpus = len(launch.grant.devices) * share_of(launch) / MILLI
    own = {"CPU": demand.cpus / MILLI, "memory": float(demand.memory), "GPU": gpus}
    return {**own, **{word: float(amount) for word, amount in demand.resources}}


def share_of(launch: Launch) -> int:
    """Return what is held of each device, in thousandths: one where only memory is shared, a part with turns."""
    turns = launch.spec.roles[launch.grant.role].demand.colocate
    if turns:
        return MILLI // (turns + 1)
    return launch.grant.share or (1 if launch.grant.gpu_memory else MILLI)


def own_ray(bundle: Mapping[str, float]) -> dict[str, str]:
    """Return what makes a script's own `ray.init()` start a cluster of its own, of what its task holds.

    Ray's nodes have whole CPUs and devices: a part of one counts as one there.
    """
    held = {"CPU": max(int(bundle["CPU"]), 1), "GPU": ceil(bundle["GPU"])}
    return {"RAY_ADDRESS": LOCAL, "RAY_OVERRIDE_RESOURCES": json.dumps(held)}
