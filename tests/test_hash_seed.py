"""The same workload in two processes whose hashes differ: the same journal, byte for byte."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

LIVE = """
import sys
from clearway.store.codec import encode
from tests.test_differential import POLICIES, simulated
for seed in range(2):
    for policy in POLICIES:
        for record in simulated(seed, policy):
            sys.stdout.buffer.write(encode(record))
"""


def journal(hash_seed: str) -> bytes:
    env = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", LIVE], cwd=ROOT, env=env, check=True, capture_output=True)
    return done.stdout


@pytest.mark.slow
def test_the_same_journal_whatever_the_hashes() -> None:
    first = journal("1")
    assert len(first) > 100_000
    assert first == journal("2")
