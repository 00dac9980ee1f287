"""Damaged files: what can be read is read, what cannot is counted and named, and nothing is fatal but a wrong file."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from clearway.model.errors import InputError
from clearway.sim.workloads import Trace, detect, open_workload

MURI = "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,iteration_time,a,b,c,priority\n"
ROW = "{n},{gpus},{at},1,bert,4,{duration},0,1,1,1,1,0\n"


def muri(tmp_path: Path, *rows: str) -> Trace:
    file = tmp_path / "trace.csv"
    file.write_text(MURI + "".join(rows))
    return open_workload(file)


def row(n: int, at: object = 0, gpus: object = 1, duration: object = 1000) -> str:
    return ROW.format(n=n, at=at, gpus=gpus, duration=duration)


def test_damaged_lines_are_counted_and_the_first_few_named(tmp_path: Path) -> None:
    bad = [
        row(1, duration=0),
        row(2, gpus="x"),
        row(3, at="nan"),
        "4,1\n",
        row(5, duration="-3"),
        row(6, gpus=0),
        row(7, gpus=-1),
    ]
    trace = muri(tmp_path, row(0), *bad, row(8, at=5))
    assert [a.spec.name for a in trace.arrivals()] == ["bert-0", "bert-8"]
    assert trace.damage.count == 7
    assert trace.damage.sentences()[0] == "7 damaged lines left out"
    assert trace.damage.sentences()[-1] == "and 2 more"
    named = dict(trace.damage.first)
    assert set(named) <= {3, 4, 5, 6, 7, 8, 9}
    assert named[6] == "2 fields instead of 13"


def test_reading_again_counts_damage_once(tmp_path: Path) -> None:
    trace = muri(tmp_path, row(0), row(1, duration=0))
    for _ in range(3):
        assert len(list(trace.arrivals())) == 1
        assert trace.damage.count == 1


@pytest.mark.parametrize("at", ["inf", "-inf", "nan", "", "1e400", "ten", "1;2"])
def test_a_moment_that_is_none_is_damage(at: str, tmp_path: Path) -> None:
    trace = muri(tmp_path, row(0), row(1, at=at))
    assert len(list(trace.arrivals())) == 1
    assert trace.damage.count == 1


def test_bytes_that_are_no_text_are_damage_and_not_fatal(tmp_path: Path) -> None:
    file = tmp_path / "trace.csv"
    file.write_bytes(MURI.encode() + row(0).encode() + b"\xff\xfe\x00\x01,,\n" + row(1, at=9).encode())
    trace = open_workload(file)
    assert len(list(trace.arrivals())) == 2
    assert trace.damage.count == 1


def test_an_empty_or_strange_file_is_refused_with_its_first_line(tmp_path: Path) -> None:
    empty, strange = tmp_path / "empty.csv", tmp_path / "strange.csv"
    empty.write_text("")
    strange.write_text("a,b,c\n1,2,3\n")
    with pytest.raises(InputError, match="an empty file"):
        detect(empty)
    with pytest.raises(InputError, match="a,b,c"):
        detect(strange)


def test_a_file_that_is_cut_in_the_middle_of_its_packing_is_an_error_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a long path would be shown shortened
    file = Path("trace.csv.gz")
    packed = gzip.compress((MURI + "".join(row(i, at=i) for i in range(20000))).encode(), mtime=0)
    file.write_bytes(packed[: len(packed) // 2])
    trace = open_workload(file)
    with pytest.raises(InputError, match=r"trace\.csv\.gz"):
        list(trace.arrivals())


def test_a_missing_file_is_an_error_that_names_it() -> None:
    with pytest.raises(InputError, match=r"nowhere\.swf.*No such file"):
        detect(Path("nowhere.swf"))


def test_an_swf_line_with_too_few_fields_is_damage(tmp_path: Path) -> None:
    file = tmp_path / "log.swf"
    file.write_text("; MaxProcs: 8\n1 0 -1 10 2 -1 -1 -1 -1 -1 1 -1 -1 -1 0 -1 -1 -1\n2 5 -1 10\n")
    trace = open_workload(file)
    assert len(list(trace.arrivals())) == 1
    assert trace.damage.first == [(3, "4 fields instead of 18")]
