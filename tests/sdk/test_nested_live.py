"""Calls that wait for the calls that they make, where there is one worker for all of them."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import psutil
import pytest

from clearway.compose.launch import stop
from tests.api.live import until
from tests.sdk import tasks_used as used

if TYPE_CHECKING:
    from pathlib import Path

    from clearway.sdk.client import Client

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("client")]
SETTINGS = {"fleet": {"nodes": [{"name": "n", "cpus": 1}]}}
PATIENCE_S = 60


def test_a_call_that_waits_for_others_gives_them_its_place() -> None:
    assert used.tree.remote(3).get(PATIENCE_S) == 15
    assert used.tree_awaited.remote(3).get(PATIENCE_S) == 4


PROGRAM = """
from clearway import task

@task
def nest(depth):
    return 1 if not depth else 1 + nest.remote(depth - 1).get()

print(nest.remote(3).get(60))
"""


def test_calls_of_a_program_of_any_place_are_for_the_worker_that_makes_them(tmp_path: Path) -> None:
    script, elsewhere = tmp_path / "scripts" / "program.py", tmp_path / "elsewhere"
    for folder in (script.parent, elsewhere):
        folder.mkdir()
    script.write_text(PROGRAM)
    done = subprocess.run([sys.executable, str(script)], cwd=elsewhere, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("4\n", "")


def test_the_output_and_the_end_of_what_ran_beside_are_its_own(tmp_path: Path) -> None:
    handle = used.asks_dying.remote(str(tmp_path / "died"))
    assert handle.get(PATIENCE_S) == "alive"
    assert handle.row["losses"] == 0
    assert used.asks_slow.remote(str(tmp_path / "never")).get(PATIENCE_S) == "too slow"
    assert used.add.remote(1).get(PATIENCE_S) == 2


def test_what_runs_beside_is_cancelled_and_so_is_what_waits_for_it(tmp_path: Path, client: Client) -> None:
    handle = used.asks_slow.remote(str(tmp_path / "never"))
    until(lambda: len(client.calls()) == 2, "it waits for another")
    handle.cancel()
    until(lambda: not [row for row in client.calls() if row["id"] == handle.id], "it is over")
    assert used.add.remote(1).get(PATIENCE_S) == 2


def test_what_cannot_run_beside_now_runs_later() -> None:
    assert used.asks_without_a_python.remote().get(2 * PATIENCE_S) == 2


def test_nothing_stays_behind_a_controller_that_was_stopped(home: Path) -> None:
    pid = used.leaves_a_thread_behind.remote().get(PATIENCE_S)
    stop(home)
    until(lambda: not psutil.pid_exists(pid), "the worker has left")
    until(lambda: not [one for one in psutil.process_iter(["cmdline"]) if _is_runner(one, home)], "and the runner")


def _is_runner(process: psutil.Process, home: Path) -> bool:
    return any(str(home) in word for word in process.info["cmdline"] or ())
