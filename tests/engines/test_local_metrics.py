"""What tasks report into their files is read once, in order, and read again after a restart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.engines.local.handed import path_of
from clearway.engines.local.metrics import Metrics
from clearway.model.events import TaskRef
from clearway.model.ids import JobId

if TYPE_CHECKING:
    from pathlib import Path

TASK = TaskRef(JobId(3), 1, 0, 0)


def test_whole_lines_are_read_once(tmp_path: Path) -> None:
    path = path_of(tmp_path, TASK, "metrics")
    metrics = Metrics(tmp_path)
    metrics.watch([TASK])
    assert metrics.wait_s() is None, "a task without a file is not looked after"
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
