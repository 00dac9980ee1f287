"""The examples of functions run as they stand."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

import pytest

from examples.functions import chord, shares, sweep
from tests.api.live import live

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    home = tmp_path_factory.mktemp("home")
    before = dict(os.environ)
    os.environ["CLEARWAY_HOME"] = str(home)
    try:
        with live(home):
            yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def test_a_chord_over_many_items() -> None:
    assert abs(chord.main(2000) - math.pi) < 0.05


def test_a_sweep_with_actors(capsys: pytest.CaptureFixture[str]) -> None:
    assert sweep.main() in sweep.RATES
    assert capsys.readouterr().out.count("round") == sweep.ROUNDS


def test_shares_of_two_devices() -> None:
    found = shares.main()
    assert [number for number, _, _ in found] == list(range(12))
    assert {devices for _, devices, _ in found} <= {"0", "1"}
