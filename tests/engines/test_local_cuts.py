"""Logs that grow too long are cut in the middle, while their writers write on."""

from __future__ import annotations

import errno
import os
import re
from typing import TYPE_CHECKING

import pytest

from clearway.api.tail import read_data
from clearway.engines.local.engine import LocalEngine
from clearway.engines.local.paths import log_path
from clearway.engines.parts.cuts import BLOCK, Cuts
from clearway.model.fleet import NodeSpec
from tests.engines.places import NODE, Place, task

if TYPE_CHECKING:
    from pathlib import Path

LIMIT = 256 * 1024
LINES = 300_000


class Short(Place):
    """A place where logs may not be long."""

    def engine(self) -> LocalEngine:
        return LocalEngine(self.home, NodeSpec(NODE), workdir=self.scratch, output_size=LIMIT)


def data(path: Path) -> bytes:
    """Return all that is left of a log, as a reader of the whole gets it."""
    found: list[bytes] = []
    at = 0
    while True:
        at, piece = read_data(path, at)
        if not piece:
            return b"".join(found)
        found.append(piece)
        at += len(piece)


def on_disk(path: Path) -> int:
    return path.stat().st_blocks * 512


@pytest.mark.slow
def test_a_log_that_grows_too_long_keeps_its_beginning_and_its_end(tmp_path: Path) -> None:
    place = Short(tmp_path)
    talk = place.open()
    place.launch(1, f"seq 1 {LINES}; sleep 1.5; echo done")
    assert talk.gone(task(1)).exit_code == 0
    path = log_path(place.home, task(1), "stdout")
    left = data(path)
    assert left.startswith(b"1\n2\n3\n")
    assert left.endswith(f"{LINES - 1}\n{LINES}\ndone\n".encode())
    assert b"bytes are cut here" in left
    assert b"\0" not in left
    assert on_disk(path) <= LIMIT + LIMIT // 8 + 2 * BLOCK
    assert path.stat().st_size > LIMIT  # offsets stay what they were
    place.clear()


def _written(path: Path, size: int) -> tuple[str, str]:
    path.write_bytes(b"x" * size)
    return str(path), f"{path}.none"


def test_a_log_within_its_limit_is_left_alone(tmp_path: Path) -> None:
    log = tmp_path / "log"
    found = _written(log, LIMIT)
    Cuts().look(found, LIMIT)
    assert log.read_bytes() == b"x" * LIMIT


def test_a_log_is_cut_again_and_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    found, cuts = _written(log, 2 * LIMIT), Cuts()
    for _ in range(5):
        with log.open("ab") as file:
            file.write(b"y" * LIMIT)
        cuts.look(found, LIMIT)
        assert on_disk(log) <= LIMIT + 2 * BLOCK
        assert data(log).count(b"bytes are cut here") == 1
    said = re.search(rb"\[(\d+) bytes are cut here", data(log))
    assert said is not None
    assert int(said[1]) == log.stat().st_size - (len(data(log)) - BLOCK)
    assert cuts.trouble == ""


def test_a_file_system_that_cannot_cut_is_told_and_the_log_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, cuts = tmp_path / "log", Cuts()
    found = _written(log, 2 * LIMIT)

    def refused(*_: object) -> int:
        return -1

    cuts._fallocate = refused  # type: ignore[assignment]
    monkeypatch.setattr("ctypes.get_errno", lambda: errno.EOPNOTSUPP)
    cuts.look(found, LIMIT)
    assert "cannot be cut" in cuts.trouble
    assert os.path.getsize(log) == 2 * LIMIT  # noqa: PTH202
