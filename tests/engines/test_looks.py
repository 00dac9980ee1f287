"""What a task uses, seen beside it: its processes together, and the most that they took together."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack

from clearway.engines.parts.looks import Looks

EACH_BYTES = 40 << 20
HOLDS = f"held = bytearray({EACH_BYTES}); print(flush=True); input()"


def test_what_processes_hold_together_counts_also_when_they_are_gone() -> None:
    looks = Looks()
    with ExitStack() as stack:
        several = []
        for _ in range(3):
            one = subprocess.Popen([sys.executable, "-c", HOLDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            several.append(stack.enter_context(one))
        for one in several:
            assert one.stdout is not None
            one.stdout.readline()
        assert looks.due()
        looks.take([one.pid for one in several])
        for one in several:
            one.communicate(b"\n")
    looks.take([one.pid for one in several])  # they are gone
    used = looks.used()
    assert used["peak_memory"] >= 3 * EACH_BYTES
    assert used["peak_cpus"] >= used["cpus"] > 0
