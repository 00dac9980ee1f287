"""What a workflow costs beside its steps: many steps, many items, and seven steps beside other systems.

Many steps: a controller's own turns, one after the other, on a journal in SQLite; the engine only pretends, and
each job ends as soon as it starts. Seven steps: the classic pipeline (collect, clean, features, train, evaluate,
register, deploy) on scikit-learn's digits, the same functions everywhere, in a process that has the system at hand
(its start counts, as somebody who runs the pipeline waits for it). `make peers` installs the others into
`.venv-peers`; one that is not there is left out and named. Airflow runs by `dag.test()`, without its scheduler.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.calls_vs_peers import PYTHON as PEERS_PYTHON
from benchmarks.store import Rig
from clearway.flow.words import read_flow
from clearway.model.asks import SubmitFlow

if TYPE_CHECKING:
    from argparse import Namespace

    from clearway.model.flow import FlowSpec

TITLE = "what a workflow costs: 10,000 steps, 100,000 items, and seven steps beside Airflow, Prefect and LangGraph"
STEPS, ITEMS, LEVEL = 10_000, 100_000, 100
PEERS = ("clearway-flow", "clearway-tasks", "prefect", "airflow", "langgraph", "plain")
OURS = ("clearway-flow", "clearway-tasks", "plain")
TRIES = 3
ONLY = ("steps", "items", "pipelines")
KEYS = {
    "chain_step_ms": f"ms of CPU a step, {STEPS} steps one after the other, each in turns of its own, journaled",
    "wide_step_ms": f"ms of CPU a step, {STEPS} steps, {LEVEL} side by side, each behind {LEVEL // 10} before it",
    "chain_adds_ms": "ms a step, what the workflow adds to its job: the difference of these two",
    "single_job_ms": f"ms of CPU a job, {STEPS} jobs of no workflow one after the other, for comparison",
    "item_ms": f"ms of CPU an item, a step over {ITEMS} items",
    "items_most_jobs": "jobs of it that were there at the same time at most",
    "items_first_ms": "ms of CPU from the submit until the first of them has started",
    "pipelines": f"seven steps, the best of {TRIES} runs: wall and CPU seconds, all processes counted",
    "missing": "not installed here",
}


def run(args: Namespace) -> dict[str, Any]:
    """Measure each part, or only those asked for."""
    found: dict[str, Any] = {}
    for name, part in zip(ONLY, (_steps, _items, _pipelines), strict=True):
        if not args.only or name in args.only:
            found |= part()
    return found


def _steps() -> dict[str, Any]:
    chain = [_step(i, [i - 1] if i else []) for i in range(STEPS)]
    wide = [_step(i, [(i // LEVEL - 1) * LEVEL + (i + j) % LEVEL for j in range(LEVEL // 10)] if i >= LEVEL else [])
            for i in range(STEPS)]  # fmt: skip
    found = {"chain_step_ms": _flow_ms(chain), "wide_step_ms": _flow_ms(wide)}
    with tempfile.TemporaryDirectory() as place, closing(Rig(place, "normal")) as rig:
        began = time.process_time()
        rig.run(STEPS, 1)
        found["single_job_ms"] = 1000 * (time.process_time() - began) / STEPS
    return {**found, "chain_adds_ms": found["chain_step_ms"] - found["single_job_ms"]}


def _step(number: int, after: list[int]) -> dict[str, Any]:
    return {"name": f"s{number}", "run": "true", "after": [f"s{i}" for i in after]}


def _flow_ms(steps: list[dict[str, Any]]) -> float:
    spec = read_flow({"name": "W", "steps": steps})
    with tempfile.TemporaryDirectory() as place, closing(Rig(place, "normal")) as rig:
        return 1000 * _to_the_end(rig, spec)[0] / len(steps)


def _to_the_end(rig: Rig, spec: FlowSpec) -> tuple[float, float, int]:
    """Run a workflow to its end; return the CPU seconds, those until the first start, and the most jobs at a time."""
    began, most, first = time.process_time(), 0, 0.0
    rig.controller.turn([SubmitFlow(spec)])
    while rig.controller.world.state.flows.tracks[1].state is None:  # type: ignore[index]  # the only workflow
        rig.clock.move_to(rig.clock.now_us() + 1)
        reports = rig.engine.reports()
        first = first or (time.process_time() - began if reports else 0.0)
        rig.controller.turn(reports)
        most = max(most, len(rig.controller.world.jobs))
    return time.process_time() - began, first, most


def _items() -> dict[str, Any]:
    spec = read_flow({"name": "W", "steps": [{"name": "s", "run": "true", "each": list(range(ITEMS))}]})
    with tempfile.TemporaryDirectory() as place, closing(Rig(place, "normal")) as rig:
        seconds, first, most = _to_the_end(rig, spec)
    return {"item_ms": 1000 * seconds / ITEMS, "items_most_jobs": most, "items_first_ms": 1000 * first}


def _pipelines() -> dict[str, Any]:
    rows, missing = [], []
    for name in PEERS:
        tried = [_measured(name) for _ in range(TRIES)]
        good = [one for one in tried if one is not None]
        if not good:
            missing.append(name)
            continue
        wall, cpu = min(good)
        rows.append({"system": name, "wall_s": f"{wall:.2f}", "cpu_s": f"{cpu:.2f}"})
    return {"pipelines": rows, "missing": ", ".join(missing) or "none"}


def _measured(name: str) -> tuple[float, float] | None:
    """Return wall and CPU seconds of a pipeline in a new process with all that it starts, None where it cannot run."""
    python = str(PEERS_PYTHON) if name not in OURS and PEERS_PYTHON.exists() else sys.executable
    with tempfile.TemporaryDirectory() as folder:
        quiet = {
            "PREFECT_HOME": folder, "PREFECT_LOGGING_LEVEL": "ERROR", "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120", "AIRFLOW_HOME": folder,
            "AIRFLOW__CORE__LOAD_EXAMPLES": "false",
        }  # fmt: skip
        env = {**os.environ, **quiet, "PYTHONPATH": str(Path(__file__).resolve().parents[1]), "OMP_NUM_THREADS": "1"}
        before, began = _cpu_s(), time.perf_counter()
        done = subprocess.run(
            [python, "-m", "benchmarks.seven", name, folder], env=env, capture_output=True, text=True, check=False
        )
        wall, cpu = time.perf_counter() - began, _cpu_s() - before
    return None if done.returncode else (wall, cpu + float(done.stdout.split()[-1]))


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
