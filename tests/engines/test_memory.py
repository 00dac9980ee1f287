from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path("/sys/fs/cgroup/memory")
BESIDE = """
import os, subprocess, sys
from clearway.engines.parts.memory import Kills
open(sys.argv[1] + "/cgroup.procs", "w").write(str(os.getpid()))
kills = Kills(sys.argv[2])
code = subprocess.run([sys.executable, "-c", sys.argv[3]]).returncode
print(code, kills.ran_out(was_killed=code == -9))
"""
EATS = "held = bytearray(300 << 20)"


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group whose processes have 100 MB together."""
    if not os.access(ROOT, os.W_OK):
        pytest.skip("no control groups of memory can be made here")
    found = ROOT / f"clearway-test-{os.getpid()}"
    found.mkdir()
    (found / "memory.limit_in_bytes").write_text(str(100 << 20))
    yield found
    found.rmdir()


@pytest.mark.parametrize(
    ("own", "does", "said"),
    [
        (True, EATS, "-9 True"),
        (True, "import os; os.kill(os.getpid(), 9)", "-9 False"),
        (True, f"import subprocess, sys; subprocess.run([sys.executable, '-c', '{EATS}']); sys.exit(3)", "3 True"),
        (False, EATS, "-9 True"),
        (False, "raise SystemExit(3)", "3 False"),
    ],
)
def test_a_kill_for_want_of_memory_is_seen(group: Path, own: bool, does: str, said: str) -> None:  # noqa: FBT001  pytest
    command = [sys.executable, "-c", BESIDE, str(group), group.name if own else "", does]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == said
