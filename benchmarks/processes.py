"""Short real processes through the whole product: submitted over HTTP in one call, run by the runner, logs kept.

Beside jobs a second, which depend on who else uses the machine, it says what each job costs in CPU time: that of the
controller and of the runner with the parts of its children that are not the command yet, as the system counts them.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from clearway.compose.launch import ensure_running, stop
from clearway.sdk import Client

if TYPE_CHECKING:
    from argparse import Namespace

TITLE = "short processes a second through controller and runner, and their CPU time"
JOBS, WARM, AT_ONCE = 1_000, 50, 16
LOOK_S = 0.05

KEYS = {
    "jobs": f"jobs `true` in one submit, {AT_ONCE} at once, journal with `synchronous: normal`",
    "jobs_s": "jobs a second, from the submit to the last end",
    "controller_ms": "ms of CPU a job, the controller",
    "runner_ms": "ms of CPU a job, the runner itself",
    "children_ms": "ms of CPU a job, what the runner forked: the fork, getting ready, `true` itself",
    "controller_and_runner_ms": "ms of CPU a job, controller and runner together",
    "logs": "files with what they printed, all there",
}


def run(args: Namespace) -> dict[str, Any]:
    """Measure."""
    del args
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "clearway.yaml").write_text(f"limits: [{{name: some, slots: {AT_ONCE}}}]\nsynchronous: normal\n")
        ensure_running(home)
        try:
            return _measured(home, Client.connect(home))
        finally:
            stop(home)


def _measured(home: Path, client: Client) -> dict[str, Any]:
    _through(client, WARM)
    controller = psutil.Process(client.status()["controller"]["pid"])
    runner = next(p for p in psutil.process_iter(["cmdline"]) if str(home / "runner") in (p.info["cmdline"] or ()))
    before, began = _cpu(controller, runner), time.perf_counter()
    last = _through(client, JOBS)
    took = time.perf_counter() - began
    each = [1000 * (after - was) / JOBS for after, was in zip(_cpu(controller, runner), before, strict=True)]
    logs = sum((home / "logs" / str(last - i) / "1-0-0.stdout").exists() for i in range(JOBS))
    return {
        "jobs": JOBS, "jobs_s": JOBS / took, "controller_ms": each[0], "runner_ms": each[1], "children_ms": each[2],
        "controller_and_runner_ms": each[0] + each[1], "logs": logs,
    }  # fmt: skip


def _through(client: Client, jobs: int) -> int:
    """Have jobs enter and end; return the number of the last one."""
    words = [{"name": f"short-{i}", "run": ["true"], "uses": ["some"]} for i in range(jobs)]
    last = int(client.submit(words)[-1]["id"])
    while client.jobs(limit=1):
        time.sleep(LOOK_S)
    return last


def _cpu(controller: psutil.Process, runner: psutil.Process) -> tuple[float, float, float]:
    """Return the CPU seconds so far: of the controller, of the runner, of the runner's children."""
    mine, its = controller.cpu_times(), runner.cpu_times()
    return mine.user + mine.system, its.user + its.system, its.children_user + its.children_system
