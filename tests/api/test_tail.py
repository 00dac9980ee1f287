from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clearway.api.tail import read_data

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("start", [3, 2**40, 2**63 - 1, 2**63, 10**30])
def test_behind_the_end_of_a_log_there_is_nothing(tmp_path: Path, start: int) -> None:
    (tmp_path / "log").write_bytes(b"abc")
    assert read_data(tmp_path / "log", start) == (start, b"")
    assert read_data(tmp_path / "none", start) == (start, b"")
