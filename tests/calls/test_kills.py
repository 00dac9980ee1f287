from __future__ import annotations

import pytest

from tests.calls.kills import runs

pytestmark = pytest.mark.slow
RUNS = 8
"""`python -m tests.calls.kills` does a thousand."""


def test_every_result_comes_once_whoever_is_killed() -> None:
    killed, nodes = runs(RUNS, seed=1)
    assert killed
    assert nodes > RUNS * 40
