from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from clearway.observe.redaction import HIDDEN, Redaction

SECRET = "planted-5ecret-value"
KEY = "sk-" + "abcdefghijklmnopqrstuvwxyz0123"


def told(value: Any) -> str:
    return json.dumps(Redaction().document(value))


@pytest.mark.parametrize(
    "value",
    [
        {"env": [["A", SECRET], ["B", "1"]]},
        {"env": {"A": SECRET}},
        {"roles": [{"env": {"A": SECRET}}]},
        {"run": ["train.py", f"--token={SECRET}"]},
        {"run": [f"curl -H {SECRET}"], "shell": True},
        {"input": json.dumps({"a": [SECRET, 1]})},
        {"result": json.dumps(SECRET)},
        {"value": SECRET},  # no JSON
        {"words": json.dumps({"steps": [{"env": {"A": SECRET}}]})},
        {"defaults": base64.b64encode(json.dumps({"env": {"A": SECRET}}).encode()).decode()},
        {"queues": [{"defaults": {"env": {"A": SECRET}}}]},
        {"token": SECRET},
        {"api_key": SECRET},
        {"smtp": {"password": SECRET}},
        {"notices": [{"url": f"https://hooks.example/services/{SECRET}"}]},
        {"store": f"postgresql://me:{SECRET}@db.example/clearway"},
        {"error": f"it failed: Authorization: Bearer {SECRET}"},
        {"reason": {"code": "start-failed", "facts": [["error", f"PASSWORD={SECRET} is no command"]]}},
    ],
    ids="-".join,
)
def test_a_secret_is_left_out_wherever_it_stands(value: dict[str, Any]) -> None:
    assert SECRET not in told(value)
    assert HIDDEN in told(value) or "defaults" in value


def test_what_decides_stays() -> None:
    spec = {
        "name": "train", "queue": "research", "user": "ann", "env": [["EPOCHS", "5"]], "roles": [{"tasks": 4}],
        "idempotency_key": "k1", "token_file": "/etc/token", "labels": [["team", "vision"]], "input": "[1,2,3]",
    }  # fmt: skip
    kept = Redaction().document(spec)
    assert kept == {**spec, "env": [["EPOCHS", HIDDEN]]}


def test_the_shape_of_what_a_step_is_handed_stays() -> None:
    kept = json.loads(Redaction().document({"input": '[{"a": "x"}, {"a": 2}, null, true]'})["input"])
    assert kept == [{"a": HIDDEN}, {"a": 2}, None, True]


def test_what_was_left_out_is_found_in_texts() -> None:
    redaction = Redaction(["a-known-token"])
    redaction.document({"env": [["A", SECRET], ["B", "on"]], "run": ["x", "--api-key", "key-12345"]})
    said = redaction.text(f"{SECRET} on a-known-token, key-12345")
    assert said == f"{HIDDEN} on {HIDDEN}, {HIDDEN}"


@pytest.mark.parametrize(
    "line",
    [
        f"Authorization: Bearer {SECRET}",
        f"postgresql://me:{SECRET}@db/x",
        f"--password {SECRET} --x",
        f'"client_secret": "{SECRET}"',
        f"AWS_SECRET_ACCESS_KEY={SECRET}",
        f"key {KEY}",
        "jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdef",
    ],
)
def test_what_looks_like_a_secret_is_left_out_of_a_text(line: str) -> None:
    said = Redaction().text(line)
    assert HIDDEN in said
    assert SECRET not in said
    assert KEY not in said
    assert "eyJ" not in said


def test_an_ordinary_line_stays_as_it_is() -> None:
    line = "2026-11-30 02:00:00,000 WARNING clearway.control: job 5 (train) on n1: exit code 3 at http://127.0.0.1:80/x"
    assert Redaction().text(line) == line
