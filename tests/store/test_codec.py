"""Records written by any earlier version are read as what they were."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import msgspec

from clearway.model.events import Grant, Record
from clearway.model.fleet import LimitSpec, NodeSpec, PolicySpec, QueueSpec
from clearway.model.job import Checkpoint, Demand, JobSpec, Role
from clearway.store.codec import decode, encode
from clearway.testing.records import every_record

GOLDEN = Path(__file__).with_name("golden-journal.jsonl")
"""Written by version 0.1. Lines may be added for new kinds; a line that is there never changes."""
DEFAULTS = Path(__file__).with_name("golden-defaults.json")
"""What each noun of version 0.1 means where it says nothing. Fields may be added; none that is there changes."""
NEEDED: dict[str, tuple[str, ...]] = {
    "JobSpec": ("name",), "NodeSpec": ("name",), "QueueSpec": ("name",), "LimitSpec": ("name", "slots"),
    "PolicySpec": (), "Grant": ("role", "index", "node"), "Role": (), "Demand": (), "Checkpoint": (),
}  # fmt: skip


def test_golden_records_are_read() -> None:
    lines = GOLDEN.read_bytes().splitlines()
    assert [decode(line, "golden") for line in lines] == every_record()[: len(lines)]


def test_every_kind_is_among_the_samples_and_the_golden_lines() -> None:
    kinds = {k.__name__ for k in get_args(Record)}
    assert {type(r).__name__ for r in every_record()} == kinds
    assert {type(decode(line, "golden")).__name__ for line in GOLDEN.read_bytes().splitlines()} == kinds


def test_samples_use_every_field() -> None:
    for record in every_record():
        assert decode(encode(record), "here") == record


def test_what_old_records_left_unsaid_keeps_its_meaning() -> None:
    """Records leave out defaults: a default that changed would change every old journal."""
    kinds = (JobSpec, NodeSpec, QueueSpec, LimitSpec, PolicySpec, Grant, Role, Demand, Checkpoint)
    nouns = {kind.__name__: kind for kind in kinds}
    golden = msgspec.json.decode(DEFAULTS.read_bytes())
    assert set(golden) == set(nouns)
    for noun, fields in golden.items():
        made = msgspec.convert({k: fields[k] for k in NEEDED[noun]}, nouns[noun])
        now = msgspec.json.decode(msgspec.json.encode(msgspec.structs.asdict(made)))
        assert {k: now.get(k) for k in fields} == fields, noun
