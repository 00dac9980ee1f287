"""What the runner is told, made from what the controller decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.config.secrets import places_of
from clearway.engines.local.handed import hand_over
from clearway.engines.local.paths import checkpoint_path, code_path, log_path, work_path
from clearway.engines.parts.orders import key_of
from clearway.model.tracing import task_header

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from clearway.engines.local.wire import Message
    from clearway.model.actions import Launch
    from clearway.model.events import TaskRef

FIRST_PORT = 20_000
PORTS = 10_000
_STRIDE = 7  # attempts of one job, and jobs that follow one another, do not meet


def launch_order(
    launch: Launch, home: Path, workdir: Path, devices: Sequence[str], output_size: int = 0, traces: str = ""
) -> Message:
    """Return the order to start a task.

    `workdir` is where a job runs that names none, and what a relative one is relative to. `devices` are the names of
    the devices for CUDA_VISIBLE_DEVICES, by number; where there is none the number itself. A log that grows beyond
    `output_size` bytes is cut in the middle; 0 for no limit. `traces`: what the numbers of spans follow from, "" where
    there are none.
    """
    spec, demand = launch.spec, launch.spec.roles[launch.grant.role].demand
    kept = {
        "CLEARWAY_CHECKPOINT_DIR": str(checkpoint_path(home, launch.task)),
        "CLEARWAY_CHECKPOINT_SIGNAL": spec.checkpoint.signal,
    }
    return {
        "do": "launch",
        "task": key_of(launch.task),
        "argv": list(spec.run),
        "shell": spec.shell,
        "cwd": str(work_path(home, launch.task) if spec.code else workdir / spec.workdir),
        "workdir": str(workdir / spec.workdir),
        "code": str(code_path(home, spec.code)) if spec.code else "",
        "env": {
            "CLEARWAY_HOME": str(home),
            **({"TRACEPARENT": spec.traceparent} if spec.traceparent else {}),
            **dict(spec.env),
            **({"TRACEPARENT": task_header(traces, launch.task, spec.traceparent)} if traces else {}),
            **contract(launch, devices),
            **kept,
            **hand_over(launch, home),
        },
        "venv": spec.venv,
        "secrets": {
            name: [str(path) for path in places_of(home, name, spec.user, spec.tenant)] for name in spec.secrets
        },
        "held": f"{','.join(map(str, launch.grant.devices))}:{launch.grant.share}",
        "memory": demand.memory,
        "cpus": demand.cpus,
        "output_size": output_size,
        "stdout": str(log_path(home, launch.task, "stdout")),
        "stderr": str(log_path(home, launch.task, "stderr")),
    }


def contract(launch: Launch, devices: Sequence[str] = ()) -> dict[str, str]:
    """Return the variables that every task finds, whatever its own environment says."""
    task = launch.task
    shown = [devices[n] if n < len(devices) else str(n) for n in launch.grant.devices]
    return {
        "CLEARWAY_JOB": str(task.job),
        "CLEARWAY_ATTEMPT": str(task.attempt),
        "CLEARWAY_ROLE": launch.spec.roles[task.role].name,
        "CLEARWAY_INDEX": str(task.index if launch.spec.index is None else launch.spec.index),
        "RANK": str(launch.rank),
        "WORLD_SIZE": str(launch.world_size),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(master_port(task)),
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": ",".join(shown),
    }


def master_port(task: TaskRef) -> int:
    """Return the port at which rank 0 of an attempt is expected to listen: the same for all its tasks.

    It follows from job and attempt alone. Whether something else listens there is not looked at.
    """
    return FIRST_PORT + (task.job * _STRIDE + task.attempt - 1) % PORTS
