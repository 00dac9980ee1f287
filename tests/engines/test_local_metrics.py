"""What tasks report into their files is read once, in order, and read again after a restart."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from clearway.engines.local import reached
from clearway.engines.local.handed import path_of, result_of
from clearway.engines.local.metrics import Metrics
from clearway.model.events import TaskRef
from clearway.model.ids import JobId
from clearway.ports.engine import TaskReported

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

TASK = TaskRef(JobId(3), 1, 0, 0)


def test_whole_lines_are_read_once(tmp_path: Path) -> None:
    path = path_of(tmp_path, TASK, "metrics")
    metrics = Metrics(tmp_path)
    metrics.watch([TASK])
    assert metrics.look() == [], "a task without a file tells nothing"
    path.parent.mkdir(parents=True)
    path.write_bytes(b'1.5\n{"step": 7, "loss": 2}\n{"st')
    metrics.watch([TASK])
    assert [(one.step, one.metrics) for one in metrics.look()] == [(1, "1.5"), (7, '{"loss":2}')]
    assert metrics.look() == [], "not before its time"
    with path.open("ab") as file:
        file.write(b'ep": 8, "loss": 1}\nnonsense\n{"step": 0}\n{"step": true}\n\xff\n3\n' + b"[" * 5000 + b"\n")
    assert [(one.step, one.metrics) for one in metrics.last(TASK)] == [(8, '{"loss":1}'), (8, "3")]
    assert metrics.wait_s() is None
    again = Metrics(tmp_path)
    assert len(again.last(TASK)) == 4, "one that was never looked after is read to its end"


def test_of_how_far_a_task_is_the_last_whole_line_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reached, "LOOK_EVERY_S", 0.0)
    other, path = TaskRef(TASK.job, 1, 0, 1), path_of(tmp_path, TASK, "progress")
    metrics = Metrics(tmp_path)
    metrics.watch([TASK, other])
    assert metrics.look() == []
    path.parent.mkdir(parents=True)
    path_of(tmp_path, other, "progress").write_bytes(b'{"step": 9, "total": 10}\n')
    path.write_bytes(b'{"step": 1, "total": 10}\n' * 1000 + b'{"step": 2, "total": 10}\nnonsense\n{"step": 3, "tot')
    assert metrics.look() == [TaskReported(TASK, 2, total=10)], "only of the first task of a role"
    assert metrics.look() == [], "what has been read is not told again"
    for line in (b"[1]", b'{"step": -1}', b'{"step": true}', b'{"step": 7, "total": 5}', b'{"step": 1.5}', b"\xff"):
        path.write_bytes(line + b"\n")
        assert metrics.look() == []
    path.write_bytes(b'{"step": 4}\n')
    assert metrics.look() == [TaskReported(TASK, 4)]
    metrics.last(TASK)
    assert metrics.look() == []
    assert metrics.wait_s() is None


def test_a_pipe_or_a_link_in_the_place_of_a_file_holds_nobody_up(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"7\n")
    folder = path_of(tmp_path, TASK, "metrics").parent
    folder.mkdir(parents=True)
    metrics = Metrics(tmp_path)
    for kind in ("metrics", "result"):
        path = path_of(tmp_path, TASK, kind)
        os.mkfifo(path)
        assert (metrics.last(TASK), result_of(tmp_path, TASK)) == ([], "")
        path.unlink()
        path.symlink_to(elsewhere)
        assert (metrics.last(TASK), result_of(tmp_path, TASK)) == ([], "")
        path.unlink()
