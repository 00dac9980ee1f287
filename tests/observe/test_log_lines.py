from __future__ import annotations

import json
import logging
import sys
from typing import TYPE_CHECKING, Any

from clearway.model import events as ev
from clearway.model.ids import JobId, NodeId
from clearway.model.reasons import Code, because
from clearway.model.states import State
from clearway.observe.log_lines import FIELDS, JsonLines
from clearway.observe.moves import Moves
from clearway.ports.observer import Heard
from clearway.testing.builders import job

if TYPE_CHECKING:
    import pytest


def line(message: str, *args: object, **fields: object) -> dict[str, Any]:
    record = logging.LogRecord("clearway.x", logging.WARNING, "f.py", 1, message, args, None)
    setattr(record, FIELDS, fields)
    text = JsonLines().format(record)
    assert "\n" not in text
    found: dict[str, Any] = json.loads(text)
    return found


def test_a_line_is_one_object_whatever_is_in_it() -> None:
    told = line('a "name"\nwith %s', "\x1b[31m\u2028", job=5, cycle=7)
    assert told["message"] == 'a "name"\nwith \x1b[31m\u2028'
    assert (told["level"], told["logger"], told["job"], told["cycle"]) == ("warning", "clearway.x", 5, 7)
    assert told["time"].endswith("+00:00")


def test_an_error_is_told_whole() -> None:
    try:
        int("on purpose")
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, "f.py", 1, "it failed", (), sys.exc_info())
    told = json.loads(JsonLines().format(record))
    assert told["message"] == "it failed"
    assert "ValueError: invalid literal for int() with base 10: 'on purpose'" in told["error"]


def test_each_move_of_a_job_is_a_line_with_its_cycle_and_never_its_environment(
    caplog: pytest.LogCaptureFixture,
) -> None:
    spec = job("a", env=(("PASSWORD", "planted-secret"),), run=("x", "--token", "planted-secret"))
    grant = ev.Grant(0, 0, NodeId(1), (0,), 1000)
    records: list[ev.Record] = [
        ev.Submitted(1, JobId(1), spec),
        ev.Planned(1, 4, 9, "p", 0, 1),
        ev.Started(1, JobId(1), 1, (grant,), because(Code.PLACED)),
        ev.Ended(2, JobId(1), State.SUCCEEDED),
    ]
    with caplog.at_level(logging.INFO):
        Moves(lambda _: "n1").hear(Heard(records, 104, 1, 1))
    told = [(record.getMessage(), getattr(record, FIELDS)) for record in caplog.records]
    assert [move for move, _ in told] == ["submitted", "started", "ended"]
    assert [fields.get("cycle") for _, fields in told] == [None, 4, None]
    assert [fields["record"] for _, fields in told] == [101, 103, 104]
    assert told[1][1]["nodes"] == ["n1"]
    assert "planted-secret" not in repr(told)
