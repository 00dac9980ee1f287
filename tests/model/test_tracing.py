from __future__ import annotations

import pytest

from clearway.model.events import TaskRef
from clearway.model.ids import JobId
from clearway.model.tracing import Trace, read_traceparent, task_header, trace_of

GIVEN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TRACE, SPAN = GIVEN.split("-")[1:3]


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (GIVEN, GIVEN),
        (f"  {GIVEN.upper()} ", GIVEN),
        (GIVEN[:-2] + "00", GIVEN[:-2] + "00"),
        (GIVEN[:-2] + "ff", GIVEN),  # other flags are not ours to pass on
        (f"cc-{TRACE}-{SPAN}-01-what-comes-later", GIVEN),  # a later version may say more
        (f"00-{TRACE}-{SPAN}-01-more", ""),
        (f"ff-{TRACE}-{SPAN}-01", ""),
        (f"00-{'0' * 32}-{SPAN}-01", ""),
        (f"00-{TRACE}-{'0' * 16}-01", ""),
        (f"00-{TRACE}-{SPAN}", ""),
        (f"00-{TRACE}-{SPAN}-0g", ""),
        ("", ""),
        ("x" * 10_000, ""),
        (GIVEN + "\nX-Evil: 1", ""),
    ],
)
def test_what_is_no_traceparent_is_as_if_nobody_had_said_it(said: str, kept: str) -> None:
    assert read_traceparent(said) == kept


def test_a_job_belongs_to_the_trace_of_who_submitted_it() -> None:
    assert trace_of("seed", JobId(7), GIVEN) == Trace(TRACE, SPAN)
    assert not trace_of("seed", JobId(7), GIVEN[:-2] + "00").sampled


def test_else_to_one_of_its_own_which_no_other_journal_has() -> None:
    mine = trace_of("seed", JobId(7), "")
    assert mine == trace_of("seed", JobId(7), "")
    others = {trace_of(seed, JobId(job), "").number for seed in ("seed", "other") for job in range(50)}
    assert len(others) == 100
    assert mine.number in others
    assert (mine.parent, mine.sampled, len(mine.number)) == ("", True, 32)


@pytest.mark.parametrize("given", ["", GIVEN, GIVEN[:-2] + "00"])
def test_what_a_process_finds_is_a_traceparent_again(given: str) -> None:
    tasks = [TaskRef(JobId(1), attempt, 0, index) for attempt in (1, 2) for index in range(3)]
    headers = {task_header("seed", task, given) for task in tasks}
    assert len(headers) == 6
    assert {read_traceparent(header) for header in headers} == headers
    assert len({header.split("-")[1] for header in headers}) == 1
