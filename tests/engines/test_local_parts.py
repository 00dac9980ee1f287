from __future__ import annotations

import os
import resource
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearway.engines.local.memory import REMEMBERED, Memory
from clearway.engines.local.orders import contract, master_port
from clearway.engines.local.paths import log_path
from clearway.engines.local.records import Records
from clearway.engines.local.wire import LONGEST_MESSAGE, BrokenMessageError, Reader, packed
from clearway.engines.parts.orders import key_of, task_of
from clearway.model.actions import Launch
from clearway.model.events import Grant, TaskRef
from clearway.model.ids import JobId, NodeId
from clearway.model.job import JobSpec

if TYPE_CHECKING:
    from pathlib import Path

MESSAGES = st.lists(st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.text())), max_size=5)


@given(MESSAGES, st.lists(st.integers(1, 40), min_size=1))
def test_messages_arrive_whole_in_whatever_pieces(messages: list[dict[str, Any]], cuts: list[int]) -> None:
    data = b"".join(map(packed, messages))
    reader, found, at = Reader(), [], 0
    while at < len(data):
        size = cuts[at % len(cuts)]
        found += reader.feed(data[at : at + size])
        at += size
    assert found == messages


def test_bytes_that_are_no_text_survive_the_wire() -> None:
    odd = b"caf\xe9".decode("utf-8", "surrogateescape")
    assert Reader().feed(packed({"x": odd})) == [{"x": odd}]


@pytest.mark.parametrize("data", [b"{]\n", b"[]\n", b"1\n", b"\xff\n", b"x" * (LONGEST_MESSAGE + 1)])
def test_what_is_no_message_is_refused(data: bytes) -> None:
    with pytest.raises(BrokenMessageError):
        Reader().feed(data)


@given(st.tuples(*[st.integers(0, 10**9)] * 4))
def test_a_tasks_key_can_be_read_back(numbers: tuple[int, int, int, int]) -> None:
    job, *rest = numbers
    task = TaskRef(JobId(job), *rest)
    assert task_of(key_of(task)) == task


def test_logs_of_long_and_equal_names_lie_apart(tmp_path: Path) -> None:
    paths = {log_path(tmp_path, TaskRef(JobId(j), a, r, i), s) for j in (1, 2) for a in (1, 2) for r in (0, 1)
             for i in (0, 1) for s in ("stdout", "stderr")}  # fmt: skip
    assert len(paths) == 32
    assert log_path(tmp_path, TaskRef(JobId(7), 2, 0, 3), "stderr") == tmp_path / "logs/7/2-0-3.stderr"


def test_ports_follow_from_job_and_attempt() -> None:
    ports = [master_port(TaskRef(JobId(job), attempt, 0, 0)) for job in range(1, 400) for attempt in range(1, 7)]
    assert len(set(ports)) == len(ports)
    assert all(20_000 <= port < 30_000 for port in ports)
    assert master_port(TaskRef(JobId(3), 1, 0, 0)) == master_port(TaskRef(JobId(3), 1, 1, 5))


def test_devices_go_by_their_names_where_they_have_some() -> None:
    order = Launch(TaskRef(JobId(1), 1, 0, 0), JobSpec("j"), Grant(0, 0, NodeId(0), (0, 2)), "n1", 0, 1)
    assert contract(order)["CUDA_VISIBLE_DEVICES"] == "0,2"
    assert contract(order, ("4", "5", "GPU-x"))["CUDA_VISIBLE_DEVICES"] == "4,GPU-x"


def _records(path: Path) -> Records:
    records = Records(str(path))
    records.read()
    return records


def test_records_come_back(tmp_path: Path) -> None:
    records = _records(tmp_path / "r")
    records.add("gone", "1.1.0.0", 3, "é\n")
    records.sync()
    records.add("gone", "2.1.0.0", 3, "")  # never synced
    records.close()
    assert Records(str(tmp_path / "r")).read() == [["gone", "1.1.0.0", 3, "é\n"]]


def test_a_line_that_cannot_be_read_is_counted_and_the_others_hold(tmp_path: Path) -> None:
    (tmp_path / "r").write_bytes(b'["a",1]\n\0\0\0\n["b",2]\n["torn')
    records = Records(str(tmp_path / "r"))
    assert records.read() == [["a", 1], ["b", 2]]
    assert records.broken_lines == 1


def test_a_write_that_fails_in_the_middle_leaves_nothing_half_written(tmp_path: Path) -> None:
    records = _records(tmp_path / "r")
    records.add("a", 1)
    records.sync()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    records.add("b", "x" * 100)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (40, hard))
        with pytest.raises(OSError, match="large"):
            records.sync()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (tmp_path / "r").read_bytes() == b'["a",1]\n'
    records.add("c", 3)
    records.sync()
    assert Records(str(tmp_path / "r")).read() == [["a", 1], ["b", "x" * 100], ["c", 3]]


def test_old_acknowledged_ends_are_forgotten_and_the_file_gets_short(tmp_path: Path) -> None:
    records = Records(str(tmp_path / "r"))
    memory = Memory(records)
    many = REMEMBERED + 500
    for job in range(many):
        records.add("gone", f"{job}.1.0.0", 0, "")
    records.sync()
    memory = Memory(Records(str(tmp_path / "r")))
    memory.acknowledge([f"{job}.1.0.0" for job in range(many)])
    assert len(memory.tasks) == REMEMBERED
    memory.shorten()
    again = Memory(Records(str(tmp_path / "r")))
    assert list(again.tasks) == [f"{job}.1.0.0" for job in range(500, many)]
    assert all(task.acked for task in again.tasks.values())


def test_the_runner_loads_the_standard_library_alone() -> None:
    code = (
        "import clearway.engines.local.runner, sys;"
        "print(*sorted({name.split('.')[0] for name in sys.modules} - sys.stdlib_module_names))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    loaded = {name for name in done.stdout.split() if not name.startswith("__editable__")}
    assert loaded <= {"clearway", "__main__", "_distutils_hack", "_virtualenv", "sitecustomize", "usercustomize"}
