from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from clearway.api.problems import problem_of
from clearway.model import errors
from clearway.model.errors import ClearwayError, ConflictError, ControllerError, InputError, UnknownWordError
from clearway.sdk.encode import encode_jobs
from clearway.sdk.problems import error_of

ERRORS: list[ClearwayError] = [
    InputError("gpus", -1, "a whole number >= 0", "job x"),
    InputError("name", "a\udcff", "a text"),
    InputError("name", "x" * 5000, "shorter"),
    UnknownWordError.of("gpu", ["gpus"], "job x"),
    errors.NotFoundError("there is no job 7"),
    ConflictError("a key is used"),
    errors.StoreError("the disk is full"),
    errors.EngineError("the runner does not answer"),
    ControllerError("it is stopping"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda e: type(e).__name__)
def test_an_error_comes_through_http_as_it_was(error: ClearwayError) -> None:
    answer = problem_of(error)
    told = error_of(answer.status_code, bytes(answer.body))
    assert type(told) is type(error)
    assert str(told) == str(error)
    if isinstance(error, InputError):
        assert isinstance(told, InputError)
        assert (told.field, told.value, told.rule, told.place) == (error.field, error.value, error.rule, error.place)


def test_an_error_that_was_told_can_be_placed_again() -> None:
    answer = problem_of(ERRORS[0])
    told = error_of(answer.status_code, bytes(answer.body))
    assert isinstance(told, InputError)
    assert str(told.at("elsewhere")) == "gpus: -1 is refused: a whole number >= 0 (elsewhere)"


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"a": 1}', b"\xff"])
def test_an_answer_that_is_none_of_ours_is_told_as_it_is(body: bytes) -> None:
    with pytest.raises(ControllerError, match="answered 502"):
        raise error_of(502, body)


def test_python_values_become_plain_ones() -> None:
    words = {"deadline": datetime(2026, 12, 1, tzinfo=UTC), "workdir": Path("/x"), "gpu_model": ("A100", "H100")}
    (sent,) = json.loads(encode_jobs([words]))["jobs"]
    assert sent == {"deadline": "2026-12-01T00:00:00+00:00", "workdir": "/x", "gpu_model": ["A100", "H100"]}


def test_what_contains_itself_is_refused_by_name() -> None:
    circle: list[object] = []
    circle.append(circle)
    with pytest.raises(InputError) as told:
        encode_jobs([{"name": "x", "run": circle}])
    assert told.value.field == "run"
