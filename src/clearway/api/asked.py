"""What a job asked for: the words of its submit with their values as numbers, which read into the same job again."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from clearway.api.rows import plain
from clearway.model.speedup import FULL
from clearway.model.values import MICROS, SECOND_US

if TYPE_CHECKING:
    from clearway.model.job import Checkpoint, Demand, JobSpec, Role

_SAME = ("queue", "priority", "on_deadline", "preemptible", "max_retries", "retry_jitter", "max_losses", "right_size")
_TIMED = ("time_limit", "time_estimate", "start_deadline", "retry_backoff", "retry_backoff_max", "retry_window")
_NAMED = ("workdir", "idempotency_key", "user", "tenant", "venv", "image")  # empty where they were not said
_FIRST_MOMENT = datetime(1970, 1, 1, tzinfo=UTC)


def words_of(spec: JobSpec) -> dict[str, Any]:
    """Return all words of a job but `env`, which may hold secrets; null for what was not said.

    Amounts are numbers in the units of docs/job.md: GPUs, CPUs, Gbit/s, bytes, seconds. `read_job` makes the same job
    of them.
    """
    return {
        "name": spec.name,
        "run": (spec.run[0] if spec.shell else list(spec.run)) if spec.run else None,
        **{word: getattr(spec, word) for word in _SAME},
        **{word: getattr(spec, word) or None for word in _NAMED},
        **{word: _seconds(getattr(spec, f"{word}_us")) for word in _TIMED},
        "deadline": None
        if spec.deadline_us is None
        else (_FIRST_MOMENT + timedelta(microseconds=spec.deadline_us)).isoformat(),
        "runtime_env": json.loads(spec.runtime_env) if spec.runtime_env else None,
        "secrets": list(spec.secrets),
        "uses": list(spec.uses),
        "after": list(spec.after),
        "outputs": [{"name": name, "size": size} for name, size in spec.outputs],
        "array": None if spec.array is None else spec.array.text(),
        "speedup": {tasks: speed / FULL for tasks, speed in spec.speedup} or None,
        "max_cost": None if spec.max_cost_micros is None else spec.max_cost_micros / MICROS,
        "retry_on": list(spec.retry_on) or None,
        "labels": dict(spec.labels),
        "checkpoint": _checkpoint(spec.checkpoint),
        "topology": {k: x for k, x in (("require", spec.topology.require), ("prefer", spec.topology.prefer)) if x},
        "colocate": max(role.demand.colocate for role in spec.roles),
        **_tasks(spec.roles),
    }


def _tasks(roles: tuple[Role, ...]) -> dict[str, Any]:
    (first, *more) = roles
    if not more and first.name == "task" and first.min_tasks:
        return {word: value for word, value in _role(first).items() if word != "name"}
    return {"roles": [_role(role) for role in roles]}


def _role(role: Role) -> dict[str, Any]:
    shape = {"tasks": role.tasks, "min_tasks": role.min_tasks, "one_per_node": role.one_per_node}
    return {"name": role.name, **shape, **_demand(role.demand)}


def _demand(demand: Demand) -> dict[str, Any]:
    return {
        "gpus": 0 if demand.slice else plain(demand.milli_gpus),
        "slice": demand.slice or None,
        "gpu_model": list(demand.gpu_models),
        "gpu_memory": demand.gpu_memory,
        "cpus": plain(demand.cpus),
        "memory": demand.memory,
        "disk": demand.disk,
        "bandwidth": plain(demand.bandwidth),
        "resources": dict(demand.resources),
        "nodes": dict(demand.nodes),
        "tolerates": list(demand.tolerates),
        "spot": demand.spot,
        "inputs": [{"name": name, "size": size} for name, size in demand.inputs],
    }


def _checkpoint(saved: Checkpoint) -> dict[str, Any]:
    return {
        "every": _seconds(saved.every_us),
        "signal": saved.signal,
        "grace": _seconds(saved.grace_us),
        "on_stop": saved.on_stop,
        "write_time": _seconds(saved.write_time_us),
    }


def _seconds(us: int | None) -> float | None:
    if us is None:
        return None
    return us // SECOND_US if us % SECOND_US == 0 else us / SECOND_US
