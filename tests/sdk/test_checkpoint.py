"""What programs inside jobs use to go on where they were stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from typing import TYPE_CHECKING

import pytest

import clearway
from clearway.sdk.checkpoint import Checkpoint

if TYPE_CHECKING:
    from pathlib import Path

COUNTS = """
    import time, clearway
    saved = clearway.checkpoint()
    assert clearway.checkpoint() is saved
    step = int(saved.load() or b"0")
    print(step, flush=True)
    while True:
        step += 1
        time.sleep(0.01)
        if saved.wanted:
            saved.save(str(step).encode())
            raise SystemExit(0)
"""


def _program(folder: Path, text: str = COUNTS, number: str = "SIGUSR1") -> subprocess.Popen[str]:
    env = {**os.environ, "CLEARWAY_CHECKPOINT_DIR": str(folder), "CLEARWAY_CHECKPOINT_SIGNAL": number}
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(text)], env=env, stdout=subprocess.PIPE, text=True)


def test_a_program_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    reached = 0
    for _ in range(3):
        with _program(tmp_path / "job") as running:
            assert running.stdout is not None
            assert int(running.stdout.readline()) == reached
            running.send_signal(signal.SIGUSR1)
            stops = threading.Timer(20, running.kill)  # a program that does not hear it would go on for ever
            stops.start()
            assert running.wait() == 0
            stops.cancel()
        reached = int((tmp_path / "job" / "state").read_text())
    assert reached > 2


def test_a_kill_while_saving_leaves_a_whole_file(tmp_path: Path) -> None:
    writes = """
        import clearway
        saved, n = clearway.checkpoint(), 0
        print("on", flush=True)
        while True:
            n = (n + 1) % 10
            saved.save(str(n).encode() * 1_000_000)
    """
    for wait_s in (0.0, 0.005, 0.02, 0.05, 0.1):
        with _program(tmp_path, writes) as running:
            assert running.stdout is not None
            running.stdout.readline()
            time.sleep(wait_s)
            running.kill()
        found = Checkpoint(tmp_path, None).load()
        assert found is None or (len(found) == 1_000_000 and len(set(found)) == 1)


def test_names_stay_inside_the_folder(tmp_path: Path) -> None:
    saved = Checkpoint(tmp_path, None)
    for name in ("", "..", "a/b", "/etc/passwd", ".hidden"):
        with pytest.raises(ValueError, match="a file name without /"):
            saved.save(b"x", name)


def test_what_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    saved = Checkpoint(tmp_path / "c", None)
    saved.save(b"old")
    (tmp_path / "c" / f".state.{os.getpid()}").mkdir()
    with pytest.raises(OSError, match="Is a directory"):
        saved.save(b"new")
    assert saved.load() == b"old"


def test_it_is_due_by_the_time_since_it_was_saved(tmp_path: Path) -> None:
    saved = Checkpoint(tmp_path, None)
    assert saved.due(0)
    assert not saved.due(3600)


def test_importing_the_package_imports_none_of_it() -> None:
    name = "'clearway.sdk' in sys.modules"
    code = f"import clearway, sys; print({name}); clearway.checkpoint; print({name})"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert found == ["False", "True"]
    with pytest.raises(AttributeError, match="no attribute 'chekpoint'"):
        _ = clearway.chekpoint
