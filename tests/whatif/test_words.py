"""What an outlook says to people."""

from __future__ import annotations

import pytest

from clearway.model.ids import JobId
from clearway.model.outlook import Change, Holder, Lack, Outlook
from clearway.model.values import SECOND_US
from clearway.observe.outlook_rows import outlook_row
from clearway.observe.outlook_words import (
    change_sentence,
    expected_sentence,
    fits_sentence,
    lack_sentence,
    lifts_sentence,
)
from clearway.observe.timeline import Face

ANN = Holder(JobId(1), "a", "q", 4000, 60 * SECOND_US)
BOB = Holder(JobId(2), "b", "q", 1000)

LACKS = [
    (
        Lack("node", "n1", "gpus", 8000, 4000, 4000, (ANN, BOB), 2),
        ("lacks 4 GPUs on node n1: 8 GPUs needed, 4 GPUs free there; "
        "held by a (4 GPUs, until 60 s), b (1 GPU, end unknown)"
        " and 2 more"),
    ),
    (
        Lack("nvlink", "n1", "tasks", 4, 2, 2),
        ("2 of 4 tasks that must start together find no "
        "place inside one NVLink island"),
    ),
    (Lack("fleet", "", "nodes", 1, 0, 1), "no node is of the kind that it asks for"),
    (Lack("rack", "r1", "roles", 4), "its 4 tasks find room alone, but not together inside one rack"),
    (
        Lack("queue", "q", "gpus", 2000, 1000, 1000),
        ("lacks 1 GPU below the limit of its queue q: "
        "2 GPUs needed, 1 GPU left"),
    ),
    (
        Lack("parent", "p", "cpus", 2000, 0, 2000),
        ("lacks 2 CPUs below the limit of queue p above "
        "it: 2 CPUs needed, 0 CPUs left"),
    ),
    (
        Lack("user", "q", "gpus", 1000, 0, 1000),
        ("lacks 1 GPU below the limit per user of queue "
        "q: 1 GPU needed, 0 GPUs left"),
    ),
    (
        Lack("limit", "db", "slots", 1, 0, 1, (Holder(JobId(1), "a", "q", 1),)),
        ("no slot of the shared limit db is free; "
        "held by a (end unknown)"),
    ),
    (
        Lack("order", "b", until_us=9 * SECOND_US),
        ("there is room, but it goes after b, which "
        "is promised to start at 9 s"),
    ),
    (Lack("order"), "a place is being cleared for it"),
    (
        Lack("booking", "repairs", until_us=9 * SECOND_US),
        ("there is room only where booking repairs "
        "keeps it for others until 9 s"),
    ),
    (Lack("time", until_us=9 * SECOND_US), "may start again at 9 s"),
    (Lack("dependency", "a"), "waits for a to succeed"),
    (Lack("person", "ann"), "is held back by ann"),
]  # fmt: skip

CHANGES = [
    (Change("gpus", 8000, 4000, nodes=("n1",)), "would start now on n1 with 4 GPUs instead of 8 GPUs"),
    (Change("gpu_model", ("A100",), ("A100", "H100")), "would start now with A100 or H100 instead of A100"),
    (Change("queue", "a", "b"), "would start now in queue b instead of a"),
    (
        Change("topology", "nvlink", "rack"),
        ("would start now required inside one rack "
        "instead of inside one NVLink island"),
    ),
    (
        Change("topology", "nvlink", None),
        ("would start now with no required topology "
        "instead of inside one NVLink island"),
    ),
    (Change("time_limit", None, 60 * SECOND_US), "would start now with time_limit 1 min instead of none"),
    (Change("tasks", 4, 2, "worker"), "would start now with tasks 2 instead of 4 in role worker"),
    (Change("tolerates", (), ("kept",)), "would start now tolerating kept"),
    (Change("nodes", ("zone=z1",), ()), "would start now with nodes of any label instead of zone=z1"),
]  # fmt: skip


@pytest.mark.parametrize(("lack", "text"), LACKS)
def test_a_lack_in_words(lack: Lack, text: str) -> None:
    assert lack_sentence(lack) == text


@pytest.mark.parametrize(("change", "text"), CHANGES)
def test_a_change_in_words(change: Change, text: str) -> None:
    assert change_sentence(change) == text


def test_when_and_where() -> None:
    waits = Outlook("waits", start_us=60 * SECOND_US, nodes=("n1",), fits=("n1",), of_nodes=3)
    assert expected_sentence(waits) == "starts by 60 s on n1, if nothing else comes and no estimate is exceeded"
    assert fits_sentence(waits) == "fits only 1 of 3 nodes: n1"
    late = Outlook("waits", looked_us=60_000_000)
    assert expected_sentence(late) == "by the estimates of what runs not before 60 s; further ahead was not looked"
    assert "no estimate" in expected_sentence(Outlook("waits"))
    assert "no node" in expected_sentence(Outlook("never"))
    assert "limit" in expected_sentence(Outlook("limited"))
    assert expected_sentence(Outlook("starts", nodes=("n1",))) == "starts at once on n1"
    assert (
        lifts_sentence(Lack("node", lifts=("ended", "node_ready")))
        == "a job that ends or a node that joins or comes back"
    )


def test_the_document_has_everything() -> None:
    row = outlook_row(Outlook("waits", (LACKS[0][0],), (CHANGES[0][0],), 60 * SECOND_US, ("n1",)), Face())
    assert row["expected"] == {"start": 60.0, "nodes": ["n1"]}
    assert row["lacks"][0]["holders"][0] == {"job": 1, "name": "a", "queue": "q", "amount": 4000, "until": 60.0}
    assert (row["changes"][0]["word"], row["changes"][0]["after"]) == ("gpus", 4000)
