"""Lines that cannot be written now are written later, in their order, and nobody is refused for it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from clearway.api.trail import NAME, Trail

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_lines_are_owed_while_the_file_cannot_be_written(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    home = tmp_path / "home"
    trail = Trail(home, 2**20)  # its folder is not there yet
    for number in range(3):
        trail.write({"n": number})
    home.mkdir()
    trail.write({"n": 3})
    assert [line["n"] for line in trail.newest()] == [3, 2, 1, 0]
    assert (home / NAME).stat().st_mode & 0o777 == 0o600
    said = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(said) == 2
    assert "cannot be written" in said[0]
    assert said[1] == "who changes what can be written again"
